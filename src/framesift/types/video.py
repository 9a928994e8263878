"""Records of a video: its metadata, its timestamped text, and its candidate frames as vectors."""

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from framesift._utils.files import StrPath, write_bytes
from framesift._utils.json import load_json
from framesift._utils.records import read_record, read_value, shown
from framesift._utils.text import clock, duration_text
from framesift.errors import InputError
from framesift.types.vectors import Array, RowsOfVectors, UnitRows, validate_times

INDEX_SCHEMA = "framesift.index/1"


@dataclass(frozen=True)
class SubtitleTrack:
    """A subtitle stream inside a video file."""

    index: int
    codec: str
    language: str = ""
    title: str = ""
    is_text: bool = True  # False: bitmap subtitles, which need OCR


@dataclass(frozen=True)
class VideoInfo:
    """Metadata of a video file; sizes as displayed, times as a player shows them.

    Attributes:
        path: The file.
        duration_s: Its length.
        width: In pixels.
        height: In pixels.
        fps: Frames per second.
        codec: As FFmpeg names it.
        start_s: The container's start time, which counts as 0 here.
        has_audio: Whether it has a sound track.
        subtitle_tracks: Inside the file.

    Example:
        >>> import framesift as fs
        >>> fs.VideoInfo("film.mp4", duration_s=600.0).duration_s
        600.0
    """

    path: str
    duration_s: float
    width: int = 0
    height: int = 0
    fps: float = 0.0
    codec: str = ""
    start_s: float = 0.0  # the container's start time, which counts as 0 here
    has_audio: bool = False
    subtitle_tracks: tuple[SubtitleTrack, ...] = ()


@dataclass(frozen=True)
class VideoSpan:
    """One of several videos that are asked about together: its place on their joint timeline.

    name: unique among them. The videos follow each other in the order given, with a short gap between them. path: of
    the file, where it is known.
    """

    name: str
    start_s: float
    duration_s: float
    path: str = ""


def locate(videos: Sequence[VideoSpan], time_s: float) -> tuple[str, float]:
    """The name of the video at a time of the joint timeline, and the time in that video; "" where there is only one."""
    for video in reversed(videos):
        if time_s >= video.start_s:
            return video.name, round(time_s - video.start_s, 6)
    return "", time_s


def time_label(videos: Sequence[VideoSpan], time_s: float, text: Callable[[float], str] = clock) -> str:
    """A time as people read it: 0:01:02.000, after the name of its video where there are several."""
    name, own_s = locate(videos, time_s)
    return f"{name} {text(own_s)}".strip()


@dataclass(frozen=True)
class Event:
    """A time interval and its text.

    Attributes:
        start_s: Its start in seconds.
        end_s: Its end.
        text: What is said or shown.
        source: Where it came from.

    Raises:
        InputError: A time is no number, or the end is before the start.

    Example:
        >>> import framesift as fs
        >>> fs.Event(12.0, 14.5, "The wind was too strong.").source
        'subtitles'
    """

    start_s: float
    end_s: float
    text: str
    source: str = "subtitles"

    def __post_init__(self) -> None:
        read_value(str, self.text, "the text of an event")
        try:
            is_finite = math.isfinite(self.start_s) and math.isfinite(self.end_s)
        except (TypeError, ValueError, OverflowError):
            is_finite = False
        if not is_finite:
            times = f"{shown(self.start_s)} to {shown(self.end_s)}"
            raise InputError(f"event {shown(self.text)} has times {times}; expected seconds")
        if self.end_s < self.start_s:
            raise InputError(f"event {shown(self.text)} ends at {self.end_s} s, before its start at {self.start_s} s")


def check_events(events: object) -> None:
    """Reject what is not a list of events; `Event` itself checks each one's times and text."""
    if not isinstance(events, Sequence) or isinstance(events, str):
        raise InputError(f"events is {shown(events)}; expected a list of framesift.Event")
    for position, event in enumerate(events):
        if not isinstance(event, Event):
            raise InputError(f"events[{position}] is {shown(event)}; expected framesift.Event(start_s, end_s, text)")


