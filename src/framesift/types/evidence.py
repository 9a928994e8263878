"""All a selector may look at for one question."""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from framesift.errors import InputError
from framesift.types.frame_source import FrameSource, Objects
from framesift.types.vectors import (
    Array,
    UnitRows,
    checked_query,
    checked_scores,
    checked_times,
    row_products,
    unit_rows,
)
from framesift.types.video import Event


@dataclass(frozen=True, eq=False)
class Evidence:
    """All a selector may look at for one question.

    times_s (N,) seconds, ascending in [0, duration_s]; frames (N, D) image vectors; query (D,) the question's
    text vector; events with event_features (E, D), their text vectors; visual_demand d_q in [0, 1]. Vectors
    need not be normalised: they are here.

    From these come relevance (N,), the cosine of each frame with the query, and event_relevance (E,). Bring
    `scores` or `event_scores` to put other numbers in their place. `prepared` and
    `prepared_events` share what was computed from the same vectors for an earlier question (`VideoIndex.vectors`).

    source: the frames themselves, for selectors that look at pictures, and objects, what those look for. Where there
    are no arrays at all, `Evidence.from_source` serves selectors that ask for the scores of few frames.
    """

    times_s: Array
    duration_s: float
    frames: Array
    query: Array
    events: Sequence[Event] = ()
    event_features: Array | None = None
    visual_demand: float = 0.5
    scores: InitVar[ArrayLike | None] = None
    event_scores: InitVar[ArrayLike | None] = None
    prepared: InitVar[UnitRows | None] = None
    prepared_events: InitVar[UnitRows | None] = None
    source: FrameSource | None = None
    objects: Objects | None = None
    vectors: UnitRows = field(init=False)
    relevance: Array = field(init=False)
    event_relevance: Array = field(init=False)
    event_times_s: Array = field(init=False)  # (E, 2) start and end
    event_positions: tuple[int, ...] = field(init=False)  # where each event kept stood in the list that was given
    events_outside: int = field(init=False)  # events dropped because they lie wholly outside the video

    def __post_init__(
        self,
        scores: ArrayLike | None,
        event_scores: ArrayLike | None,
        prepared: UnitRows | None,
        prepared_events: UnitRows | None,
    ) -> None:
        set_field = partial(object.__setattr__, self)
        vectors = prepared if prepared is not None and prepared.rows is self.frames else UnitRows(self.frames)
        set_field("vectors", vectors)
        set_field("frames", vectors.rows)
        set_field("times_s", checked_times(self.times_s, self.duration_s, len(vectors)))
        set_field("duration_s", float(self.duration_s))
        set_field("query", checked_query(self.query, vectors.dim))
        self._check_demand()
        if scores is None:
            set_field("relevance", vectors.products(self.query[None])[:, 0])
        else:
            set_field("relevance", checked_scores(scores, len(vectors), "scores"))
        self._keep_events_inside(event_scores, prepared_events)

    @classmethod
    def from_source(
        cls,
        source: FrameSource,
        times_s: ArrayLike,
        duration_s: float,
        *,
        events: Sequence[Event] = (),
        event_scores: ArrayLike | None = None,
        visual_demand: float = 0.5,
        objects: Objects | None = None,
    ) -> "Evidence":
        """Evidence without vectors: nothing is scored until a selector asks for it."""
        evidence = object.__new__(cls)
        times = checked_times(times_s, duration_s, np.size(times_s))
        known = {"source": source, "times_s": times, "duration_s": float(duration_s), "events": events}
        known |= {"event_features": None, "visual_demand": visual_demand, "objects": objects}
        evidence.__dict__.update(known)
        evidence._check_demand()
        evidence._keep_events_inside(event_scores, None)
        return evidence

    @property
    def is_scored(self) -> bool:
        """Whether the relevance of every frame is at hand."""
        return "relevance" in self.__dict__

    if not TYPE_CHECKING:  # a type checker would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            if name in ("frames", "query", "vectors", "relevance"):
                raise InputError(
                    f"this evidence has a source and no {name}: choose a selector that looks at few frames, such as "
                    "focus, or bring the arrays"
                )
            raise AttributeError(f"Evidence has no attribute {name!r}")

    def _check_demand(self) -> None:
        if not 0.0 <= self.visual_demand <= 1.0:
            raise InputError(f"visual_demand is {self.visual_demand}; expected a number from 0 (words) to 1 (pictures)")

    def _keep_events_inside(self, own_scores: ArrayLike | None, prepared: UnitRows | None) -> None:
        """Clip events to the video, drop those wholly outside, and keep their vectors and scores in step."""
        events, features = tuple(self.events), self.event_features
        count = len(events)
        if prepared is not None and features is None:
            features = prepared.rows
        if count and features is None and own_scores is None:
            raise InputError(f"{count} events came without event_features; expected one text vector for each")
        if features is not None and len(features) != count:
            raise InputError(f"event_features has {len(features)} rows for {count} events; expected one each")
        if features is not None and (prepared is None or features is not prepared.rows):
            features = unit_rows(features, "event_features", dim=self.vectors.dim) if count else None
        if own_scores is not None:
            scores = checked_scores(own_scores, count, "event_scores")
        else:
            scores = np.zeros(0) if features is None else row_products(features, self.query[None])[:, 0]
        times = np.array([(event.start_s, event.end_s) for event in events]).reshape(count, 2)
        inside = np.flatnonzero((times[:, 1] >= 0.0) & (times[:, 0] <= self.duration_s))
        if len(inside) < count:
            events = tuple(events[k] for k in inside)
            times, scores = times[inside], scores[inside]
            features = None if features is None else features[inside]
        clipped = times.clip(0.0, self.duration_s)
        if (clipped != times).any():
            events = tuple(
                replace(e, start_s=float(a), end_s=float(b)) for e, (a, b) in zip(events, clipped, strict=True)
            )
        set_field = partial(object.__setattr__, self)
        set_field("events", events)
        set_field("event_times_s", clipped)
        set_field("event_features", features)
        set_field("event_relevance", scores)
        set_field("event_positions", tuple(inside.tolist()))
        set_field("events_outside", count - len(inside))

    def __len__(self) -> int:
        return len(self.times_s)

    def __repr__(self) -> str:
        size = f" × {self.vectors.dim}" if self.is_scored else " behind a source"
        return f"Evidence({len(self)} frames{size}, {len(self.events)} events, {self.duration_s:.1f} s)"
