"""Installed packages with entry points, as folders on the path."""

import sys
from pathlib import Path

from framesift.encoders import registry as encoders
from framesift.readers import base as readers
from framesift.selection import registry as selectors


def write_package(folder: Path, package: str, entry_points: str, *, version: str = "1.0", **modules: str) -> Path:
    """Write a distribution with its entry_points.txt, and a source file for each module; its folder, for sys.path."""
    metadata = folder / f"{package.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (metadata / "entry_points.txt").write_text(entry_points)
    for name, source in modules.items():
        (folder / f"{name}.py").write_text(source)
    return folder


class Packages:
    """A folder on sys.path into which packages are installed; what is loaded is forgotten with it."""

    def __init__(self, folder: Path, monkeypatch) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        monkeypatch.syspath_prepend(folder)
        monkeypatch.setattr(encoders, "_loaded", {})
        monkeypatch.setattr(readers, "_cache", {})
        self._modules = set(sys.modules)
        selectors._from_other_packages.cache_clear()

    def install(self, package: str, entry_points: str, *, version: str = "1.0", **modules: str) -> None:
        write_package(self.folder, package, entry_points, version=version, **modules)

    def remove(self) -> None:
        selectors._from_other_packages.cache_clear()
        for name in set(sys.modules) - self._modules:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(self.folder)):
                del sys.modules[name]
