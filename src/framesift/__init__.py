"""framesift: the few real frames of a long video that let a vision-language model answer a question.

Names load when first used, so `import framesift` is quick and pulls in nothing heavy. `__init__.pyi` lists them.
"""

import re
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

# Name → the module that defines it.
_HOMES: dict[str, str] = {}
with open(f"{__file__}i", encoding="utf-8") as _stub:
    for _home, _names in re.findall(r"^from (\S+) import (\([^)]*\)|.+)$", _stub.read(), re.M):
        _HOMES |= dict.fromkeys(re.findall(r"\w+ as (\w+)", _names), _home)
__all__ = sorted(_HOMES)


class _Package(ModuleType):
    """Keeps a public name what it is when a subpackage of the same name is imported.

    `fs.readers` lists the readers and `framesift.readers` is also a package; importing the package would otherwise put
    the module in the function's place.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in ("readers", "encoders") and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as other modules are by Ray, Daft and Dask: functions that use this package go to their workers."""
        return import_module, (self.__name__,)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        home = _HOMES[name]
        value = import_module(f"{home}.{name}") if home == __name__ else getattr(import_module(home), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'framesift' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
