"""Frame selection on arrays: evidence in, a Selection out. No files, no models."""

from framesift.selection.registry import select_frames, selectors
from framesift.selection.selector import Selector

__all__ = ["Selector", "select_frames", "selectors"]
