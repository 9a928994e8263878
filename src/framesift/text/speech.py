"""Speech recognition, with one of two engines.

faster-whisper runs any Whisper model that is already on this machine and supports many languages; moonshine-voice
supports English and contains its tiny model in its wheel, so it works offline. Nothing is downloaded here.

An engine has `block_s`, `words` and `close`: from a block of audio, it yields the words of each utterance, with times
in the video, in order and each once. To add one, list it in `engine_name` and `_load`.
"""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framesift._utils.files import StrPath
from framesift._utils.requirements import is_installed, require
from framesift._utils.text import suggestion
from framesift.errors import InputError, MissingExtra, UnknownName
from framesift.progress import Progress, ignore_progress
from framesift.text.moonshine import INSTALL, Moonshine, model_folder
from framesift.text.subtitles.languages import language_code
from framesift.text.word_timing import (
    MAX_COMPRESSION,
    Word,
    is_hallucination,
    split_sentences,
    without_loops,
    without_overlaps,
)
from framesift.types import Event
from framesift.video.audio import RATE, SILENCE, AudioBlock, AudioTrack, loudness, open_audio

# Part of the name under which recognised events are stored: increase it when the same audio gives other events.
VERSION = 3

# Whisper's sizes and the repositories of faster-whisper's weights, the best trade-off of accuracy and speed first.
# English-only models come last.
WHISPER_SIZES = {
    "turbo": "mobiuslabsgmbh/faster-whisper-large-v3-turbo",
    "large-v3-turbo": "mobiuslabsgmbh/faster-whisper-large-v3-turbo",
    "small": "Systran/faster-whisper-small",
    "medium": "Systran/faster-whisper-medium",
    "large-v3": "Systran/faster-whisper-large-v3",
    "large-v2": "Systran/faster-whisper-large-v2",
    "large-v1": "Systran/faster-whisper-large-v1",
    "base": "Systran/faster-whisper-base",
    "tiny": "Systran/faster-whisper-tiny",
    "distil-large-v3.5": "distil-whisper/distil-large-v3.5-ct2",
    "distil-large-v3": "Systran/faster-distil-whisper-large-v3",
    "distil-large-v2": "Systran/faster-distil-whisper-large-v2",
    "medium.en": "Systran/faster-whisper-medium.en",
    "small.en": "Systran/faster-whisper-small.en",
    "distil-medium.en": "Systran/faster-distil-whisper-medium.en",
    "distil-small.en": "Systran/faster-distil-whisper-small.en",
    "base.en": "Systran/faster-whisper-base.en",
    "tiny.en": "Systran/faster-whisper-tiny.en",
}
# Without the tokenizer faster-whisper would download one.
WHISPER_FILES = ("model.bin", "config.json", "tokenizer.json")

# Whisper works on windows of 30 s in any case; longer blocks only mean fewer cuts.
WHISPER_BLOCK_S = 120.0

# Whisper's own thresholds (openai/whisper): a segment is rejected as no speech or as too unlikely a text.
MAX_NO_SPEECH = 0.6
MIN_LOGPROB = -1.0
# Text has speech behind it if Silero's voice detection, at its usual threshold of 0.5, finds so much of it at the
# text's time: about a short word. What engines write over the sounds of animals, steps and music mostly has none.
MIN_VOICE_S = 0.2
VOICE_MARGIN_S = 0.2  # to both sides: words are timed to a few tenths of a second

# A language detected with this probability is used for the rest of the file.
MIN_LANGUAGE_PROBABILITY = 0.8

log = logging.getLogger(__name__)


def recognise(
    path: StrPath,
    engine: str,
    language: str | None,
    progress: Progress = ignore_progress,
    warn: Callable[[str], None] = log.info,
) -> list[Event]:
    """Recognise the speech in a file, as sentence-like events with times as a player shows them.

    engine: "auto", "moonshine", "whisper" (a size that is on this machine) or "whisper:" and a size, a folder or a hub
    name. language: a code such as "en"; by default Whisper detects it. progress is called with the seconds done and in
    total, warn with a language that was guessed. Silence, and text hallucinated on silence or music, give no event.
    Events are in order and don't overlap.
    """
    with open_audio(path, language=language) as sound:
        name = engine_name(engine)
        check_language(name, language)
        progress("speech recognition", 0.0, sound.duration_s)
        with closing(_load(name, language, warn)) as model:
            recognised = [event for words in _utterances(sound, model, progress) for event in split_sentences(words)]
    events = without_overlaps(without_loops(event for event in recognised if not is_hallucination(event)))
    log.info("%s: %d of %d events recognised by %s are no hallucination", path, len(events), len(recognised), name)
    return events


def _utterances(sound: AudioTrack, model: "Moonshine | _Whisper", progress: Progress) -> Iterator[list[Word]]:
    for block in sound.blocks(model.block_s):
        if loudness(block.samples).max(initial=0.0) > SILENCE:
            voice = _voice_times(block)
            for words in model.words(block):
                if any(start_s < words[-1].end_s and words[0].start_s < end_s for start_s, end_s in voice):
                    yield words
        progress("speech recognition", block.end_s, max(sound.duration_s, block.end_s))


def _voice_times(block: AudioBlock) -> list[tuple[float, float]]:
    """When there is a voice in the block: (start, end) in the video, with the margin."""
    options = {
        "min_speech_duration_ms": round(1000 * MIN_VOICE_S),
        "min_silence_duration_ms": 100,
        "speech_pad_ms": round(1000 * VOICE_MARGIN_S),
    }
    found = require("faster_whisper.vad", "speech").get_speech_timestamps(block.samples, **options)
    return [(block.start_s + span["start"] / RATE, block.start_s + span["end"] / RATE) for span in found]


