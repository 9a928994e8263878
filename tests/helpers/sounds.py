"""Generated audio, and what the tests of speech recognition share."""

import importlib.util
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from framesift.video.audio import RATE, open_audio


def write_sound(path, samples, *, start_s=0.0, codec="pcm_s16le", pictures_s=0.0, hole=None):
    """Write a file with `samples` (16 kHz mono) from start_s on; hole: (time, seconds) of a gap in the timestamps."""
    with av.open(str(path), "w") as out:
        video = out.add_stream("mpeg4", rate=5) if pictures_s else None
        sound = out.add_stream(codec, rate=RATE, layout="mono")
        if video is not None:
            video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
            for number in range(int(pictures_s * 5)):
                frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), number % 250, np.uint8), "rgb24")
                frame.pts, frame.time_base = number, Fraction(1, 5)
                out.mux(video.encode(frame))
            out.mux(video.encode(None))
        for at in range(0, len(samples), 1024):
            part = (samples[at : at + 1024] * 32767).astype(np.int16)[None]
            block = av.AudioFrame.from_ndarray(part, "s16", "mono")
            shift_s = start_s + (hole[1] if hole and at / RATE >= hole[0] else 0.0)
            block.sample_rate, block.time_base = RATE, Fraction(1, RATE)
            block.pts = at + round(shift_s * RATE)
            out.mux(sound.encode(block))
        out.mux(sound.encode(None))
    return path


def voice(name="beckett.wav"):
    """A recording inside moonshine-voice's wheel, as 16 kHz samples."""
    spec = importlib.util.find_spec("moonshine_voice")
    assert spec is not None and spec.submodule_search_locations
    with open_audio(Path(spec.submodule_search_locations[0], "assets", name)) as sound:
        return np.concatenate([block.samples for block in sound.blocks(30.0)])


def noise(seconds, level=0.1):
    return (np.random.default_rng(0).normal(0, level, int(seconds * RATE))).clip(-1, 1)


def music(seconds):
    """Chords that change twice a second."""
    time = np.arange(int(seconds * RATE)) / RATE
    root = 220 * 2 ** (np.floor(time * 2) % 7 / 12)
    chord = sum(np.sin(2 * np.pi * np.cumsum(root * ratio) / RATE) for ratio in (1, 1.25, 1.5))
    return 0.15 * chord * (1 - (time * 2) % 1)


def blocks_of(path, block_s=30.0):
    with open_audio(path) as sound:
        return list(sound.blocks(block_s))
