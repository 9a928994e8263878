"""Small videos whose colour decides what the test encoder does, and commands with that encoder."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

from helpers.clips import write_frames
from helpers.plugin_packages import write_package

COLOURS = {"crash": (255, 0, 0), "hang": (0, 0, 255), "slow": (0, 255, 0), "full": (255, 255, 255)}


def install_encoder(folder: Path) -> Path:
    """Create a folder for sys.path with the encoder `test-encoder`, as an installed package has it."""
    entry_point = "[framesift.encoders]\ntest-encoder = helpers.colour_encoder:ColourEncoder\n"
    return write_package(folder, "test-encoder", entry_point)


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


def framesift(*arguments, path: Path, **options):
    """Start the command in a process with the encoder installed."""
    places = [str(path), *(place for place in sys.path if place)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    command = [sys.executable, "-m", "framesift", *map(str, arguments)]
    # A test run in the background ignores SIGINT, and so would the process.
    options.setdefault("preexec_fn", lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def payloads(store):
    """The bytes of every index, by its path in the store."""
    return {str(p.relative_to(store)): p.read_bytes() for p in Path(store).rglob("index.safetensors")}
