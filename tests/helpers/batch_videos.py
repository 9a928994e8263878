"""An encoder from another package that crashes, hangs, is slow or fills the disk, depending on the video's colour."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np

from helpers.clips import write_frames

ENCODER = textwrap.dedent(
    '''
    import ctypes, os, resource, time
    import numpy as np

    class PluginEncoder:
        """Mean colours; crashes on red, hangs on blue, is slow on green; on white files can't grow.

        While the file that HOLD names exists, green hangs as well.
        """

        name, dim, batch_size, fingerprint = "test-encoder", 4, 4, "feedfacefeedface"

        def encode_images(self, frames):
            rows = np.ones((len(frames), 4), np.float32)
            for row, frame in zip(rows, frames):
                red, green, blue = np.asarray(frame).reshape(-1, 3).mean(axis=0)
                if red > 200 and green < 60 and blue < 60:
                    ctypes.string_at(0)
                if blue > 200 and red < 60 and green < 60:
                    time.sleep(3600)
                if green > 200 and red < 60 and blue < 60:
                    time.sleep(0.02)
                    while os.path.exists(os.environ.get("HOLD", "")):
                        time.sleep(0.01)
                most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
                full = min(red, green, blue) > 240
                resource.setrlimit(resource.RLIMIT_FSIZE, (500 if full else most, most))
                row[:3] = red / 255, green / 255, blue / 255
            return rows / np.linalg.norm(rows, axis=1, keepdims=True)

        def encode_texts(self, texts):
            wanted = {"red": 0, "green": 1, "blue": 2}
            rows = np.full((len(texts), 4), 1e-3, np.float32)
            for row, text in zip(rows, texts):
                for word in text.lower().split():
                    row[wanted.get(word, 3)] = 1
            return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def load(*, device="auto"):
        return PluginEncoder()
    '''
)
COLOURS = {"crash": (255, 0, 0), "hang": (0, 0, 255), "slow": (0, 255, 0), "full": (255, 255, 255)}


def install_encoder(folder: Path) -> Path:
    """Create a folder for sys.path with the encoder `test-encoder`, as an installed package has it."""
    (folder / "plugin-1.dist-info").mkdir(parents=True)
    (folder / "plugin_encoder.py").write_text(ENCODER)
    (folder / "plugin-1.dist-info" / "METADATA").write_text("Name: plugin\nVersion: 1\n")
    (folder / "plugin-1.dist-info" / "entry_points.txt").write_text(
        "[framesift.encoders]\ntest-encoder = plugin_encoder:load\n"
    )
    return folder


def make_video(path, colour=None, seconds=8, seed=0):
    """Write a small clip of one colour, or of random colours that the encoder accepts, with a square that moves."""
    rng = np.random.default_rng(seed)
    frames = []
    for number in range(seconds * 4):
        frames.append(np.full((48, 64, 3), rng.integers(90, 160, 3) if colour is None else colour, np.uint8))
        left = number * 8 % 56
        frames[-1][40:, left : left + 8] = 128
    return write_frames(path, frames, fps=4)


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
