"""The speech engine moonshine: English, with its model inside its wheel, in a separate process for every block.

Its library keeps a state that no call resets: after a block it recognises less in the next, and it leaks about 2 MB
per block. With a process per block every block is recognised alike, memory does not grow with the video, and a crash
of the library is only an error. The next process loads its model while the current one works.

The library's own segments overlap: each begins up to a second before the voice is detected, and a long one is cut
inside a word, so that the same words are recognised in two segments. Only its voice detection is used here: the
segments are cut at quiet points into pieces that don't overlap, and each piece is recognised once.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from framesift._utils.requirements import is_installed
from framesift.errors import FramesiftError, MissingExtra
from framesift.text.word_timing import Word, repeats_itself
from framesift.types.vectors import Array
from framesift.video.audio import FRAME_S, RATE, SILENCE, AudioBlock, loudness, quietest_cut

INSTALL = "pip install 'framesift[speech]'"
MODEL = "tiny-en"
BLOCK_S = 30.0
# Lower than the default of 0.5 and with a longer look-behind, because in movies music covers speech. Together with the
# gain below it found a seventh more words in the one movie it was tuned on; noise and chords alone still give none.
VOICE_OPTIONS = {
    "vad_threshold": 0.3,
    "vad_look_behind_sample_count": 16_000,
    "vad_max_segment_duration": 3600.0,
    "skip_transcription": "true",
}
# A threshold of 0 turns voice detection off: a piece is one line.
TEXT_OPTIONS = {"vad_threshold": 0.0, "vad_max_segment_duration": 3600.0}
# Pieces are at most this long: on longer ones words are timed less exactly, on shorter ones fewer are recognised.
PIECE_S = 10.0
# A piece of this length or more on which the model repeats itself is recognised in halves.
MIN_LOOP_S = 2.0
# Quiet speech is amplified to about −20 dB, where voice detection works best, but by at most 12 dB.
SPEECH_LEVEL = 10 ** (-20 / 20)
MAX_GAIN = 4.0

_REPETITION = re.compile(r"((?:\S+ ){3,}\S+)(?: \1)+")  # four words or more, repeated


def model_folder() -> Path:
    """Locate the model inside the wheel without importing the package."""
    spec = importlib.util.find_spec("moonshine_voice") if is_installed("moonshine_voice") else None
    if spec is None:
        raise MissingExtra(f"the speech engine moonshine is not installed: {INSTALL}")
    return Path(str(spec.origin)).with_name("assets") / MODEL


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
            text = _REPETITION.sub(r"\1", " ".join(line.split()))
            first, last = int(start_s / FRAME_S), int((start_s + duration_s) / FRAME_S)
            if text and level[first : last + 1].max(initial=0.0) > SILENCE:
                yield spread_words(text, level[first : last + 1], block.start_s + first * FRAME_S)

    def close(self) -> None:
        self._next_process.kill()
        self._next_process.communicate()

    def _start_process(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-P", "-m", "framesift.text.moonshine", str(self._folder)]
        pipe = subprocess.PIPE
        # In a separate session, so that Ctrl+C reaches only this process, which then ends the child.
        return subprocess.Popen(  # noqa: S603 (our own module)
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def _transcribe(self, samples: Array) -> list[tuple[str, float, float]]:
        child, self._next_process = self._next_process, self._start_process()
        try:
            output, _ = child.communicate(samples.tobytes())
            lines: list[tuple[str, float, float]] = json.loads(output)
        except (OSError, ValueError) as error:
            stopped = f"the speech engine moonshine stopped (exit code {child.wait()})"
            raise FramesiftError(f"{stopped}; reinstall it ({INSTALL}) or use another engine") from error
        finally:
            child.kill()
        return lines


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


def speech_pieces(segments: Iterable[tuple[float, float]], samples: Array) -> list[tuple[int, int]]:
    """Cut voice segments into pieces that don't overlap, as long as possible up to PIECE_S.

    segments: (start, end) in seconds, by start. Returns (first, last) samples. Cuts are at the quietest point of the
    time that two segments share, and at quiet points inside segments that are too long.
    """
    longest = int(PIECE_S * RATE)
    pieces = []
    for first, last in _without_overlaps(segments, samples):
        while last - first > longest:
            cut = first + quietest_cut(samples[first : first + longest])
            pieces.append((first, cut))
            first = cut
        if pieces and pieces[-1][1] == first and last - pieces[-1][0] <= longest:
            first, _ = pieces.pop()
        pieces.append((first, last))
    return pieces


def _without_overlaps(segments: Iterable[tuple[float, float]], samples: Array) -> list[tuple[int, int]]:
    apart: list[tuple[int, int]] = []
    for start_s, end_s in segments:
        first, last = round(start_s * RATE), min(round(end_s * RATE), len(samples))
        if apart and first < apart[-1][1]:
            earlier_first, earlier_last = apart.pop()
            first = max(first, earlier_first)
            cut = first + quietest_cut(samples[first:earlier_last], share=1.0)
            apart.append((earlier_first, cut))
            first, last = cut, max(last, earlier_last)
        if first < last:
            apart.append((first, last))
    return apart


def recognise_piece(model: Any, samples: Array, first: int, last: int) -> Iterator[tuple[str, float, float]]:
    """Yield the text, start and duration of a piece, or of its halves if the model repeats itself on the whole."""
    lines = model.transcribe_without_streaming(samples[first:last], RATE).lines
    text = " ".join(line.text for line in lines)
    middle = first + quietest_cut(samples[first : first + (last - first) * 2 // 3])
    if repeats_itself(text) and last - first >= MIN_LOOP_S * RATE and first < middle < last:
        yield from recognise_piece(model, samples, first, middle)
        yield from recognise_piece(model, samples, middle, last)
    else:
        yield text, first / RATE, (last - first) / RATE


def _transcribe_once(folder: str, samples_in: BinaryIO, json_out: BinaryIO) -> None:
    """Run in the child: read float32 samples to the end, write [text, start, duration] of each piece as JSON."""
    # The package itself imports its microphone module, which needs PortAudio, missing on servers.
    from moonshine_voice.moonshine_api import ModelArch
    from moonshine_voice.transcriber import Transcriber

    voice = Transcriber(folder, ModelArch.TINY, options=dict(VOICE_OPTIONS))
    model = Transcriber(folder, ModelArch.TINY, options=dict(TEXT_OPTIONS))
    samples = np.frombuffer(samples_in.read(), dtype="<f4")
    found = voice.transcribe_without_streaming(samples, RATE).lines
    pieces = speech_pieces([(line.start_time, line.start_time + line.duration) for line in found], samples)
    lines = [line for first, last in pieces for line in recognise_piece(model, samples, first, last)]
    json_out.write(json.dumps(lines).encode())
    json_out.flush()


if __name__ == "__main__":
    # The library's own output must not mix with the JSON.
    own_output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _transcribe_once(sys.argv[1], sys.stdin.buffer, own_output)
