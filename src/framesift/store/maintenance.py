"""Maintenance: listing and pruning the store, and a report on the installation."""

import os
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from framesift._utils.text import counted
from framesift._utils.version import __version__
from framesift.store.fingerprint import fingerprint
from framesift.store.store import Store, StoreEntry
from framesift.video.cuda import why_not_cuda
from framesift.video.frames import sample

DAY_S = 86400.0


def describe(entry: StoreEntry) -> dict[str, Any]:
    """An entry as a row of a listing."""
    video = entry.manifest.get("video", {})
    return {
        "kind": entry.manifest.get("kind", ""),
        "video": entry.video_path,
        "duration_s": video.get("duration_s"),
        "encoder": entry.manifest.get("key", {}).get("encoder") or entry.manifest.get("made_by", ""),
        "candidates": entry.manifest.get("candidates"),
        "sampling": entry.manifest.get("sampling", {}),
        "bytes": entry.bytes,
        "used_s": entry.used_s,
        "folder": str(entry.folder),
        "warnings": list(entry.warnings),
        "problem": entry.problem or ("the video no longer exists" if _is_orphan(entry) else ""),
    }


def video_warnings(store: Store, video: str | os.PathLike[str]) -> tuple[str, ...]:
    """The warnings of the video's index that was used last; without one, those about its container."""
    indexes = [entry for entry in store.entries(fingerprint(video)) if entry.manifest.get("kind") == "index"]
    if indexes:
        return max(indexes, key=lambda entry: entry.used_s).warnings
    with sample(video) as sampling:
        return tuple(sampling.warnings)


def prune(store: Store, *, older_than_s: float | None = None, max_bytes: float | None = None) -> list[dict[str, str]]:
    """Remove stale entries, then those unused for `older_than_s`, then the least recently used beyond `max_bytes`.

    Stale are damaged entries, those of a video that no longer exists at its path, and parts unfinished for a day.
    """
    removed = []
    now = time.time()
    left: list[StoreEntry] = []
    for entry in store.entries():
        reason = _stale(entry, now)
        if not reason and older_than_s is not None and now - entry.used_s > older_than_s:
            reason = f"not used for {counted(round((now - entry.used_s) / DAY_S), 'day')}"
        if reason:
            store.remove(entry)
            removed.append({"folder": str(entry.folder), "reason": reason})
        else:
            left.append(entry)
    if max_bytes is not None:
        total = sum(entry.bytes for entry in left)
        for entry in sorted(left, key=lambda entry: entry.used_s):
            if total <= max_bytes:
                break
            store.remove(entry)
            total -= entry.bytes
            removed.append({"folder": str(entry.folder), "reason": "the library exceeds the size limit"})
    return removed


def _stale(entry: StoreEntry, now: float) -> str:
    if entry.problem == "unfinished":
        return "unfinished for a day" if now - entry.used_s > DAY_S else ""
    if entry.problem:
        return entry.problem
    return f"{entry.video_path} no longer exists" if _is_orphan(entry) else ""


def _is_orphan(entry: StoreEntry) -> bool:
    """Whether its video no longer exists; text vectors have none, and URLs are not checked."""
    path = entry.video_path
    return bool(path) and "://" not in path and not Path(path).exists()


def examine(store: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Report what is installed, what is missing and how to install it, and which encoder "auto" selects and why."""
    from framesift.encoders.registry import choose_encoder, encoders

    extras = {name: _extra(name) for name in _extras()}
    encoder, why = choose_encoder()
    available = encoders().values()
    entries = list(Store(store).entries())
    indexes = sum(entry.manifest.get("kind") == "index" for entry in entries)
    root = Store(store).root
    lines = [f"framesift {__version__}, Python {platform.python_version()} on {platform.system()} {platform.machine()}"]
    no_cuda = why_not_cuda()
    on_gpu = f"on the CPU; not on a GPU: {no_cuda}" if no_cuda else "on the CPU and the GPU (NVDEC)"
    lines += [f"decoder: PyAV {version('av')}, {on_gpu}", f"device: {_device()}", "", "extras:"]
    for name, missing in extras.items():
        state = "installed" if not missing else f"missing {', '.join(missing)}: pip install 'framesift[{name}]'"
        lines.append(f"  {name:<11} {state}")
    lines += ["", "encoders:"]
    lines += [f"  {e.name:<11} {'ready' if e.available else e.why_not}" for e in available]
    lines += [f"  auto means {why}", "", f"agents: {_agents()}"]
    size = f"{sum(e.bytes for e in entries) / 1e6:.1f} MB"
    lines.append(f"library: {counted(indexes, 'index', 'indexes')}, {size} in {root}")
    return {
        "version": __version__,
        "python": sys.version.split()[0],
        "extras": {name: {"missing": missing} for name, missing in extras.items()},
        "encoders": [{"name": e.name, "available": e.available, "why_not": e.why_not} for e in available],
        "auto": {"encoder": encoder, "why": why},
        "decode": {"cuda": not no_cuda, "why_not": no_cuda},
        "store": str(root),
        "indexes": indexes,
        "lines": lines,
    }


def _agents() -> str:
    """Whether `framesift mcp` can run, and fetch videos from the pages of video sites."""
    sdk, sites = _version("mcp"), _version("yt-dlp")
    if not sdk:
        return "framesift mcp needs the MCP SDK: pip install 'framesift[mcp]'"
    fetched = f"yt-dlp {sites}, used with --urls sites" if sites else "no yt-dlp, so no videos of video sites"
    return f"framesift mcp FOLDER is ready (MCP SDK {sdk}; {fetched})"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _extras() -> list[str]:
    from importlib.metadata import metadata

    return [name for name in metadata("framesift").get_all("Provides-Extra") or [] if name not in ("all", "dev")]


def _extra(name: str) -> list[str]:
    """The packages of an extra that are not installed."""
    from packaging.requirements import Requirement

    missing = []
    for line in requires("framesift") or []:
        requirement = Requirement(line)
        if requirement.marker is None or not requirement.marker.evaluate({"extra": name}):
            continue
        if requirement.marker.evaluate({"extra": ""}):
            continue
        if not _version(requirement.name):
            missing.append(requirement.name)
    return missing


def _device() -> str:
    """The device a model would run on."""
    try:
        import torch
    except ImportError:
        return "cpu (a GPU needs torch: pip install 'framesift[siglip]')"
    if torch.cuda.is_available():
        return f"cuda ({torch.cuda.get_device_name(0)})"
    if torch.backends.mps.is_available():
        return "mps"
    return "cpu"