def check_engine(engine: str) -> None:
    """Raise if no speech engine has this name, installed or not."""
    if engine not in ("auto", "moonshine") and str(engine).partition(":")[0] != "whisper":
        names = ("auto", "moonshine", "whisper", "whisper:<size>")
        raise UnknownName(f"there is no speech engine {engine!r}; {suggestion(engine, names)}")


def engine_name(engine: str) -> str:
    """Resolve `engine` on this machine ("whisper:small", "moonshine") without loading a model."""
    check_engine(engine)
    if not is_installed("faster_whisper"):  # it has the voice detection
        raise MissingExtra(f"speech recognition needs faster-whisper: {INSTALL}")
    kind, _, which = engine.partition(":")
    if kind != "moonshine" and not which:
        which = next((size for size, repo in WHISPER_SIZES.items() if _cached(repo)), "")
    if kind == "whisper" and not which:
        raise InputError(f"no Whisper weights are on this machine; download some: {_download_command('small')}")
    if not which:
        model_folder()
        return "moonshine"
    if os.path.isdir(which):
        which = str(Path(which).resolve())
    _whisper_folder(which)
    return f"whisper:{which}"


def check_language(name: str, language: str | None) -> None:
    """Raise if an engine, named as `engine_name` returns it, does not support the language."""
    if language is None or language_code(language) == "en":
        return
    if name == "moonshine":
        remedy = f"use Whisper: {_download_command('small')}"
        raise InputError(f"language is {language!r}, but the engine moonshine supports only English; {remedy}")
    if name.endswith(".en"):
        raise InputError(f"language is {language!r}, but {name} supports only English; use {name.removesuffix('.en')}")


def _load(name: str, language: str | None, warn: Callable[[str], None]) -> "Moonshine | _Whisper":
    if name == "moonshine":
        return Moonshine(model_folder())
    return _Whisper(_whisper_folder(name.removeprefix("whisper:")), language, warn)


def _cached(repo: str) -> Path | None:
    """Return the folder of a hub model if all its files are on this machine."""
    from huggingface_hub import try_to_load_from_cache

    files = [path for name in WHISPER_FILES if isinstance(path := try_to_load_from_cache(repo, name), str)]
    return Path(files[0]).parent if len(files) == len(WHISPER_FILES) else None


def _whisper_folder(which: str) -> Path:
    """Locate the weights of a size, a folder or a hub name."""
    folder = Path(which)
    if folder.is_dir():
        missing = [name for name in WHISPER_FILES if not (folder / name).is_file()]
        if missing:
            expected = "expected Whisper weights for faster-whisper (CTranslate2)"
            raise InputError(f"the folder {which!r} has no {missing[0]}; {expected}")
        return folder
    repo = WHISPER_SIZES.get(which, which)
    if "/" not in repo or repo.count("/") > 1 or ".." in repo:
        expected = f"expected one of {', '.join(WHISPER_SIZES)}, a folder or a hub name"
        raise UnknownName(f"there is no Whisper model {which!r}; {suggestion(which, WHISPER_SIZES, expected)}")
    cached = _cached(repo)
    if cached is None:
        command = _download_command(which)
        raise InputError(f"the weights of Whisper {which!r} are not on this machine; download them: {command}")
    return cached


def _download_command(which: str) -> str:
    return f"hf download {WHISPER_SIZES.get(which, which)}"


@dataclass
class _Whisper:
    """Whisper through faster-whisper."""

    folder: Path
    language: str | None
    warn: Callable[[str], None]
    block_s: float = WHISPER_BLOCK_S

    def __post_init__(self) -> None:
        faster_whisper = require("faster_whisper", "speech")
        try:
            self._model: Any = faster_whisper.WhisperModel(str(self.folder), local_files_only=True)
        except (RuntimeError, ValueError) as error:
            raise InputError(f"the Whisper weights in {self.folder} can't be loaded: {error}") from error

    def words(self, block: AudioBlock) -> Iterator[list[Word]]:
        segments, info = self._model.transcribe(
            block.samples,
            language=self.language,
            vad_filter=True,
            word_timestamps=True,
            condition_on_previous_text=False,  # or one hallucinated line is repeated in every later window
            no_speech_threshold=MAX_NO_SPEECH,
            log_prob_threshold=MIN_LOGPROB,
            hallucination_silence_threshold=2.0,
        )
        has_speech = False
        for words in filter(None, (segment_words(segment, block.start_s) for segment in segments)):
            has_speech = True
            yield words
        if has_speech and self.language is None and info.language_probability >= MIN_LANGUAGE_PROBABILITY:
            likely = f"probability {info.language_probability:.0%}"
            self.warn(f"the language of the speech was guessed: {info.language} ({likely})")
            self.language = info.language

    def close(self) -> None:
        del self._model


def segment_words(segment: Any, offset_s: float) -> list[Word]:
    """Return the words of a faster-whisper segment; none if it fails Whisper's thresholds."""
    silent = segment.no_speech_prob > MAX_NO_SPEECH and segment.avg_logprob < MIN_LOGPROB
    if silent or segment.avg_logprob < 2 * MIN_LOGPROB or segment.compression_ratio > MAX_COMPRESSION:
        return []
    return [
        Word(offset_s + word.start, offset_s + max(word.end, word.start), word.word)
        for word in segment.words or ()
        if word.word.strip()
    ]
