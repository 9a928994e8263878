"""A video that is ready for questions: its index, its text and what went wrong with them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from framesift.store.events import FoundEvents
from framesift.types import Event, VideoIndex, VideoInfo
from framesift.types.vectors import Array
from framesift.video.frames import frame_numbers, probe
from framesift.video.timeline import read_timeline


@dataclass(frozen=True, eq=False)
class PreparedVideo:
    """A video ready for questions.

    event_vectors (E, D): the events' text vectors by the index's encoder; None without events or with an encoder of
    their own. warnings: what was lost, guessed or odd in this video and its text. seconds: by stage; "index" is what
    the index took to make, now or when it was built, and is missing where several runs made it. is_cached: nothing was
    decoded.
    """

    path: Path
    index: VideoIndex
    text: FoundEvents
    event_vectors: Array | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    is_cached: bool = False

    @property
    def events(self) -> tuple[Event, ...]:
        return self.text.events

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.index.warnings, *self.text.warnings)

    @cached_property
    def info(self) -> VideoInfo:
        return probe(self.path)

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
