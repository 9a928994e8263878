"""The packages that framesift requires: which are missing or of another version, and which one an error comes from."""

from importlib.metadata import PackageNotFoundError, packages_distributions, requires, version
from traceback import walk_tb
from types import ModuleType

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version


def installed_version(package: str) -> str:
    """The version of an installed package, or ""."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def unmet_requirements(extra: str = "") -> list[str]:
    """What an extra, or without one the package itself, requires and is missing or of another version."""
    found = []
    for requirement in _requirements():
        if _applies(requirement, extra) and _applies(requirement, "") != bool(extra):
            installed = installed_version(requirement.name)
            if not installed:
                found.append(requirement.name)
            elif not _fits(requirement, installed):
                found.append(f"{requirement.name}{requirement.specifier} ({installed} is installed)")
    return found


def explain_mismatch(error: BaseException) -> str:
    """One sentence if an error is due to a required package that is missing or of an unsuitable version, or "".

    A version with a higher major number than the requirement names may lack what framesift uses of it.
    """
    module = _failing_module(error).partition(".")[0]
    names = {canonicalize_name(name) for name in (module, *packages_distributions().get(module, ()))}
    requirement = next((each for each in _requirements() if canonicalize_name(each.name) in names), None)
    if requirement is None:
        return ""
    name, expected = requirement.name, str(requirement.specifier)
    installed = installed_version(name)
    got = f"{name} {installed} is installed" if installed else f"{name} is not installed"
    if installed and _fits(requirement, installed):
        major = Version(installed).major
        if any(Version(each.version).major >= major for each in requirement.specifier):
            return ""
        expected += f",<{major}"
        got += f", which is too new ({error})"
    return f"{got}; expected {name}{expected}: pip install '{name}{expected}'"


def _requirements() -> list[Requirement]:
    return [Requirement(line) for line in requires("framesift") or []]


def _applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _fits(requirement: Requirement, installed: str) -> bool:
    return requirement.specifier.contains(installed, prereleases=True)


def _failing_module(error: BaseException) -> str:
    """The module that is missing, that lacks a name or that refuses an argument; or ""."""
    if isinstance(error, ImportError):
        return error.name or ""
    if isinstance(error, AttributeError):
        owner = error.obj if isinstance(error.obj, ModuleType | type) else type(error.obj)
        return owner.__name__ if isinstance(owner, ModuleType) else owner.__module__
    if isinstance(error, TypeError) and "argument" in str(error):
        frame = [frame for frame, _ in walk_tb(error.__traceback__)][-1]
        return frame.f_globals.get("__name__") or frame.f_code.co_filename.replace("/", ".")  # without one in Cython
    return ""
