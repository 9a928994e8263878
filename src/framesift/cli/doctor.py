"""The command doctor: a report on the installation and the store."""

import argparse
import platform
import sys
from importlib.metadata import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from framesift._utils.files import StrPath
from framesift._utils.requirements import explain_mismatch, installed_version, unmet_requirements
from framesift._utils.version import __version__
from framesift.cli.arguments import AddCommand
from framesift.cli.output import print_json
from framesift.cli.settings import add_settings, config_from

CLIP_FRAMES = 8  # of the clip that shows whether decoding works


def add_commands(add: AddCommand) -> None:
    summary = "check that videos can be decoded, and what is installed"
    doctor = add("doctor", _doctor, summary, "framesift doctor")
    add_settings(doctor.group("which store"), "store")
    doctor.finish("print the report as JSON")


def _doctor(args: argparse.Namespace) -> int:
    report = examine(config_from(args).index.store)
    if args.json:
        print_json(report)
    else:
        print("\n".join(report["lines"]))
    return 1 if report["decode"]["problem"] else 0


def examine(store: StrPath | None = None) -> dict[str, Any]:
    """Report what is installed, what is missing and how to install it, and which encoder "auto" selects and why."""
    from framesift.encoders import registry as encoders
    from framesift.readers import base as readers
    from framesift.selection import registry as selectors
    from framesift.store.maintenance import describe_size, index_count
    from framesift.store.store import Store
    from framesift.video.cuda import why_not_cuda

    listed = metadata("framesift").get_all("Provides-Extra") or []
    extras = {name: unmet_requirements(name) for name in listed if name not in ("all", "dev")}
    encoder, why = encoders.choose_encoder()
    opened = Store(store)
    entries = list(opened.entries())
    unmet, problem, no_cuda = unmet_requirements(), _decoding_problem(), why_not_cuda()
    lines = [f"framesift {__version__}, Python {platform.python_version()} on {platform.system()} {platform.machine()}"]
    if unmet:
        lines.append(f"required: {', '.join(unmet)}: pip install -U framesift")
    where = f"on the CPU; not on a GPU: {no_cuda}" if no_cuda else "on the CPU and the GPU (NVDEC)"
    works = f"PyAV {installed_version('av')} works, {where}"
    lines.append(f"decoder: {problem or works}")
    lines += [f"device: {_device()}", "", "extras:"]
    for name, missing in extras.items():
        state = f"missing {', '.join(missing)}: pip install 'framesift[{name}]'" if missing else "installed"
        lines.append(f"  {name:<11} {state}")
    available = encoders.encoders().values()
    lines += ["", "encoders:", *(f"  {e.name:<11} {'ready' if e.available else e.why_not}" for e in available)]
    agents = f"framesift mcp FOLDER is ready (MCP SDK {installed_version('mcp')})"
    if extras.get("mcp"):
        agents = f"framesift mcp needs {', '.join(extras['mcp'])}: pip install 'framesift[mcp]'"
    lines += [f"  auto means {why}", "", f"agents: {agents}", f"store: {describe_size(opened, entries)}"]
    plugins = [plugin for registry in (selectors, encoders, readers) for plugin in registry.plugins()]
    lines += ["", "of other packages:"] if plugins else []
    for plugin in plugins:
        lines.append(f"  {plugin.kind:<8} {plugin.name:<16} {plugin.problem or f'ready, from {plugin.package}'}")
    return {
        "version": __version__,
        "python": sys.version.split()[0],
        "extras": {name: {"missing": missing} for name, missing in extras.items()},
        "encoders": [{"name": e.name, "available": e.available, "why_not": e.why_not} for e in available],
        "auto": {"encoder": encoder, "why": why},
        "decode": {"problem": problem, "cuda": not no_cuda, "why_not": no_cuda},
        "store": str(opened.root),
        "indexes": index_count(entries),
        "lines": lines,
        "plugins": [
            {name: getattr(plugin, name) for name in ("kind", "name", "package", "problem")} for plugin in plugins
        ],
    }


def _decoding_problem() -> str:
    """What fails when a generated clip is decoded, in one sentence; "" if nothing does."""
    from framesift.video.frames import sample

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
    import av
    import numpy as np

    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=CLIP_FRAMES)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        for k in range(CLIP_FRAMES):
            image = np.full((64, 64, 3), 20 * k, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode(None))
    return path


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
