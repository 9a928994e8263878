"""The speech engine moonshine: English, with its model inside its wheel, in a separate process for every block.

Its library keeps a state that no call resets: after a block it recognises less in the next, and it leaks about 2 MB
per block. With a process per block every block is recognised alike, memory does not grow with the video, and a crash
of the library is only an error. The next process loads its model while the current one works.
"""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from framesift._utils.optional import is_installed
from framesift.errors import FramesiftError, MissingExtra
from framesift.text.word_timing import Word, without_repetitions
from framesift.types.vectors import Array
from framesift.video.audio import FRAME_S, RATE, SILENCE, AudioBlock, loudness

INSTALL = "pip install 'framesift[speech]'"
MODEL = "tiny-en"
BLOCK_S = 30.0
# Lower than the default of 0.5 and with a longer look-behind, because in movies music covers speech. Together with the
# gain below it found a seventh more words in the one movie it was tuned on; noise and chords alone still give none.
OPTIONS = {"vad_threshold": 0.3, "vad_look_behind_sample_count": 16_000}
# Quiet speech is amplified to about −20 dB, where voice detection works best, but by at most 12 dB.
SPEECH_LEVEL = 10 ** (-20 / 20)
MAX_GAIN = 4.0


def model_folder() -> Path:
    """Locate the model inside the wheel without importing the package."""
    spec = importlib.util.find_spec("moonshine_voice") if is_installed("moonshine_voice") else None
    if spec is None:
        raise MissingExtra(f"the speech engine moonshine is not installed: {INSTALL}")
    for place in spec.submodule_search_locations or ():
        folder = Path(place, "assets", MODEL)
        if folder.is_dir():
            return folder
    raise MissingExtra(f"this moonshine-voice contains no model; 0.0.44 does: {INSTALL}")


class Moonshine:
    """Recognises each block in a child process that has already loaded the model."""

    block_s = BLOCK_S

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._next_process = self._start_process()

    def words(self, block: AudioBlock) -> Iterator[list[Word]]:
        level = loudness(block.samples)
        samples = np.clip(block.samples * _gain(level), -1.0, 1.0).astype("<f4")
        for line, start_s, duration_s in self._transcribe(samples):
            text = without_repetitions(" ".join(line.split()))
            first, last = int(start_s / FRAME_S), int((start_s + duration_s) / FRAME_S)
            if text and level[first : last + 1].max(initial=0.0) > SILENCE:
                yield spread_words(text, level[first : last + 1], block.start_s + first * FRAME_S)

    def close(self) -> None:
        self._next_process.kill()
        self._next_process.communicate()

    def _start_process(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "framesift.text.moonshine", str(self._folder)]
        pipe = subprocess.PIPE
        # In a separate session, so that Ctrl+C reaches only this process, which then ends the child.
        return subprocess.Popen(  # noqa: S603 (our own module)
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def _transcribe(self, samples: Array) -> list[tuple[str, float, float]]:
        child, self._next_process = self._next_process, self._start_process()
        try:
            output, _ = child.communicate(samples.tobytes())
            return [(str(text), float(start), float(duration)) for text, start, duration in json.loads(output)]
        except (OSError, ValueError) as error:
            stopped = f"the speech engine moonshine stopped (exit code {child.wait()})"
            raise FramesiftError(f"{stopped}; reinstall it ({INSTALL}) or use another engine") from error
        finally:
            child.kill()


def _gain(level: Array) -> float:
    """Return the gain that raises the loudest tenth of a block to the level of speech."""
    loud = float(np.percentile(level, 90))
    return float(np.clip(SPEECH_LEVEL / max(loud, SILENCE), 1.0, MAX_GAIN))


def spread_words(text: str, level: Array, start_s: float) -> list[Word]:
    """Give each word of a line its share of the time in which there is a voice.

    level (n,): the line's loudness, a value each FRAME_S. moonshine times lines, not words, and its lines begin early:
    steps well below the line's own level are pauses and get no letters.
    """
    voiced = np.flatnonzero(level > 0.15 * np.percentile(level, 90))
    tokens = text.split()
    letters = np.cumsum([0] + [len(token) + 1 for token in tokens])
    at = letters / letters[-1] * len(voiced)
    first = voiced[np.minimum(at[:-1].astype(int), len(voiced) - 1)]
    last = voiced[np.maximum(np.ceil(at[1:]).astype(int) - 1, 0)] + 1
    return [
        Word(start_s + a * FRAME_S, start_s + b * FRAME_S, f" {token}")
        for a, b, token in zip(first.tolist(), last.tolist(), tokens, strict=True)
    ]


def _transcribe_once(folder: str, samples_in: BinaryIO, json_out: BinaryIO) -> None:
    """Run in the child: read float32 samples to the end, write [text, start, duration] of each line as JSON."""
    # The package itself imports its microphone module, which needs PortAudio, missing on servers.
    from moonshine_voice.moonshine_api import ModelArch
    from moonshine_voice.transcriber import Transcriber

    model = Transcriber(folder, ModelArch.TINY, options=dict(OPTIONS))
    samples = np.frombuffer(samples_in.read(), dtype="<f4")
    lines = model.transcribe_without_streaming(samples, RATE).lines
    json_out.write(json.dumps([(line.text, float(line.start_time), float(line.duration)) for line in lines]).encode())
    json_out.flush()


if __name__ == "__main__":
    # The library's own output must not mix with the JSON.
    own_output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _transcribe_once(sys.argv[1], sys.stdin.buffer, own_output)
