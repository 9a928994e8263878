"""The input of a selector for one question."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from framesift.errors import InputError
from framesift.types.vectors import (
    Array,
    RowsOfVectors,
    UnitRows,
    validate_query,
    validate_scores,
    validate_times,
)
from framesift.types.video import Event, EventList

NO_VECTORS = "pass frames and query, or use a selector that needs none, such as aks"


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """The input of a selector for one question: arrays, validated and normalised here.

    Attributes:
        times_s: (N,) seconds, ascending in [start_s, duration_s].
        duration_s: The end of the video, or of the window that is considered.
        frames: (N, D) image vectors, or `UnitRows` (`VideoIndex.vectors`), so that questions share what is computed.
        query: (D,) the question's text vector.
        events: The timestamped text; what is outside is dropped, with its vectors and scores.
        event_features: (E, D) the events' text vectors, of any D where event_scores are given.
        visual_demand: d_q, from 0 (text) to 1 (visual).
        scores: (N,) in place of the cosines of frames and query; selectors that use nothing else need no vectors then.
        event_scores: (E,) in place of the cosines of events and query.
        lexical_scores: (E,) the words each event shares with the question, from 0 to about 1.
        start_s: The start of the video, or of the window.
        event_positions: (E,) the places of the events in the list given, or in the list of which that one was a part.
        events_outside: How many were dropped.

    Raises:
        InputError: An array has another shape than expected, or values out of range.

    Example:
        >>> import framesift as fs
        >>> fs.Evidence([0.0, 1.0], 2.0, frames=[[1, 0], [0, 1]], query=[1, 1]).relevance.round(2).tolist()
        [0.71, 0.71]
    """

    times_s: Array
    duration_s: float
    frames: Array | UnitRows | None = None
    query: Array | None = None
    events: Sequence[Event] = ()
    event_features: Array | UnitRows | None = None
    visual_demand: float = 0.5
    scores: Array | None = None
    event_scores: Array | None = None
    lexical_scores: Array | None = None
    start_s: float = 0.0
    event_positions: Sequence[int] = ()
    events_outside: int = 0

    def __post_init__(self) -> None:
        fields = self.__dict__  # a frozen record's own values, as they are after validation
        count, frames = np.size(self.times_s), fields.pop("frames")
        if frames is not None:
            fields["vectors"] = frames if isinstance(frames, UnitRows) else UnitRows(frames)
            count = len(self.vectors)
        if self.scores is None and (frames is None) != (self.query is None):
            raise InputError("evidence needs frames and query, or the score of each frame: pass scores=")
        fields["times_s"] = validate_times(self.times_s, self.duration_s, count)
        fields["duration_s"], fields["start_s"] = float(self.duration_s), float(self.start_s)
        if not 0.0 <= self.start_s <= self.times_s[0]:
            raise InputError(f"start_s is {self.start_s}; expected 0 to the first time, {self.times_s[0]} s")
        if self.query is not None:
            fields["query"] = validate_query(self.query, self.vectors.dim)
        if self.scores is not None:
            fields["scores"] = validate_scores(self.scores, count, "scores")
        if not 0.0 <= self.visual_demand <= 1.0:
            raise InputError(f"visual_demand is {self.visual_demand}; expected a number from 0 (text) to 1 (visual)")
        fields |= self._events_inside()

    @property
    def length_s(self) -> float:
        """Seconds of the video, or of the window that is considered."""
        return self.duration_s - self.start_s

    @property
    def is_scored(self) -> bool:
        """Whether the relevance of every frame is available."""
        return self.scores is not None or (self._has_vectors and self.query is not None)

    @property
    def _has_vectors(self) -> bool:
        return "vectors" in self.__dict__

    @cached_property
    def vectors(self) -> UnitRows:
        """The frames' vectors."""
        raise InputError(f"this evidence has no vectors: {NO_VECTORS}")

    @property
    def query_row(self) -> Array:
        """(1, D) the question's vector, of length 1."""
        if self.query is None:
            raise InputError(f"this evidence has no query: {NO_VECTORS}")
        return self.query[None]

    @cached_property
    def relevance(self) -> Array:
        """(N,) the scores, or the cosine of each frame with the query."""
        if self.scores is not None:
            return self.scores
        if not self.is_scored:
            raise InputError(
                "evidence needs frames and query, or the score of each frame: pass scores=, or use a selector that "
                "scores few frames, as focus"
            )
        return self.vectors.products(self.query_row)[:, 0]

    @property
    def event_relevance(self) -> Array:
        """(E,) the events' scores, or the cosine of each with the query."""
        return np.zeros(0) if self.event_scores is None else self.event_scores

    @cached_property
    def event_lexical(self) -> Array:
        """(E,) the words each event shares with the question; zeros if not given."""
        return np.zeros(len(self.events)) if self.lexical_scores is None else self.lexical_scores

    @cached_property
    def event_vectors(self) -> UnitRows | None:
        """The events' text vectors; None if not given."""
        given = self.event_features
        return given if given is None or isinstance(given, UnitRows) else UnitRows(given, "event_features")

    @property
    def event_times_s(self) -> Array:
        """(E, 2) start and end."""
        return EventList.of(self.events).times_s

    def _events_inside(self) -> dict[str, Any]:
        """The fields of events, clipped to the video or window, without those outside."""
        events, given, scores = EventList.of(self.events), self.event_features, self.event_scores
        count = len(events)
        if given is not None and len(given) != count:
            raise InputError(f"event_features has {len(given)} rows for {count} events; expected one each")
        if scores is not None:
            scores = validate_scores(scores, count, "event_scores")
        elif given is not None and count:
            rows = given if isinstance(given, UnitRows) else UnitRows(given, "event_features", dim=self.vectors.dim)
            scores = rows.products(self.query_row)[:, 0]
        elif count:
            raise InputError(f"{count} events have no event_features; expected one text vector for each")
        lexical = self.lexical_scores
        columns = {
            "event_features": given if given is None or isinstance(given, UnitRows) else np.asarray(given),
            "event_scores": scores,
            "lexical_scores": None if lexical is None else validate_scores(lexical, count, "lexical_scores"),
        }
        times = events.times_s
        kept = np.flatnonzero((times[:, 1] >= self.start_s) & (times[:, 0] <= self.duration_s))
        positions = tuple(self.event_positions or range(count))
        if len(kept) < count:
            events, times = EventList(events[k] for k in kept), times[kept]
            positions = tuple(positions[k] for k in kept)
            columns = {name: None if rows is None else rows[kept] for name, rows in columns.items()}
        clipped = times.clip(self.start_s, self.duration_s)
        if changed := np.flatnonzero((clipped != times).any(axis=1)).tolist():
            shorter = {k: replace(events[k], start_s=float(clipped[k, 0]), end_s=float(clipped[k, 1])) for k in changed}
            events = EventList(shorter.get(k, event) for k, event in enumerate(events))
        outside = self.events_outside + count - len(kept)
        return {**columns, "events": events, "event_positions": positions, "events_outside": outside}

    def __len__(self) -> int:
        return len(self.times_s)

    def __repr__(self) -> str:
        size = f" × {self.vectors.dim}" if self._has_vectors else "" if self.is_scored else " without scores"
        return f"Evidence({len(self)} frames{size}, {len(self.events)} events, {self.duration_s:.1f} s)"


_FRAMES: Any = RowsOfVectors()
Evidence.frames = _FRAMES
