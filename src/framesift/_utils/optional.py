"""Modules that come with an optional extra of this package."""

import os
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from framesift.errors import MissingExtra


def require(module: str, extra: str) -> Any:
    """Import a module, or name the extra that installs it."""
    # When it is imported, onnxruntime would otherwise write an identifier of the machine, which it may upload.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(f"{module} can't be imported ({error}): pip install 'framesift[{extra}]'") from error


def is_installed(*modules: str) -> bool:
    """Whether all the modules can be found; none of them is imported."""
    try:
        return all(find_spec(module) is not None for module in modules)
    except (ImportError, ValueError):  # ValueError: an entry of sys.modules without a spec
        return False
