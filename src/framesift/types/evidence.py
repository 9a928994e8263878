"""The input of a selector for one question."""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from framesift.errors import InputError
from framesift.types.frame_source import FrameSource, Objects
from framesift.types.vectors import (
    Array,
    UnitRows,
    validate_query,
    validate_scores,
    validate_times,
)
from framesift.types.video import Event, check_events


def _not_given() -> Any:
    """The default of an array; as a factory it leaves no attribute of the class."""
    return None


@dataclass(frozen=True, eq=False)
class Evidence:
    """The input of a selector for one question.

    times_s (N,) seconds, ascending in [start_s, duration_s]; frames (N, D) image vectors; query (D,) the question's
    text vector; events with event_features (E, D), their text vectors; visual_demand d_q in [0, 1]. Vectors are
    normalised here. start_s and duration_s: the video's start and end, or those of the window that is considered; then
    positions are those of the events in the list of all.

    Derived from these: relevance (N,), the cosine of each frame with the query, and event_relevance (E,). `scores` and
    `event_scores` replace them by other numbers; selectors that use nothing else need no vectors then. lexical_scores
    (E,): the words each event shares with the question, from 0 to about 1; kept as event_lexical, zeros when not given.
    `prepared` and `prepared_events` reuse what was computed from the same vectors for an earlier question
    (`VideoIndex.vectors`).

    source: access to decoded frames, and objects, the objects to detect in them, for selectors that need these. Without
    any arrays, `Evidence.from_source` serves selectors that request the scores of few frames.
    """

    times_s: Array
    duration_s: float
    frames: Array = field(default_factory=_not_given)
    query: Array = field(default_factory=_not_given)
    events: Sequence[Event] = ()
    event_features: Array | None = None
    visual_demand: float = 0.5
    scores: InitVar[ArrayLike | None] = None
    event_scores: InitVar[ArrayLike | None] = None
    prepared: InitVar[UnitRows | None] = None
    prepared_events: InitVar[UnitRows | None] = None
    source: FrameSource | None = None
    objects: Objects | None = None
    lexical_scores: InitVar[ArrayLike | None] = None
    start_s: float = 0.0
    positions: InitVar[Sequence[int] | None] = None
    vectors: UnitRows = field(init=False)
    relevance: Array = field(init=False)
    event_relevance: Array = field(init=False)
    event_lexical: Array = field(init=False)
    event_times_s: Array = field(init=False)  # (E, 2) start and end
    event_positions: tuple[int, ...] = field(init=False)  # of each remaining event, in the list given or `positions`
    events_outside: int = field(init=False)  # number of events dropped because they lie outside the video

    def __post_init__(
        self,
        scores: ArrayLike | None,
        event_scores: ArrayLike | None,
        prepared: UnitRows | None,
        prepared_events: UnitRows | None,
        lexical_scores: ArrayLike | None,
        positions: Sequence[int] | None,
    ) -> None:
        set_field = partial(object.__setattr__, self)
        if scores is None and (self.frames is None or self.query is None):
            raise InputError("evidence needs frames and query, or the score of each frame: pass scores=")
        if self.frames is None:
            object.__delattr__(self, "frames")
            count = np.size(self.times_s)
        else:
            vectors = prepared if prepared is not None and prepared.rows is self.frames else UnitRows(self.frames)
            set_field("vectors", vectors)
            set_field("frames", vectors.rows)
            count = len(vectors)
        set_field("times_s", validate_times(self.times_s, self.duration_s, count))
        set_field("duration_s", float(self.duration_s))
        set_field("start_s", float(self.start_s))
        if not 0.0 <= self.start_s <= self.times_s[0]:
            raise InputError(f"start_s is {self.start_s}; expected 0 to the first time, {self.times_s[0]} s")
        if self.query is None:
            object.__delattr__(self, "query")
        else:
            set_field("query", validate_query(self.query, self.vectors.dim))
        self._check_demand()
        if scores is None:
            set_field("relevance", self.vectors.products(self.query[None])[:, 0])
        else:
            set_field("relevance", validate_scores(scores, count, "scores"))
        self._clip_events(event_scores, lexical_scores, prepared_events)
        if positions is not None:
            set_field("event_positions", tuple(positions[k] for k in self.event_positions))

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
        """Evidence without arrays: a frame is scored when a selector requests it."""
        evidence = object.__new__(cls)
        times = validate_times(times_s, duration_s, np.size(times_s))
        fields = {"source": source, "times_s": times, "duration_s": float(duration_s), "events": events}
        fields |= {"event_features": None, "visual_demand": visual_demand, "objects": objects, "start_s": 0.0}
        evidence.__dict__.update(fields)
        evidence._check_demand()
        evidence._clip_events(event_scores, None, None)
        return evidence

    def take(self, indices: Array, *, vectors: UnitRows, source: FrameSource | None) -> "Evidence":
        """The evidence with the candidates at these ascending indices only; vectors and source are theirs."""
        evidence = object.__new__(type(self))
        fields = {"times_s": self.times_s[indices], "relevance": self.relevance[indices]}
        evidence.__dict__.update(
            self.__dict__ | fields | {"vectors": vectors, "frames": vectors.rows, "source": source}
        )
        return evidence

    @property
    def length_s(self) -> float:
        """Seconds of the video, or of the window that is considered."""
        return self.duration_s - self.start_s

    @property
    def is_scored(self) -> bool:
        """Whether the relevance of every frame is available."""
        return "relevance" in self.__dict__

    if not TYPE_CHECKING:  # type checkers would accept any attribute name

        def __getattr__(self, name: str) -> Any:
            if name in ("frames", "query", "vectors") and self.is_scored:
                raise InputError(
                    f"this evidence has scores and no {name}: use a selector that needs no vectors, such as aks, or "
                    "pass frames and query"
                )
            if name in ("frames", "query", "vectors", "relevance"):
                raise InputError(
                    f"this evidence has a source and no {name}: use a selector that scores few frames, such as focus, "
                    "or pass the arrays"
                )
            raise AttributeError(f"Evidence has no attribute {name!r}")

    def _check_demand(self) -> None:
        if not 0.0 <= self.visual_demand <= 1.0:
            raise InputError(f"visual_demand is {self.visual_demand}; expected a number from 0 (text) to 1 (visual)")

    def _clip_events(
        self, given_scores: ArrayLike | None, given_lexical: ArrayLike | None, prepared: UnitRows | None
    ) -> None:
        """Clip events to the video or window and drop those outside, with their vectors and scores."""
        check_events(self.events)
        events, features = tuple(self.events), self.event_features
        count = len(events)
        if features is None:
            features = None if prepared is None else prepared.rows
        if count and features is None and given_scores is None:
            raise InputError(f"{count} events have no event_features; expected one text vector for each")
        if features is not None and len(features) != count:
            raise InputError(f"event_features has {len(features)} rows for {count} events; expected one each")
        if features is not None and (prepared is None or features is not prepared.rows):
            prepared = UnitRows(features, "event_features", dim=self.vectors.dim) if count else None
            features = None if prepared is None else prepared.rows
        if given_scores is not None:
            scores = validate_scores(given_scores, count, "event_scores")
        else:
            scores = np.zeros(0) if prepared is None else prepared.products(self.query[None])[:, 0]
        lexical = np.zeros(count)
        if given_lexical is not None:
            lexical = validate_scores(given_lexical, count, "lexical_scores")
        times = np.empty((count, 2))
        times[:, 0] = np.fromiter(map(attrgetter("start_s"), events), dtype=np.float64, count=count)
        times[:, 1] = np.fromiter(map(attrgetter("end_s"), events), dtype=np.float64, count=count)
        inside = np.flatnonzero((times[:, 1] >= self.start_s) & (times[:, 0] <= self.duration_s))
        if len(inside) < count:
            events = tuple(events[k] for k in inside)
            times, scores, lexical = times[inside], scores[inside], lexical[inside]
            features = None if features is None else features[inside]
        clipped = times.clip(self.start_s, self.duration_s)
        if changed := np.flatnonzero((clipped != times).any(axis=1)).tolist():
            shorter = {k: replace(events[k], start_s=float(clipped[k, 0]), end_s=float(clipped[k, 1])) for k in changed}
            events = tuple(shorter.get(k, event) for k, event in enumerate(events))
        set_field = partial(object.__setattr__, self)
        set_field("events", events)
        set_field("event_times_s", clipped)
        set_field("event_features", features)
        set_field("event_relevance", scores)
        set_field("event_lexical", lexical)
        set_field("event_positions", tuple(inside.tolist()))
        set_field("events_outside", count - len(inside))

    def __len__(self) -> int:
        return len(self.times_s)

    def __repr__(self) -> str:
        size = f" × {self.vectors.dim}" if "vectors" in self.__dict__ else "" if self.is_scored else " from a source"
        return f"Evidence({len(self)} frames{size}, {len(self.events)} events, {self.duration_s:.1f} s)"
