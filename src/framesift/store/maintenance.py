"""Maintenance: listing and pruning the store, and a report on the installation."""

import os
import platform
import sys
import time
from collections.abc import Sequence
from importlib.metadata import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import av
import numpy as np

from framesift._utils.requirements import explain_mismatch, installed_version, unmet_requirements
from framesift._utils.text import counted
from framesift._utils.version import __version__
from framesift.store.fingerprint import fingerprint
from framesift.store.store import Store, StoreEntry
from framesift.video.cuda import why_not_cuda
from framesift.video.frames import sample

DAY_S = 86400.0
CLIP_FRAMES = 8  # of the clip that shows whether decoding works


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


def describe_size(store: Store, entries: Sequence[StoreEntry]) -> str:
    """How much a store holds, in words."""
    size = f"{sum(entry.bytes for entry in entries) / 1e6:.1f} MB"
    counts = f"{counted(_index_count(entries), 'index', 'indexes')}, {counted(len(entries), 'entry', 'entries')} in all"
    return f"{counts}, {size} in {store.root}"


def _index_count(entries: Sequence[StoreEntry]) -> int:
    return sum(entry.manifest.get("kind") == "index" for entry in entries)


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

    extras = {name: unmet_requirements(name) for name in _extras()}
    encoder, why = choose_encoder()
    available = encoders().values()
    opened = Store(store)
    entries = list(opened.entries())
    unmet, problem = unmet_requirements(), _decoding_problem()
    lines = [f"framesift {__version__}, Python {platform.python_version()} on {platform.system()} {platform.machine()}"]
    no_cuda = why_not_cuda()
    on_gpu = f"on the CPU; not on a GPU: {no_cuda}" if no_cuda else "on the CPU and the GPU (NVDEC)"
    lines += [f"required: {', '.join(unmet)}: pip install -U framesift"] if unmet else []
    lines += [f"decoder: {problem}" if problem else f"decoder: PyAV {installed_version('av')} works, {on_gpu}"]
    lines += [f"device: {_device()}", "", "extras:"]
    for name, missing in extras.items():
        state = "installed" if not missing else f"missing {', '.join(missing)}: pip install 'framesift[{name}]'"
        lines.append(f"  {name:<11} {state}")
    lines += ["", "encoders:"]
    lines += [f"  {e.name:<11} {'ready' if e.available else e.why_not}" for e in available]
    lines += [f"  auto means {why}", "", f"agents: {_agents()}"]
    lines.append(f"library: {describe_size(opened, entries)}")
    return {
        "version": __version__,
        "python": sys.version.split()[0],
        "extras": {name: {"missing": missing} for name, missing in extras.items()},
        "encoders": [{"name": e.name, "available": e.available, "why_not": e.why_not} for e in available],
        "auto": {"encoder": encoder, "why": why},
        "decode": {"problem": problem, "cuda": not no_cuda, "why_not": no_cuda},
        "store": str(opened.root),
        "indexes": _index_count(entries),
        "lines": lines,
    }


def _decoding_problem() -> str:
    """What fails when a generated clip is decoded, in one sentence; "" if nothing does."""
    decoder = f"PyAV {installed_version('av')}"
    try:
        with TemporaryDirectory(prefix="framesift-") as folder:
            frames = list(sample(_write_clip(Path(folder) / "clip.mp4"), fps=CLIP_FRAMES))
    except Exception as error:  # whatever a build of PyAV or FFmpeg raises
        return explain_mismatch(error) or f"{decoder} fails on a generated clip ({type(error).__name__}: {error})"
    if len(frames) != CLIP_FRAMES:
        return f"{decoder} decodes {len(frames)} frames of a generated clip; expected {CLIP_FRAMES}"
    return ""


def _write_clip(path: Path) -> Path:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=CLIP_FRAMES)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        for k in range(CLIP_FRAMES):
            image = np.full((64, 64, 3), 20 * k, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode(None))
    return path


def _agents() -> str:
    """Whether `framesift mcp` can run."""
    if missing := unmet_requirements("mcp"):
        return f"framesift mcp needs {', '.join(missing)}: pip install 'framesift[mcp]'"
    return f"framesift mcp FOLDER is ready (MCP SDK {installed_version('mcp')})"


def _extras() -> list[str]:
    return [name for name in metadata("framesift").get_all("Provides-Extra") or [] if name not in ("all", "dev")]


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
