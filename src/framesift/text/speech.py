"""Speech into events, by one of two engines behind one function.

faster-whisper runs any Whisper model that is already on this machine and knows many languages; moonshine-voice knows
English and carries its tiny model in its wheel, so it works with no network. Nothing is ever downloaded here.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from framesift._utils.optional import is_installed
from framesift.errors import FramesiftError, InputError, MissingExtra, UnknownName
from framesift.progress import Progress, ignore_progress
from framesift.text.moonshine import INSTALL, Moonshine, model_folder
from framesift.text.word_timing import MAX_COMPRESSION, Word, is_hallucination, split_sentences, without_loops
from framesift.types import Event
from framesift.video.audio import SILENCE, Block, loudness, open_sound

NEITHER = f"speech needs moonshine-voice or faster-whisper: {INSTALL}"
ENGLISH = ("en", "eng", "english")

# Whisper's sizes and where faster-whisper's weights for them live, the better trade of words for time first. Those
# that know only English come last.
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
# Without the tokenizer faster-whisper would fetch one from the hub.
WHISPER_FILES = ("model.bin", "config.json", "tokenizer.json")

# Whisper looks at 30 s at a time whatever it is given; longer blocks only make fewer cuts.
WHISPER_BLOCK_S = 120.0

# Whisper's own measures (openai/whisper): a segment fails when it is likely no speech or too unlikely as text.
NO_SPEECH = 0.6
LEAST_LOGPROB = -1.0
# A language heard with this certainty is kept for the rest of the file.
SURE_LANGUAGE = 0.8

log = logging.getLogger(__name__)


class Engine(Protocol):
    """What turns a block of sound into words. Add one: write this class, name it in `_resolve` and `_load`."""

    block_s: float

    def words(self, block: Block) -> Iterator[list[Word]]:
        """The words of each utterance in the block, times on the video's clock."""

    def close(self) -> None: ...


def recognise(
    path: str | os.PathLike[str],
    *,
    engine: str = "auto",
    language: str | None = None,
    progress: Progress = ignore_progress,
) -> list[Event]:
    """What is said in a file, as sentence-like events on the clock a player shows.

    engine: "auto", "moonshine", "whisper" (a size that is on this machine) or "whisper:" and a size, a folder or a hub
    name. language: a code such as "en"; Whisper hears it by itself when it is not given. progress is called with the
    seconds done and the seconds in all. Silence, and text invented on silence or music, give no event.
    """
    with open_sound(path, language=language) as sound:
        name = engine_name(engine)
        _check_language(name, language)
        found: list[Event] = []
        with closing(_load(name, language)) as model:
            for block in sound.blocks(model.block_s):
                if loudness(block.samples).max(initial=0.0) > SILENCE:
                    for words in model.words(block):
                        found += split_sentences(words)
                progress("speech recognition", block.end_s, max(sound.duration_s, block.end_s))
    events = without_loops(event for event in found if not is_hallucination(event))
    log.info("%s: %d events heard by %s, %d dropped as invented", path, len(events), name, len(found) - len(events))
    return events


def engine_name(engine: str = "auto") -> str:
    """What `engine` stands for on this machine ("whisper:small", "moonshine"); loads no model."""
    kind, _, which = engine.partition(":")
    if kind == "whisper":
        return _whisper_name(which)
    if engine == "moonshine":
        model_folder()
        return engine
    if engine != "auto":
        raise UnknownName(f"speech engine {engine!r} is unknown; expected auto, moonshine, whisper or whisper:<size>")
    if is_installed("faster_whisper"):
        size = _size_here()
        if size:
            return f"whisper:{size}"
    if not is_installed("moonshine_voice"):
        if not is_installed("faster_whisper"):
            raise MissingExtra(NEITHER)
        raise MissingExtra(f"no Whisper weights are on this machine and moonshine-voice is not installed: {INSTALL}")
    model_folder()
    return "moonshine"


def available() -> tuple[bool, str]:
    """Whether `recognise` can run here; if not, the sentence that says why and what to install."""
    try:
        engine_name()
    except FramesiftError as error:
        return False, str(error)
    return True, ""


