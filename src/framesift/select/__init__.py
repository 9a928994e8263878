"""Choosing frames: arrays in, a Selection out. No files, no models."""

import sys
from types import ModuleType
from typing import Any

from framesift.select.registry import Selector, select_frames, selectors

__all__ = ["Selector", "select_frames", "selectors"]


class _CallableModule(ModuleType):
    """`framesift.select` is this folder and, by its fixed public name, also the call that selects."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from framesift.api import select

        return select(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
