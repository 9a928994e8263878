"""Choosing frames: arrays in, a Selection out. No files, no models."""

from framesift.selection.registry import Selector, select_frames, selectors

__all__ = ["Selector", "select_frames", "selectors"]
