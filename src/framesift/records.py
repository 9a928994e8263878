"""The records that flow through the rooms, each checked where it is made and never changed after."""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from framesift.errors import InputError
from framesift.sources import FrameSource, Objects
from framesift.vectors import Array, UnitRows, ascending_times, finite_scores, row_products, unit_query, unit_rows

Role = Literal["ground", "visual", "context", "refined"]
ROLES: tuple[Role, ...] = get_args(Role)
SELECTION_SCHEMA = "framesift.selection/1"

_LETTER = re.compile(r"^\s*[(\[]?([A-Za-z])[)\].:、]\s*")
_NOT_AN_OPTION = {"", "n/a", "na", "none given"}


@dataclass(frozen=True)
class SubtitleTrack:
    """A subtitle stream inside a video file."""

    index: int
    codec: str
    language: str = ""
    title: str = ""
    is_text: bool = True  # False: pictures of text, which can't be read without recognition


@dataclass(frozen=True)
class VideoInfo:
    """What a file says of its video: as shown on screen, on the clock a player shows."""

    path: str
    duration_s: float
    width: int = 0
    height: int = 0
    fps: float = 0.0
    codec: str = ""
    start_s: float = 0.0  # the container's own start time, which is our zero
    has_audio: bool = False
    subtitle_tracks: tuple[SubtitleTrack, ...] = ()


@dataclass(frozen=True)
class Event:
    """A stretch of time and the words that belong to it."""

    start_s: float
    end_s: float
    text: str
    source: str = "subtitles"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.start_s) and math.isfinite(self.end_s)):
            raise InputError(f"event {self.text[:40]!r} runs from {self.start_s} to {self.end_s}; expected seconds")
        if self.end_s < self.start_s:
            raise InputError(f"event {self.text[:40]!r} ends at {self.end_s} s, before its start at {self.start_s} s")


@dataclass(frozen=True)
class Question:
    """A question's stem and, where there are any, its answer options."""

    text: str
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.options, str):
            raise InputError(f"options is the text {self.options[:40]!r}; expected a list of options")
        object.__setattr__(self, "options", tuple(self.options))
        if not self.text.strip():
            raise InputError("the question is empty; say what you want to know")

    @property
    def valid_options(self) -> tuple[str, ...]:
        """The options without their letters; empty ones and "N/A" left out.

        Letters go only when every option has the one of its own place, so "U.S. Navy" keeps its U.
        """
        kept = [(k, o.strip()) for k, o in enumerate(self.options) if o.strip().lower() not in _NOT_AN_OPTION]
        marks = [(k, _LETTER.match(text)) for k, text in kept]
        if kept and all(mark and ord(mark.group(1).upper()) == ord("A") + k for k, mark in marks):
            bare = [_LETTER.sub("", text) for _, text in kept]
            return tuple(text for text in bare if text.lower() not in _NOT_AN_OPTION)
        return tuple(text for _, text in kept)

    @property
    def query_text(self) -> str:
        """What the text encoder reads: the stem, then all valid options."""
        return " ".join((self.text.strip(), *self.valid_options))


class VisualDemand(float):
    """d_q in [0, 1], with the words of the question that decided it. A float wherever a float is wanted."""

    kind: str
    cues: tuple[str, ...]

    def __new__(cls, value: float, kind: str = "given", cues: Sequence[str] = ()) -> "VisualDemand":
        demand = super().__new__(cls, value)
        demand.kind = kind
        demand.cues = tuple(cues)
        return demand

    def __reduce__(self) -> tuple[type["VisualDemand"], tuple[float, str, tuple[str, ...]]]:
        return type(self), (float(self), self.kind, self.cues)


@dataclass(frozen=True, eq=False)
class VideoIndex:
    """One video's candidates: decoded and encoded once, asked many questions.

    times_s (N,) float64 ascending; frames (N, D) unit rows; encoder: the name of what made them.
    `vectors` holds the same rows with what is computed from them once and shared by every question.
    """

    info: VideoInfo
    times_s: Array
    frames: Array
    encoder: str
    vectors: UnitRows = field(init=False)

    def __post_init__(self) -> None:
        vectors = UnitRows(self.frames)
        object.__setattr__(self, "vectors", vectors)
        object.__setattr__(self, "frames", vectors.rows)
        object.__setattr__(self, "times_s", ascending_times(self.times_s, self.info.duration_s, len(vectors)))

    def __len__(self) -> int:
        return len(self.times_s)

    def __repr__(self) -> str:
        size = "×".join(map(str, self.frames.shape))
        return f"VideoIndex({self.info.path!r}, {self.info.duration_s:.0f} s, frames {size}, {self.encoder!r})"


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
        set_field("times_s", ascending_times(self.times_s, self.duration_s, len(vectors)))
        set_field("duration_s", float(self.duration_s))
        set_field("query", unit_query(self.query, vectors.dim))
        self._check_demand()
        if scores is None:
            set_field("relevance", vectors.products(self.query[None])[:, 0])
        else:
            set_field("relevance", finite_scores(scores, len(vectors), "scores"))
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
        times = ascending_times(times_s, duration_s, np.size(times_s))
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
            scores = finite_scores(own_scores, count, "event_scores")
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


