"""The timestamped text of a video: from subtitles if there are any, else recognised once and stored."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framesift.errors import FramesiftError, InputError
from framesift.progress import Progress, as_progress
from framesift.store.fingerprint import fingerprint
from framesift.store.store import Store
from framesift.text import ocr as screen_text_reader
from framesift.text import speech
from framesift.text.merge import merge_events
from framesift.text.subtitles import find_sidecars, read_report
from framesift.text.tracks import read_track
from framesift.types import Event, VideoInfo
from framesift.video.frames import probe, sample

AUTO, NONE = "auto", "none"


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


def find_events(
    video: str | os.PathLike[str],
    *,
    subtitles: str | os.PathLike[str] = AUTO,
    language: str | None = None,
    recognise_speech: str | bool = True,
    screen_text: bool = False,
    store: str | os.PathLike[str] | Store | None = None,
    progress: Callable[..., Any] | None = None,
) -> list[Event]:
    """Find the timestamped text of a video.

    The first of these with any text is used: the named file, a subtitle file beside the video, an embedded text track,
    speech (recognised once and stored). Text on the screen is added with `screen_text`.
    """
    return list(
        search_events(
            video,
            subtitles=subtitles,
            language=language,
            recognise_speech=recognise_speech,
            screen_text=screen_text,
            store=store,
            progress=progress,
        ).events
    )


def search_events(
    video: str | os.PathLike[str],
    *,
    subtitles: str | os.PathLike[str] = AUTO,
    language: str | None = None,
    recognise_speech: str | bool = True,
    screen_text: bool = False,
    store: str | os.PathLike[str] | Store | None = None,
    progress: Callable[..., Any] | None = None,
) -> FoundEvents:
    """Find events as `find_events` does, with their sources, notes on what was not found, and warnings.

    subtitles: a file, "auto", or "none" (only what the options below add). recognise_speech: False, True (if
    there is no other text) or the name of an engine. progress: a `framesift.progress.Progress`, in
    seconds of the video.
    """
    info = probe(video)
    opened = store if isinstance(store, Store) else Store(store)
    search = _EventSearch(info, opened, language, as_progress(progress))
    if os.fspath(subtitles) not in (AUTO, NONE):
        search.read_file(Path(subtitles), named=True)
    elif os.fspath(subtitles) == AUTO:
        _ = search.read_sidecars() or search.read_embedded()
    if not search.lists and recognise_speech:
        search.recognise_speech("auto" if recognise_speech is True else recognise_speech)
    if screen_text:
        search.read_screen()
    elif not search.lists:
        search.notes.append("text on the screen was not searched; enable it with screen_text (--screen-text)")
    return search.result()


class _EventSearch:
    """The sources tried so far and their events."""

    def __init__(self, info: VideoInfo, store: Store, language: str | None, progress: Progress) -> None:
        self.info, self.store, self.language, self.progress = info, store, language, progress
        self.lists: list[list[Event]] = []
        self.sources: list[EventSource] = []
        self.notes: list[str] = []
        self.warnings: list[str] = []

    def read_file(self, path: Path, *, named: bool = False) -> bool:
        """Read a subtitle file. A named one must be readable; one found beside the video is skipped otherwise."""
        try:
            events, report = read_report(path, language=self.language)
        except InputError as error:
            if named:
                raise
            self.warnings.append(f"skipped: {error}")
            return False
        return self._add(events, EventSource("subtitles", str(path), len(events), dict(report.repairs)))

    def read_sidecars(self) -> bool:
        sidecars = find_sidecars(self.info.path, language=self.language)
        if not sidecars:
            self.notes.append("there is no subtitle file beside the video")
        return any(self.read_file(path) for path in sidecars)

    def read_embedded(self) -> bool:
        if not any(track.is_text for track in self.info.subtitle_tracks):
            self.notes.append("the video has no embedded text track")
            return False
        try:
            events = read_track(self.info.path, language=self.language)
        except InputError as error:
            self.warnings.append(f"skipped: {error}")
            return False
        return self._add(events, EventSource("track", "an embedded text track", len(events), {}))

    def recognise_speech(self, engine: str) -> bool:
        ready, why_not = speech.available()
        if not self.info.has_audio or not ready:
            self.notes.append(why_not if self.info.has_audio else "the video has no audio")
            return False
        name = speech.engine_name(engine)
        spoken = self._cached(
            f"speech-{name}-{self.language or 'any'}",
            lambda: speech.recognise(self.info.path, engine=engine, language=self.language, progress=self.progress),
        )
        if not spoken:
            self.notes.append(f"no speech was recognised ({name})")
            return False
        return self._add(spoken, EventSource("speech", f"speech recognised by {name}", len(spoken), {}))

    def read_screen(self) -> bool:
        ready, why_not = screen_text_reader.available()
        if not ready:
            raise FramesiftError(why_not)

        def read() -> list[Event]:
            with sample(self.info.path, 1.0) as frames:
                return screen_text_reader.read_screen(frames, duration_s=self.info.duration_s, progress=self.progress)

        written = self._cached("screen", read)
        if not written:
            self.notes.append("no text was found on the screen")
            return False
        return self._add(written, EventSource("screen", "text on the screen", len(written), {}))

    def result(self) -> FoundEvents:
        events = merge_events(*self.lists) if len(self.lists) > 1 else [e for listed in self.lists for e in listed]
        past = sum(event.start_s > self.info.duration_s for event in events)
        if past > len(events) / 2:
            self.warnings.append(
                f"{past} of {len(events)} events start after the video's end at {self.info.duration_s:.0f} s: "
                "this text does not belong to this video"
            )
        return FoundEvents(
            tuple(events), tuple(self.sources), tuple(self.notes), self.info.duration_s, tuple(self.warnings)
        )

    def _add(self, events: list[Event], source: EventSource) -> bool:
        self.lists.append(events)
        self.sources.append(source)
        return True

    def _cached(self, name: str, compute: Callable[[], list[Event]]) -> list[Event]:
        """The events of `compute`, read from the store if they were computed before."""
        video = fingerprint(self.info.path)
        events = self.store.load_events(video, name)
        if events is None:
            events = compute()
            self.store.save_events(video, name, events, self.info.path)
        return events
