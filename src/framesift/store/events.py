"""The timestamped text of a video: looked for where people keep it, recognised once where there is none."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framesift.errors import FramesiftError, InputError
from framesift.progress import Progress, as_progress
from framesift.store.fingerprint import fingerprint
from framesift.store.store import Store
from framesift.text import ocr as screentext
from framesift.text import speech
from framesift.text.merge import merge_events
from framesift.text.subtitles import find_sidecars, read_report
from framesift.text.tracks import read_track
from framesift.types import Event, VideoInfo
from framesift.video.frames import probe, sample

AUTO, NONE = "auto", "none"


@dataclass(frozen=True)
class EventSource:
    """One place text was taken from: its kind, a name a person understands, how many events, and repairs made."""

    kind: str
    name: str
    events: int
    repairs: dict[str, int]


@dataclass(frozen=True)
class FoundEvents:
    """The events, where they came from, and what a person should know about them."""

    events: tuple[Event, ...]
    sources: tuple[EventSource, ...]
    notes: tuple[str, ...]
    duration_s: float

    @property
    def span(self) -> float:
        """The share of the video from the first event's start to the last one's end."""
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
    """The timestamped text of a video, from the first of these that has any: the file you name, a subtitle file beside
    the video, a text track inside it, speech (recognised once and kept). Text on the screen is added if asked for.
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
    """`find_events`, with where the events came from and what was looked for in vain.

    subtitles: a file, "auto", or "none" (then nothing but what is asked for below). recognise_speech: False, True (if
    nothing else has text) or an engine's name. progress: a `framesift.progress.Progress`, in
    seconds of the video.
    """
    info = probe(video)
    kept = store if isinstance(store, Store) else Store(store)
    search = _Search(info, kept, language, as_progress(progress))
    if os.fspath(subtitles) not in (AUTO, NONE):
        search.read_file(Path(subtitles), named=True)
    elif os.fspath(subtitles) == AUTO:
        _ = search.beside() or search.inside()
    if not search.lists and recognise_speech:
        search.heard("auto" if recognise_speech is True else recognise_speech)
    if screen_text:
        search.seen()
    elif not search.lists:
        search.notes.append("text on the screen was not looked for: ask for it with screen_text (--screen-text)")
    return search.result()


class _Search:
    """The places looked at so far, and what was found there."""

    def __init__(self, info: VideoInfo, store: Store, language: str | None, progress: Progress) -> None:
        self.info, self.store, self.language, self.progress = info, store, language, progress
        self.lists: list[list[Event]] = []
        self.sources: list[EventSource] = []
        self.notes: list[str] = []

    def read_file(self, path: Path, *, named: bool = False) -> bool:
        """A subtitle file. One the user named must be readable; one that was found is passed by if it is not."""
        try:
            events, report = read_report(path, language=self.language)
        except InputError as error:
            if named:
                raise
            self.notes.append(f"passed by: {error}")
            return False
        return self._add(events, EventSource("subtitles", str(path), len(events), dict(report.repairs)))

    def beside(self) -> bool:
        sidecars = find_sidecars(self.info.path, language=self.language)
        if not sidecars:
            self.notes.append("no subtitle file lies beside the video")
        return any(self.read_file(path) for path in sidecars)

    def inside(self) -> bool:
        if not any(track.is_text for track in self.info.subtitle_tracks):
            self.notes.append("the video holds no text track")
            return False
        try:
            events = read_track(self.info.path, language=self.language)
        except InputError as error:
            self.notes.append(f"passed by: {error}")
            return False
        return self._add(events, EventSource("track", "a text track inside the video", len(events), {}))

    def heard(self, engine: str) -> bool:
        ready, why_not = speech.available()
        if not self.info.has_audio or not ready:
            self.notes.append(why_not if self.info.has_audio else "the video has no sound")
            return False
        name = speech.engine_name(engine)
        spoken = self._kept(
            f"speech-{name}-{self.language or 'any'}",
            lambda: speech.recognise(self.info.path, engine=engine, language=self.language, progress=self.progress),
        )
        if not spoken:
            self.notes.append(f"no speech was heard ({name})")
            return False
        return self._add(spoken, EventSource("speech", f"speech recognised by {name}", len(spoken), {}))

    def seen(self) -> bool:
        ready, why_not = screentext.available()
        if not ready:
            raise FramesiftError(why_not)

        def read() -> list[Event]:
            with sample(self.info.path, 1.0) as frames:
                return screentext.read_screen(frames, duration_s=self.info.duration_s, progress=self.progress)

        written = self._kept("screen", read)
        if not written:
            self.notes.append("no text was seen on the screen")
            return False
        return self._add(written, EventSource("screen", "text read off the screen", len(written), {}))

    def result(self) -> FoundEvents:
        events = merge_events(*self.lists) if len(self.lists) > 1 else [e for found in self.lists for e in found]
        past = sum(event.start_s > self.info.duration_s for event in events)
        if past > len(events) / 2:
            self.notes.append(
                f"{past} of {len(events)} events start after the video's end at {self.info.duration_s:.0f} s: "
                "this text can't belong to this video"
            )
        return FoundEvents(tuple(events), tuple(self.sources), tuple(self.notes), self.info.duration_s)

    def _add(self, events: list[Event], source: EventSource) -> bool:
        self.lists.append(events)
        self.sources.append(source)
        return True

    def _kept(self, name: str, make: Callable[[], list[Event]]) -> list[Event]:
        """What `make` gives, read from the library if it was made before."""
        video = fingerprint(self.info.path)
        events = self.store.load_events(video, name)
        if events is None:
            events = make()
            self.store.save_events(video, name, events, self.info.path)
        return events