class EventList(tuple[Event, ...]):
    """Checked events with their times. Pass the same EventList to several Evidence records to check them once."""

    @classmethod
    def of(cls, events: Sequence[Event]) -> "EventList":
        if isinstance(events, cls):
            return events
        check_events(events)
        return cls(events)

    @cached_property
    def times_s(self) -> Array:
        """(E, 2) start and end."""
        return np.array([(event.start_s, event.end_s) for event in self], dtype=np.float64).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class VideoIndex:
    """The candidate frames of one video, encoded once for any number of questions.

    Attributes:
        info: Facts about the file.
        times_s: (N,) float64, ascending.
        frames: (N, D) unit rows.
        encoder: The name of the encoder that made them.
        warnings: What was uncertain or damaged in the video.
        build_seconds: Time spent building the index; None where several runs built it.
        is_blank: (N,) bool: frames that show nothing (black, white, a fade).
        is_damaged: (N,) bool: frames decoded with errors that are candidates because no other covers their minute.
        videos: Those of a joint index, in order.
        vectors: The same rows, with what is derived from them and shared by all questions.

    Raises:
        InputError: An array has another shape than expected.

    Example:
        >>> import framesift as fs
        >>> index = fs.VideoIndex(fs.VideoInfo("film.mp4", 2.0), [0.0, 1.0], [[1, 0], [0, 1]], "mine")
        >>> len(index)
        2
    """

    info: VideoInfo
    times_s: Array
    frames: Array
    encoder: str
    warnings: tuple[str, ...] = ()
    build_seconds: float | None = None
    is_blank: Array = field(default_factory=lambda: np.zeros(0, dtype=bool))
    is_damaged: Array = field(default_factory=lambda: np.zeros(0, dtype=bool))
    videos: tuple[VideoSpan, ...] = ()
    vectors: UnitRows = field(init=False)

    def __post_init__(self) -> None:
        vectors = UnitRows(self.__dict__.pop("frames"))
        object.__setattr__(self, "vectors", vectors)
        object.__setattr__(self, "times_s", validate_times(self.times_s, self.info.duration_s, len(vectors)))
        for name in ("is_blank", "is_damaged"):
            object.__setattr__(self, name, _frame_flags(getattr(self, name), name, len(vectors)))

    @cached_property
    def shown_vectors(self) -> UnitRows:
        """The rows of the frames that show something, with what is derived from them and shared by all questions."""
        return self.vectors[np.flatnonzero(~self.is_blank)]

    def save(self, path: StrPath) -> Path:
        """Write the index to one file, in the format safetensors.

        Args:
            path: Of the file, which is replaced.

        Returns:
            The path.

        Example:
            ```python
            fs.index("film.mp4").save("film.safetensors")
            index = fs.VideoIndex.load("film.safetensors")
            ```
        """
        from safetensors.numpy import save

        facts = _IndexFacts(INDEX_SCHEMA, self.info, self.encoder, self.warnings, self.videos)
        arrays = {name: np.ascontiguousarray(getattr(self, name)) for name in _ARRAYS}
        return write_bytes(path, save(arrays, {"framesift": json.dumps(asdict(facts))}))

    @classmethod
    def load(cls, path: StrPath) -> "VideoIndex":
        """Read what `save` wrote.

        Args:
            path: Of the file.

        Returns:
            The index.

        Raises:
            InputError: The file can't be read, or contains something else.
        """
        from safetensors import SafetensorError, safe_open

        name = os.fspath(path)
        try:
            with safe_open(name, "np") as file:
                arrays = {key: file.get_tensor(key) for key in _ARRAYS}
                text = (file.metadata() or {}).get("framesift", "")
        except (SafetensorError, OSError) as error:
            raise InputError(f"{name} can't be read ({error}); expected what VideoIndex.save writes") from None
        facts = read_record(_IndexFacts, load_json(text, name, "an index"), name)
        if facts.schema != INDEX_SCHEMA:
            raise InputError(f"{name} has the schema {facts.schema!r}; expected {INDEX_SCHEMA!r}")
        return cls(info=facts.info, encoder=facts.encoder, warnings=facts.warnings, videos=facts.videos, **arrays)

    def __len__(self) -> int:
        return len(self.times_s)

    def __repr__(self) -> str:
        size = f"{len(self)}×{self.vectors.dim}"
        return f"VideoIndex({self.info.path!r}, {duration_text(self.info.duration_s)}, frames {size}, {self.encoder!r})"


_FRAMES: Any = RowsOfVectors()
VideoIndex.frames = _FRAMES
_ARRAYS = ("times_s", "frames", "is_blank", "is_damaged")


@dataclass(frozen=True)
class _IndexFacts:
    """What a file of an index contains beside arrays."""

    schema: str
    info: VideoInfo
    encoder: str
    warnings: tuple[str, ...]
    videos: tuple[VideoSpan, ...]


def _frame_flags(values: Array, name: str, count: int) -> Array:
    """(N,) bool, read-only; an empty array stands for no frame."""
    flags = np.array(values, dtype=bool)
    if flags.size == 0:
        flags = np.zeros(count, dtype=bool)
    if flags.shape != (count,):
        raise InputError(f"{name} has shape {flags.shape} for {count} frames; expected ({count},)")
    flags.flags.writeable = False
    return flags
