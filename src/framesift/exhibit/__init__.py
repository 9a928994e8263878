"""What a person or a reader sees: real frames with their words on them, a contact sheet, a report, files to hand on."""

import sys
from types import ModuleType
from typing import Any


class _CallableModule(ModuleType):
    """`framesift.exhibit` is this folder and, by its fixed public name, also the call that makes an exhibit."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from framesift.exhibit.build import exhibit

        return exhibit(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
