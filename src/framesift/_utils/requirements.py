"""The packages that framesift requires: which of them are missing or of another version."""

from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version


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
