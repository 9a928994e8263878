"""A video that is ready for questions, or several that are asked about together.

Several videos get one joint timeline: they follow each other in the order given, with GAP_S between them. Candidates,
events and vectors are put together, so that a selector divides one budget among the videos by what is relevant in
each, by the same rules as among the parts of one video.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from framesift._utils.text import readable
from framesift.selection.chance import ChanceLevels
from framesift.selection.lexical import EventWords
from framesift.text.finding import FoundEvents
from framesift.types import Event, VideoIndex, VideoInfo, VideoSpan
from framesift.types.vectors import Array
from framesift.video.frames import frame_numbers, probe
from framesift.video.timeline import read_timeline

GAP_S = 10.0  # more than sift's temporal kernel reaches: videos are no neighbours in time


@dataclass(frozen=True, eq=False)
class PreparedVideo:
    """A video ready for questions.

    event_vectors (E, D): the events' text vectors by the index's encoder; None without events or with an encoder of
    their own. warnings: what was lost, guessed or odd in this video and its text. seconds: by stage; "index" is what
    the index took to make, now or when it was built, and is missing where several runs made it. videos: where there are
    several, each of them; the rest is then on their joint timeline.
    """

    path: Path
    index: VideoIndex
    text: FoundEvents
    event_vectors: Array | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    videos: tuple["PreparedVideo", ...] = ()
    # By encoder of the text; filled by the first question that is compared with chance.
    chance_levels: dict[str, ChanceLevels] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def events(self) -> tuple[Event, ...]:
        return self.text.events

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.index.warnings, *self.text.warnings)

    @cached_property
    def event_words(self) -> EventWords:
        return EventWords([event.text for event in self.events])

    @cached_property
    def info(self) -> VideoInfo:
        return self.index.info if self.videos else probe(self.path)

    @cached_property
    def frame_numbers(self) -> dict[float, int]:
        """The number in the video, from 0, of the candidate at each time."""
        times_s = self.index.times_s.tolist()
        return dict(zip(times_s, frame_numbers(self.path, times_s), strict=True))

    @cached_property
    def with_every_frame(self) -> "PreparedVideo":
        """This video with all its frames as candidates, whose vectors are all alike: for methods that use none."""
        timeline = read_timeline(self.path)
        times_s = np.array([timeline.time_s(int(packet)) for packet in timeline.shown])
        none = np.zeros(0, dtype=bool)
        index = replace(self.index, times_s=times_s, frames=np.ones((len(times_s), 1)), is_blank=none, is_damaged=none)
        vectors = None if self.event_vectors is None else np.ones((len(self.event_vectors), 1))
        return replace(self, index=index, event_vectors=vectors)


def join_videos(videos: Sequence[PreparedVideo]) -> PreparedVideo:
    """Several videos, of one encoder, as one: on their joint timeline."""
    spans = _spans(videos)
    events, rows = [], []
    for video, span in zip(videos, spans, strict=True):
        kept = [k for k, e in enumerate(video.events) if e.end_s >= 0 and e.start_s <= span.duration_s]
        events += [_moved(video.events[k], span) for k in kept]
        if video.event_vectors is not None:
            rows.append(video.event_vectors[kept])
    index = _joint_index(videos, spans)
    named = list(zip(videos, spans, strict=True))
    text = FoundEvents(
        tuple(events),
        tuple(source for video in videos for source in video.text.sources),
        tuple(f"{span.name}: {note}" for video, span in named for note in video.text.notes),
        index.info.duration_s,
        tuple(f"{span.name}: {warning}" for video, span in named for warning in video.text.warnings),
    )
    stages = [stage for stage in videos[0].seconds if all(stage in video.seconds for video in videos)]
    return PreparedVideo(
        videos[0].path,
        index,
        text,
        np.concatenate(rows) if rows else None,
        {stage: sum(video.seconds[stage] for video in videos) for stage in stages},
        tuple(videos),
    )


def _spans(videos: Sequence[PreparedVideo]) -> tuple[VideoSpan, ...]:
    """The videos' places, from whole seconds on, so that times differ from those in a video by these alone."""
    spans: list[VideoSpan] = []
    start_s = 0.0
    for name, video in zip(_unique_names([video.path for video in videos]), videos, strict=True):
        duration_s = video.index.info.duration_s
        spans.append(VideoSpan(name, start_s, duration_s, str(video.path)))
        start_s = float(math.ceil(start_s + duration_s + GAP_S))
    return tuple(spans)


def _unique_names(paths: Sequence[Path]) -> list[str]:
    """The files' names; of equal ones, the second is "name (2).mp4"."""
    names: list[str] = []
    for path in paths:
        name, number = readable(path.name), 1
        while name in names:
            number += 1
            name = readable(f"{path.stem} ({number}){path.suffix}")
        names.append(name)
    return names


def _moved(event: Event, span: VideoSpan) -> Event:
    start_s, end_s = max(event.start_s, 0.0), min(event.end_s, span.duration_s)
    return replace(event, start_s=span.start_s + start_s, end_s=span.start_s + end_s)


def _joint_index(videos: Sequence[PreparedVideo], spans: tuple[VideoSpan, ...]) -> VideoIndex:
    indexes = [video.index for video in videos]
    seconds = [index.build_seconds for index in indexes if index.build_seconds is not None]
    pairs = list(zip(indexes, spans, strict=True))
    duration_s = spans[-1].start_s + spans[-1].duration_s
    return VideoIndex(
        replace(indexes[0].info, path=", ".join(span.name for span in spans), duration_s=duration_s),
        np.concatenate([span.start_s + index.times_s for index, span in pairs]),
        np.concatenate([index.frames for index in indexes]),
        indexes[0].encoder,
        tuple(f"{span.name}: {warning}" for index, span in pairs for warning in index.warnings),
        sum(seconds) if len(seconds) == len(indexes) else None,
        np.concatenate([index.is_blank for index in indexes]),
        np.concatenate([index.is_damaged for index in indexes]),
        spans,
    )
