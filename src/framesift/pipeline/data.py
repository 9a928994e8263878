"""What is known of an opened video, or of several that are asked about together.

Several videos get one joint timeline: they follow each other in the order given, with GAP_S between them. Candidates,
events and vectors are put together, so that a selector divides one budget among the videos by what is relevant in
each, by the same rules as among the parts of one video.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from framesift._utils.text import readable
from framesift.encoders.base import TextEncoder, encode_long_texts
from framesift.pipeline.config import PipelineConfig
from framesift.selection.chance import ChanceLevels
from framesift.selection.lexical import EventWords
from framesift.text.finding import FoundEvents
from framesift.types import Event, VideoIndex, VideoInfo, VideoSpan
from framesift.types.vectors import Array
from framesift.video.frames import probe
from framesift.video.given_frames import GivenFrames
from framesift.video.timeline import read_timeline

GAP_S = 10.0  # more than sift's temporal kernel reaches: videos are no neighbours in time


Opened = TypeVar("Opened", bound="VideoData")


@dataclass(frozen=True, eq=False, repr=False)
class VideoData:
    """The data of a `Video`, which adds what can be done with it.

    Attributes:
        path: The file; of several the first.
        config: Every setting.
        index: The candidate frames as vectors.
        text: The timestamped text, where it came from, and what is odd about it.
        event_vectors: (E, D) the events' text vectors by the index's encoder; None without events, or where another
            encoder compares them.
        seconds: Of each stage. "index" is what the index took to make, now or when it was built; it is missing where
            several runs made it.
        videos: Where there are several, each of them; the rest is then on their joint timeline.
        frames: Those of a video without a file.
    """

    path: Path
    config: PipelineConfig
    index: VideoIndex
    text: FoundEvents
    event_vectors: Array | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    videos: tuple["VideoData", ...] = ()
    frames: GivenFrames | None = None
    # Shared with the same video under other settings: facts, the events' words, chance levels by encoder of the text,
    # the texts that were encoded last.
    _shared: dict[str, Any] = field(default_factory=dict)

    @property
    def events(self) -> tuple[Event, ...]:
        """The timestamped text."""
        return self.text.events

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was lost, guessed or odd in the video and its text."""
        return (*self.index.warnings, *self.text.warnings)

    @property
    def event_words(self) -> EventWords:
        if "words" not in self._shared:
            self._shared["words"] = EventWords([event.text for event in self.events])
        words: EventWords = self._shared["words"]
        return words

    @property
    def chance_levels(self) -> dict[str, ChanceLevels]:
        """What unrelated questions score, by encoder of the text; filled by the first that is compared with chance."""
        levels: dict[str, ChanceLevels] = self._shared.setdefault("levels", {})
        return levels

    def encoded(self, encoder: TextEncoder, texts: Sequence[str]) -> Array:
        """(K, D) text vectors of questions. Those of the last questions are kept, as a changed setting asks again."""
        known = self._shared.get("encoded", {})
        if new := [text for text in dict.fromkeys(texts) if (encoder.name, text) not in known]:
            rows = {(encoder.name, text): row for text, row in zip(new, encode_long_texts(encoder, new), strict=True)}
            self._shared["encoded"] = known = {key: row for key, row in known.items() if key[1] in texts} | rows
        return np.stack([known[encoder.name, text] for text in texts])

    @property
    def info(self) -> VideoInfo:
        """Facts about the file."""
        if self.videos or self.frames:
            return self.index.info
        if "info" not in self._shared:
            self._shared["info"] = probe(self.path)
        info: VideoInfo = self._shared["info"]
        return info

    def with_every_frame(self: Opened) -> Opened:
        """This video with all its frames as candidates, whose vectors are all alike: for methods that use none."""
        timeline = read_timeline(self.path)
        times_s = np.array([timeline.time_s(int(packet)) for packet in timeline.shown])
        none = np.zeros(0, dtype=bool)
        index = replace(self.index, times_s=times_s, frames=np.ones((len(times_s), 1)), is_blank=none, is_damaged=none)
        vectors = None if self.event_vectors is None else np.ones((len(self.event_vectors), 1))
        return replace(self, index=index, event_vectors=vectors, _shared={})


def join_videos(videos: Sequence[Opened]) -> Opened:
    """Several videos, of one encoder, as one: on their joint timeline."""
    pairs = list(zip(videos, _spans(videos), strict=True))
    spans = tuple(span for _, span in pairs)

    def named(texts_of: Callable[[VideoData], Sequence[str]]) -> tuple[str, ...]:
        return tuple(f"{span.name}: {text}" for video, span in pairs for text in texts_of(video))

    first = videos[0].index
    duration_s = spans[-1].start_s + spans[-1].duration_s
    index = VideoIndex(
        replace(first.info, path=", ".join(span.name for span in spans), duration_s=duration_s),
        np.concatenate([span.start_s + video.index.times_s for video, span in pairs]),
        np.concatenate([video.index.frames for video in videos]),
        first.encoder,
        named(lambda video: video.index.warnings),
        is_blank=np.concatenate([video.index.is_blank for video in videos]),
        is_damaged=np.concatenate([video.index.is_damaged for video in videos]),
        videos=spans,
    )
    events, rows = [], []
    for video, span in pairs:
        kept = [k for k, e in enumerate(video.events) if e.end_s >= 0 and e.start_s <= span.duration_s]
        for event in (video.events[k] for k in kept):
            start_s, end_s = max(event.start_s, 0.0), min(event.end_s, span.duration_s)
            events.append(replace(event, start_s=span.start_s + start_s, end_s=span.start_s + end_s))
        if video.event_vectors is not None:
            rows.append(video.event_vectors[kept])
    sources = tuple(source for video in videos for source in video.text.sources)
    notes, warnings = named(lambda video: video.text.notes), named(lambda video: video.text.warnings)
    stages = [stage for stage in videos[0].seconds if all(stage in video.seconds for video in videos)]
    return replace(
        videos[0],
        index=index,
        text=FoundEvents(tuple(events), sources, notes, duration_s, warnings),
        event_vectors=np.concatenate(rows) if rows else None,
        seconds={stage: sum(video.seconds[stage] for video in videos) for stage in stages},
        videos=tuple(videos),
        _shared={},
    )


def _spans(videos: Sequence[VideoData]) -> list[VideoSpan]:
    """The videos' places, from whole seconds on, so that times differ from those in a video by these alone.

    Of equal file names, the second is "name (2).mp4".
    """
    spans: list[VideoSpan] = []
    start_s = 0.0
    for path, duration_s in ((video.path, video.index.info.duration_s) for video in videos):
        name, number = readable(path.name), 1
        while name in (span.name for span in spans):
            number += 1
            name = readable(f"{path.stem} ({number}){path.suffix}")
        spans.append(VideoSpan(name, start_s, duration_s, str(path)))
        start_s = float(math.ceil(start_s + duration_s + GAP_S))
    return spans
