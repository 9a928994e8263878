"""GCR: Ground, Cover, Refine."""

from framesift.selection.gcr.method import SELECTOR

__all__ = ["SELECTOR"]