def _check_language(name: str, language: str | None) -> None:
    if language is None or language.lower().replace("_", "-").split("-")[0] in ENGLISH:
        return
    if name == "moonshine":
        sizes = "framesift can use any Whisper size: hf download Systran/faster-whisper-small"
        raise InputError(f"language is {language!r}, but the engine here, moonshine, knows English alone; {sizes}")
    if name.endswith(".en"):
        raise InputError(f"language is {language!r}, but {name} knows English alone; use {name.removesuffix('.en')}")


def _load(name: str, language: str | None) -> Engine:
    if name == "moonshine":
        if language is None:
            log.info("speech: moonshine takes the language to be English")
        return Moonshine(model_folder())
    return _Whisper(_whisper_folder(name.removeprefix("whisper:")), language)


def _whisper_name(which: str) -> str:
    if not is_installed("faster_whisper"):
        raise MissingExtra(f"the speech engine whisper needs faster-whisper: {INSTALL}")
    if not which:
        size = _size_here()
        if size is None:
            raise InputError("no Whisper weights are on this machine; fetch some: " + _fetch("small"))
        return f"whisper:{size}"
    if os.path.isdir(which):
        which = str(Path(which).resolve())
    _whisper_folder(which)
    return f"whisper:{which}"


def _size_here() -> str | None:
    return next((size for size, repo in WHISPER_SIZES.items() if _cached(repo)), None)


def _cached(repo: str) -> Path | None:
    """The folder of a hub model whose files are all on this machine."""
    from huggingface_hub import try_to_load_from_cache

    found = [path for name in WHISPER_FILES if isinstance(path := try_to_load_from_cache(repo, name), str)]
    return Path(found[0]).parent if len(found) == len(WHISPER_FILES) else None


def _whisper_folder(which: str) -> Path:
    """Where the weights of a size, folder or hub name lie."""
    folder = Path(which)
    if folder.is_dir():
        missing = [name for name in WHISPER_FILES if not (folder / name).is_file()]
        if missing:
            expected = "expected Whisper weights as faster-whisper reads them (CTranslate2)"
            raise InputError(f"the folder {which!r} has no {missing[0]}; {expected}")
        return folder
    repo = WHISPER_SIZES.get(which, which)
    if "/" not in repo or repo.count("/") > 1 or ".." in repo:
        known = ", ".join(WHISPER_SIZES)
        raise UnknownName(f"Whisper {which!r} is no folder and no known size; expected one of {known}, or a hub name")
    cached = _cached(repo)
    if cached is None:
        raise InputError(f"the weights of Whisper {which!r} are not on this machine; fetch them: {_fetch(which)}")
    return cached


def _fetch(which: str) -> str:
    return f"hf download {WHISPER_SIZES.get(which, which)}"


@dataclass
class _Whisper:
    folder: Path
    language: str | None
    block_s: float = WHISPER_BLOCK_S

    def __post_init__(self) -> None:
        from faster_whisper import WhisperModel

        try:
            self._model: Any = WhisperModel(str(self.folder), local_files_only=True)
        except (RuntimeError, ValueError) as error:
            raise InputError(f"the Whisper weights in {self.folder} can't be loaded: {error}") from error

    def words(self, block: Block) -> Iterator[list[Word]]:
        segments, info = self._model.transcribe(
            block.samples,
            language=self.language,
            vad_filter=True,
            word_timestamps=True,
            condition_on_previous_text=False,  # else one invented line is repeated in every window after it
            no_speech_threshold=NO_SPEECH,
            log_prob_threshold=LEAST_LOGPROB,
            hallucination_silence_threshold=2.0,
        )
        heard = False
        for segment in segments:
            words = segment_words(segment, block.start_s)
            if words:
                heard = True
                yield words
        if heard and self.language is None and info.language_probability >= SURE_LANGUAGE:
            log.info("speech: the language is %s (%.0f%% sure)", info.language, 100 * info.language_probability)
            self.language = info.language

    def close(self) -> None:
        del self._model


def segment_words(segment: Any, offset_s: float) -> list[Word]:
    """The words of one of faster-whisper's segments; none where its own measures say that nobody spoke."""
    silent = segment.no_speech_prob > NO_SPEECH and segment.avg_logprob < LEAST_LOGPROB
    if silent or segment.avg_logprob < 2 * LEAST_LOGPROB or segment.compression_ratio > MAX_COMPRESSION:
        return []
    return [
        Word(offset_s + word.start, offset_s + max(word.end, word.start), word.word)
        for word in segment.words or ()
        if word.word.strip()
    ]


# words into events ----------------------------------------------------------------------------------------------------