@dataclass(frozen=True)
class Slot:
    """One selected frame: its place among the candidates, why it is there, and the words that go on it."""

    index: int
    time_s: float
    role: Role
    relevance: float
    event: Event | None = None

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise InputError(f"role is {self.role!r}; expected one of {', '.join(ROLES)}")


@dataclass(frozen=True)
class Selection:
    """The chosen frames in chronological order, and in `trace` (JSON values only) what was decided and why."""

    slots: tuple[Slot, ...]
    method: str
    budget: int
    trace: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "slots", tuple(sorted(self.slots, key=lambda slot: slot.index)))

    @property
    def indices(self) -> list[int]:
        """Positions among the candidates, ascending."""
        return [slot.index for slot in self.slots]

    @property
    def times_s(self) -> list[float]:
        """Presentation times in seconds, ascending."""
        return [slot.time_s for slot in self.slots]

    def __len__(self) -> int:
        return len(self.slots)

    def __repr__(self) -> str:
        counts = Counter(slot.role for slot in self.slots)
        roles = ", ".join(f"{counts[role]} {role}" for role in ROLES if counts[role])
        return f"Selection({self.method}: {len(self)} frames for a budget of {self.budget}; {roles})"

    def __str__(self) -> str:
        lines = [repr(self)]
        for slot in self.slots:
            words = " ".join(slot.event.text.split()) if slot.event else ""
            words = words if len(words) <= 60 else words[:59] + "…"
            lines.append(f"{clock(slot.time_s):>12}  {slot.role:<8} {slot.relevance:>7.3f}  {words}".rstrip())
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """JSON values only; `from_dict` gives the same Selection back."""
        return {
            "schema": SELECTION_SCHEMA,
            "method": self.method,
            "budget": self.budget,
            "slots": [asdict(slot) for slot in self.slots],
            "trace": dict(self.trace),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Selection":
        """Read what `to_dict` wrote; anything else is an InputError."""
        schema = data.get("schema") if isinstance(data, Mapping) else None
        if schema != SELECTION_SCHEMA:
            raise InputError(f"this is no selection of ours: schema is {schema!r}, expected {SELECTION_SCHEMA!r}")
        try:
            slots = [dict(slot) for slot in data["slots"]]
            for slot in slots:
                slot["event"] = None if slot.get("event") is None else Event(**slot["event"])
            return cls(tuple(Slot(**slot) for slot in slots), data["method"], data["budget"], dict(data["trace"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"this selection is damaged ({error}); expected what Selection.to_json writes") from None

    def to_json(self, *, indent: int | None = None) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=indent)

    @classmethod
    def from_json(cls, text: str) -> "Selection":
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            raise InputError(f"this is not JSON ({error}); expected what Selection.to_json writes") from None
        return cls.from_dict(data)


@dataclass(frozen=True)
class Answer:
    """What a reader made of the evidence.

    With options: `choice` (the option's position) when the reply names exactly one, else None and `parsed` False.
    """

    text: str
    choice: int | None = None
    raw: str = ""
    parsed: bool = True
    times_s: tuple[float, ...] = ()  # of the frames that were shown
    tokens: int | None = None
    seconds: float | None = None

    @property
    def letter(self) -> str | None:
        return None if self.choice is None else chr(ord("A") + self.choice)


def clock(time_s: float) -> str:
    """Seconds as h:mm:ss.mmm, the way players show them."""
    millis = round(abs(time_s) * 1000)
    sign = "-" if time_s < 0 and millis else ""
    return f"{sign}{millis // 3_600_000}:{millis // 60_000 % 60:02d}:{millis // 1000 % 60:02d}.{millis % 1000:03d}"
