"""The packages that framesift requires, or an optional extra of it brings: importing them, and which are missing."""

import os
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
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


@cache  # reading it takes half a millisecond, and the page draws a view for every change
def installed_version(package: str) -> str:
    """The version of an installed package, or ""."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def unmet_requirements(extra: str = "") -> list[str]:
    """What an extra, or without one the package itself, requires and is missing or of another version."""
    from packaging.requirements import Requirement

    found = []
    for requirement in map(Requirement, requires("framesift") or ()):
        in_extra, always = (
            requirement.marker is None or requirement.marker.evaluate({"extra": name}) for name in (extra, "")
        )
        if in_extra and always != bool(extra):
            installed = installed_version(requirement.name)
            if not installed:
                found.append(requirement.name)
            elif not requirement.specifier.contains(installed, prereleases=True):
                found.append(f"{requirement.name}{requirement.specifier} ({installed} is installed)")
    return found


def explain_mismatch(error: BaseException) -> str:
    """One sentence if a required package is missing or of another version, which an error is then due to; or ""."""
    unmet = unmet_requirements()
    return f"{error}; framesift needs {', '.join(unmet)}: pip install -U framesift" if unmet else ""
