"""Small videos whose colour decides what the test encoder does, and commands with that encoder."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from helpers.clips import write_frames
from helpers.plugin_packages import write_package

COLOURS = {"crash": (255, 0, 0), "hang": (0, 0, 255), "slow": (0, 255, 0)}


def install_encoder(folder: Path) -> Path:
    """Create a folder for sys.path with the encoders `test-encoder` and `paused-grid`, as an installed package has."""
    encoders = "test-encoder = helpers.colour_encoder:ColourEncoder\npaused-grid = helpers.encoders:PausedGrid\n"
    return write_package(folder, "test-encoder", f"[framesift.encoders]\n{encoders}")


def make_video(path, colour=None, seconds=8, seed=0):
    """Write a small clip of one colour, or of random colours that the encoder accepts, with a square that moves."""
    rng = np.random.default_rng(seed)
    frames = []
    for number in range(seconds * 4):
        frames.append(np.full((48, 64, 3), rng.integers(90, 160, 3) if colour is None else colour, np.uint8))
        left = number * 8 % 56
        frames[-1][40:, left : left + 8] = 128
    return write_frames(path, frames, fps=4)


def write_questions(file, *rows):
    """Write rows of questions about a colour, one per line."""
    asked = {"question": "Which colour?", "options": ["red", "blue"], "answer": "B"}
    file.write_text("".join(json.dumps(asked | row) + "\n" for row in rows))
    return file


def framesift(*arguments, path: Path, stdout: Any = subprocess.PIPE, **variables: str) -> subprocess.Popen[str]:
    """Start the command in a process with the encoders installed, and these variables in its environment."""
    places = [str(path), *(place for place in sys.path if place)]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(places)} | variables
    command = [sys.executable, "-m", "framesift", *map(str, arguments)]
    return subprocess.Popen(
        command,
        env=env,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        # A test run in the background ignores SIGINT, and so would the process.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def payloads(store):
    """The bytes of every index, by its path in the store."""
    return {str(p.relative_to(store)): p.read_bytes() for p in Path(store).rglob("index.safetensors")}


def worker_processes(driver=None):
    """(pid, parent) of the workers that this process, or another, has started directly or through others."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])

    def is_below(pid):
        return pid == (driver or os.getpid()) or (pid in parents and is_below(parents[pid]))

    return [(pid, parents[pid]) for pid in parents if is_worker(pid) and is_below(pid)]


def is_worker(pid):
    """Whether a worker has this process id: a process that nobody waits for keeps it, and another one may get it."""
    with suppress(OSError):
        return b"framesift.batch.executors.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
