"""The timestamped text of a video: from subtitles if there are any, else recognised once and stored."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from framesift._utils.files import StrPath
from framesift._utils.records import shown
from framesift._utils.settings import check_names, check_settings, setting
from framesift.errors import InputError, MissingExtra, OptionError
from framesift.progress import Progress, as_progress
from framesift.store.fingerprint import WatchedFile, read_watched
from framesift.store.store import Store
from framesift.store.timelines import use_stored_timeline
from framesift.text import speech
from framesift.text.merge import merge_events
from framesift.text.ocr import read_screen
from framesift.text.subtitles import read_report, search_sidecars
from framesift.text.subtitles.languages import language_code, may_be_in
from framesift.text.subtitles.sidecars import PICTURE_ENDINGS, Sidecar
from framesift.text.tracks import EmbeddedTrack, list_tracks, read_track
from framesift.types import Event
from framesift.video.frames import probe, sample

AUTO, NONE = "auto", "none"

Candidate = Sidecar | EmbeddedTrack
Recognised = tuple[list[Event], tuple[str, ...]]  # events, and warnings about them


@dataclass(frozen=True)
class EventSource:
    """One source of text: its kind, a readable name, the number of events, and repairs made to it."""

    kind: str
    name: str
    events: int
    repairs: dict[str, int]


@dataclass(frozen=True)
class FoundEvents:
    """The events of a video and their sources.

    notes: what the search did not find, which is normal. warnings: what is uncertain or wrong in what it found.
    """

    events: tuple[Event, ...]
    sources: tuple[EventSource, ...]
    notes: tuple[str, ...]
    duration_s: float
    warnings: tuple[str, ...] = ()

    @property
    def span(self) -> float:
        """The share of the video between the first event's start and the last one's end."""
        inside = [event for event in self.events if event.start_s <= self.duration_s]
        if not inside:
            return 0.0
        last = min(max(event.end_s for event in inside), self.duration_s)
        return max(0.0, last - max(inside[0].start_s, 0.0)) / self.duration_s


@dataclass(frozen=True)
class TextSettings:
    """Where the timestamped text of videos comes from."""

    subtitles: StrPath = setting(AUTO, "a subtitle file, auto or none", metavar="FILE")
    language: str | None = setting(None, "language of the subtitles and speech, as in en", metavar="CODE")
    speech: str = setting(AUTO, "speech recognition: auto, none, moonshine or whisper:MODEL", metavar="ENGINE")
    screen_text: bool = setting(False, "also read the text on the screen", action="store_true")

    def __post_init__(self) -> None:
        check_settings(self)
        if not isinstance(self.subtitles, str | os.PathLike):
            raise OptionError(f"subtitles is {shown(self.subtitles)}; expected a subtitle file, auto or none")
        if self.speech != NONE:
            speech.check_engine(self.speech)
        if self.file is not None and not self.file.is_file():
            raise InputError(f"{self.file} is not a file; expected a subtitle file, auto or none")

    @property
    def file(self) -> Path | None:
        """The subtitle file to read; None for auto and none."""
        return None if os.fspath(self.subtitles) in (AUTO, NONE) else Path(self.subtitles)


def find_events(
    video: StrPath,
    *,
    recognise_speech: str | bool = True,
    store: StrPath | Store | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> list[Event]:
    """Find the timestamped text of a video.

    The first of these with any text is used: the named file, a subtitle file beside the video, an embedded track,
    speech. What is recognised is stored.

    Args:
        video: The file.
        recognise_speech: False, True (if there is no other text) or the name of an engine.
        store: The folder of what is recognised.
        progress: Called with stage, done and total, in seconds of the video.
        **settings: `subtitles`, a file, "auto" or "none"; `language`: text in others is not used; `screen_text`: text
            on the screen is added.

    Returns:
        The events, sorted by start; none where there is no text.

    Raises:
        InputError: The video can't be read, or has text in other languages only.

    Example:
        ```python
        events = fs.find_events("film.mp4", language="en", recognise_speech=False)
        ```
    """
    check_names(settings, TextSettings)
    engine = recognise_speech if isinstance(recognise_speech, str) else AUTO if recognise_speech else NONE
    opened = store if isinstance(store, Store) else Store(store)
    return list(search_events(video, TextSettings(**settings, speech=engine), opened, progress=progress).events)


def search_events(
    video: StrPath,
    settings: TextSettings,
    store: Store,
    *,
    progress: Progress | None = None,
) -> FoundEvents:
    """Find events as `find_events` does, with their sources, notes on what was not found, and warnings."""

    def search(file: WatchedFile) -> FoundEvents:
        use_stored_timeline(file, store)
        return _EventSearch(file, settings, store, progress).run()

    return read_watched(video, search)


@dataclass(frozen=True)
class _Reading:
    """The events of one source. languages: those stated inside a file."""

    events: list[Event]
    source: EventSource
    warnings: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()


class _EventSearch:
    """The sources tried so far and their events."""

    def __init__(self, video: WatchedFile, settings: TextSettings, store: Store, progress: Progress | None) -> None:
        self.video, self.settings, self.store, self.progress = video, settings, store, as_progress(progress)
        self.info = probe(video.path)
        self.language, self.requested = settings.language, language_code(settings.language)
        self.other_languages: list[str] = []  # subtitles that are not in the requested one
        self.readings: list[_Reading] = []
        self.notes: list[str] = []
        self.warnings: list[str] = []

    def run(self) -> FoundEvents:
        settings = self.settings
        if settings.file is not None:
            self._read_named_file(settings.file)
        elif os.fspath(settings.subtitles) == AUTO:
            self._read_subtitles()
        if not self.readings and settings.speech != NONE:
            self._recognise_speech()
        if not self.readings and self.other_languages:
            skipped = "".join(f" ({warning})" for warning in self.warnings)
            others = _enumerate(self.other_languages, at_most=30)
            raise InputError(
                f"{Path(self.info.path).name} has no text in {self.language!r}, only {others}{skipped}; "
                "choose with --subtitles or --set language=CODE"
            )
        if settings.screen_text:
            self._read_screen()
        elif not self.readings:
            self.notes.append("text on the screen was not searched; enable it with screen_text=true")
        events = merge_events(*(reading.events for reading in self.readings))
        duration_s = self.info.duration_s
        past = sum(event.start_s > duration_s for event in events)
        if past > len(events) / 2:
            self.warnings.append(
                f"{past} of {len(events)} events start after the video's end at {duration_s:.0f} s: "
                "this text does not belong to this video"
            )
        sources = tuple(reading.source for reading in self.readings)
        return FoundEvents(tuple(events), sources, tuple(self.notes), duration_s, tuple(self.warnings))

    def _add(self, reading: _Reading) -> None:
        self.readings.append(reading)
        self.warnings += reading.warnings

    def _read_named_file(self, path: Path) -> None:
        """Read the file that the user chose; one that states other languages than the requested one is an error."""
        reading = self._read_file(path)
        stated = reading.languages
        if self.requested and stated and self.requested not in stated:
            raise InputError(f"{path} has no text in {self.language!r}; it states {', '.join(stated)}")
        self._add(reading)

    def _read_subtitles(self) -> None:
        """Read the best of the files beside the video and the tracks inside it, and report the others."""
        candidates = self._list_candidates()
        fitting = [each for each in candidates if not self.requested or each.language == self.requested]
        unstated = [each for each in candidates if self.requested and not each.language]
        for alike in (fitting, unstated):
            for k, candidate in enumerate(alike):
                reading = self._try_reading(candidate)
                if reading is None or (alike is unstated and not self._check_language(candidate, reading)):
                    continue
                self._add(reading)
                self._report_choice(candidate, alike[k + 1 :])
                return
        if not any(isinstance(each, EmbeddedTrack) for each in candidates):
            self.notes.append("the video has no embedded text track")
        if self.requested:
            self.other_languages += [each.name for each in candidates if each.language not in ("", self.requested)]

    def _list_candidates(self) -> list[Candidate]:
        """The subtitles of the video, best first: files, then tracks; partial ones last."""
        folder = Path(self.info.path).parent
        sidecars = search_sidecars(self.info.path)
        tracks = list_tracks(self.info.path) if self.info.subtitle_tracks else []
        if not sidecars.found:
            self.notes.append("there is no subtitle file beside the video")
            skipped = {"there are several videos here": sidecars.ambiguous}
            skipped |= {"the name is not that of the video": sidecars.unrelated}
            for why, paths in skipped.items():
                if paths:
                    names = _enumerate([os.path.relpath(path, folder) for path in paths])
                    self.notes.append(f"{names}: not used, since {why}; choose with --subtitles")
        candidates: list[Candidate] = [*sidecars.found, *tracks]
        return sorted(candidates, key=lambda each: each.is_partial)

    def _try_reading(self, candidate: Candidate) -> _Reading | None:
        """Read a candidate; None, with a warning, if that is not possible."""
        try:
            if isinstance(candidate, Sidecar):
                return self._read_file(candidate.path)
            events = read_track(self.info.path, candidate)
            return _Reading(events, EventSource("track", f"the embedded {candidate.name}", len(events), {}))
        except (InputError, MissingExtra) as error:
            self.video.check()
            self.warnings.append(f"skipped: {error}")
            return None

    def _read_file(self, path: Path) -> _Reading:
        if path.suffix.lower() in PICTURE_ENDINGS:
            raise InputError(f"{path} contains pictures, which can't be read; expected subtitles of text, such as .srt")
        events, report = read_report(path, language=self.language)
        source = EventSource("subtitles", str(path), len(events), dict(report.repairs))
        return _Reading(events, source, report.warnings, report.languages)

    def _check_language(self, candidate: Candidate, reading: _Reading) -> bool:
        """Whether text that does not have its language in its name is in the requested one, as far as can be told."""
        if self.requested in reading.languages:
            return True
        if reading.languages:
            found = ", ".join(reading.languages)
        elif not may_be_in(self.requested, (event.text for event in reading.events)):
            found = "another script"
        else:
            self.warnings.append(f"{candidate.name} does not state its language; it is taken for {self.language!r}")
            return True
        self.other_languages.append(f"{candidate.name} ({found})")
        return False

    def _report_choice(self, chosen: Candidate, others: list[Candidate]) -> None:
        if others:
            options = ["--subtitles"] if any(isinstance(each, Sidecar) for each in others) else []
            options += ["--set language=CODE"] if any(each.language != chosen.language for each in others) else []
            choose = f"; choose with {' or '.join(options)}" if options else ""
            names = _enumerate([each.name for each in others])
            self.warnings.append(f"{chosen.name} was used; also found: {names}{choose}")

    def _recognise_speech(self) -> None:
        engine = self.settings.speech
        if not self.info.has_audio:
            self.notes.append("the video has no audio")
            return
        try:
            name = speech.engine_name(engine)
        except MissingExtra as error:
            if engine != AUTO:
                raise
            self.notes.append(str(error))
            return
        if self.other_languages:
            try:
                speech.check_language(name, self.language)
            except InputError:
                return  # the error lists the subtitles that there are
        guesses: list[str] = []
        recognise = partial(speech.recognise, self.info.path, name, self.language, self.progress, guesses.append)
        events, found_warnings = self._cached(
            f"speech-{speech.VERSION}-{name}-{self.language or 'any'}", lambda: (recognise(), tuple(guesses))
        )
        if not events:
            self.notes.append(f"no speech was recognised ({name})")
            return
        assumed = ", which assumes English" if name == "moonshine" and not self.language else ""
        warnings = [f"the text is speech recognised by {name}{assumed}", *found_warnings]
        if self.other_languages:
            warnings.append(f"there are no subtitles in {self.language!r}, only {_enumerate(self.other_languages)}")
        source = EventSource("speech", f"speech recognised by {name}", len(events), {})
        self._add(_Reading(events, source, tuple(warnings)))

    def _read_screen(self) -> None:
        def read() -> Recognised:
            with sample(self.info.path, 1.0) as frames:
                return read_screen(frames, duration_s=self.info.duration_s, progress=self.progress), ()

        events, _ = self._cached("screen", read)
        if events:
            self._add(_Reading(events, EventSource("screen", "text on the screen", len(events), {})))
        else:
            self.notes.append("no text was found on the screen")

    def _cached(self, name: str, compute: Callable[[], Recognised]) -> Recognised:
        """The events and warnings of `compute`, which reads the video, from the store if they are there."""
        file = self.video

        def compute_and_save() -> Recognised:
            events, warnings = compute()
            file.check_content()
            self.store.save_events(file.fingerprint, name, events, self.info.path, warnings=warnings)
            return events, warnings

        return self.store.load_or_compute(
            f"{file.fingerprint}/{name}",
            lambda: self.store.load_events(file.fingerprint, name),
            compute_and_save,
            lambda: self.progress("another process is reading the text of this video; waiting", 0, 1),
        )


def _enumerate(names: Sequence[str], at_most: int = 4) -> str:
    """List names in a sentence; of many, the first ones and the number of the others."""
    shown = ", ".join(names[:at_most])
    return shown if len(names) <= at_most else f"{shown} and {len(names) - at_most} more"
