"""The selected frames, the decisions behind them and the data they were selected from, with JSON serialisation."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args, get_type_hints, overload

import numpy as np

from framesift._utils.json import load_json
from framesift._utils.records import read_value
from framesift._utils.templates import render_notebook
from framesift._utils.text import counted, readable
from framesift.errors import InputError
from framesift.types.evidence import Evidence
from framesift.types.question import Question
from framesift.types.vectors import Array, validate_times
from framesift.types.video import Event, VideoSpan
from framesift.types.window import Window, candidates_in

Role = Literal["ground", "visual", "context", "refined"]
ROLES: tuple[Role, ...] = get_args(Role)
SELECTION_SCHEMA = "framesift.selection/1"
NOTHING_MATCHES = "Nothing here matches well: the frames and the text score no higher than for unrelated questions."


class CandidateIndex(int):
    """The index of a candidate in a trace; any other number of a trace is a plain one.

    A selection among some of the candidates gets the indices of all of them by this type.
    """


@dataclass(frozen=True)
class Slot:
    """One selected frame.

    Attributes:
        index: Its position among the candidates; the frames of a burst have that of the selected one.
        time_s: When it is shown.
        role: "ground", "visual", "context" or "refined".
        relevance: How well the image matches the question.
        event: The text rendered on it, if any.

    Raises:
        InputError: The role is unknown.

    Example:
        >>> import framesift as fs
        >>> fs.Slot(3, 12.5, "ground", 0.2, fs.Event(12, 14, "The wind.")).text
        'The wind.'
    """

    index: int
    time_s: float
    role: Role
    relevance: float
    event: Event | None = None

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise InputError(f"role is {self.role!r}; expected one of {', '.join(ROLES)}")

    @property
    def text(self) -> str:
        """The text of its event; "" without one."""
        return "" if self.event is None else self.event.text

    @property
    def text_distance_s(self) -> float:
        """Seconds from the frame to the interval of its event: 0 inside it, and without an event."""
        if self.event is None:
            return 0.0
        return max(self.event.start_s - self.time_s, self.time_s - self.event.end_s, 0.0)


def make_slots(
    evidence: Evidence,
    roles: Mapping[int, Role],
    carried: Mapping[int, Event],
    scores: Mapping[int, float] | None = None,
) -> tuple[Slot, ...]:
    """The slots of these frames: index → role. carried: index → event; scores: for evidence without relevance."""
    indices, known = list(map(int, roles)), scores or {}
    if evidence.is_scored:
        relevance = evidence.relevance[indices].tolist()
    else:
        relevance = [known.get(index, 0.0) for index in indices]
    times_s = evidence.times_s[indices].tolist()
    return tuple(map(Slot, indices, times_s, roles.values(), relevance, map(carried.get, indices)))


@dataclass(frozen=True)
class Chance:
    """What unrelated questions score in this video, and whether this question scores more.

    low, high: the relevance that unrelated questions give to frames, from the usual to the best.
    """

    low: float
    high: float
    stands_out: bool

    @property
    def note(self) -> str:
        """What to tell the user; empty where something stands out."""
        return "" if self.stands_out else NOTHING_MATCHES


@dataclass(frozen=True, eq=False)
class Basis:
    """The data a selection was made from, for reports and checks.

    times_s (N,) and relevance (N,) of the candidates, the events inside the video, and, where known, the question and
    the encoder's name. skipped: indices of candidates that were not available, because they show nothing; damaged:
    indices of candidates decoded with errors. window: (from_s, to_s), the part of the video that was considered; then
    the events are those in it. videos: where there are several, their places on the joint timeline of all times here.
    chance: how the question compares with unrelated ones, where that was asked for.
    """

    times_s: Array
    relevance: Array
    duration_s: float
    events: tuple[Event, ...] = ()
    question: Question | None = None
    encoder: str = ""
    skipped: tuple[int, ...] = ()
    damaged: tuple[int, ...] = ()
    window: tuple[float, float] | None = None
    videos: tuple[VideoSpan, ...] = ()
    chance: Chance | None = None

    @property
    def considered(self) -> range:
        """The indices of the candidates in the window; of all of them without one."""
        return range(len(self.times_s)) if self.window is None else candidates_in(self.times_s, self.window)

    def to_dict(self) -> dict[str, Any]:
        """JSON values only; `from_dict` restores the same Basis."""
        return {
            **asdict(self),
            "times_s": self.times_s.tolist(),
            "relevance": self.relevance.tolist(),
            "window": None if self.window is None else dict(zip(("from_s", "to_s"), self.window, strict=True)),
            "videos": [{"name": v.name, "start_s": v.start_s, "duration_s": v.duration_s} for v in self.videos],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Basis":
        """Restore what `to_dict` wrote; anything else is an InputError."""
        numbers = tuple[float, ...]
        location = "the basis of this selection"
        values = _read_fields(cls, data, location, times_s=numbers, relevance=numbers, window=Window | None)
        window, duration_s, relevance = values["window"], values["duration_s"], np.array(values["relevance"])
        values["times_s"] = validate_times(values["times_s"], duration_s, len(relevance))
        values["window"] = None if window is None else window.within(duration_s)
        return cls(**values | {"relevance": relevance})


def _read_fields(record: type, data: object, location: str, **stored: Any) -> dict[str, Any]:
    """The fields of a record from JSON values. stored: the types of those that are written in another form."""
    values = data if isinstance(data, Mapping) else {}
    kinds = get_type_hints(record) | stored
    return {name: read_value(kind, values.get(name), f"{location}: {name}") for name, kind in kinds.items()}


@dataclass(frozen=True)
class Selection:
    """The selected frames of an index or of arrays: a sequence of `Slot`, in order of time.

    Attributes:
        slots: The frames.
        method: The name of the selector.
        budget: How many were asked for.
        trace: What was decided and why, JSON values only.
        basis: The data it was made from; ignored in comparisons.
        warnings: What was lost, guessed or odd in the video and its text; ignored in comparisons.

    Example:
        >>> import framesift as fs
        >>> selection = fs.Selection((fs.Slot(3, 12.5, "visual", 0.2),), "mine", budget=1)
        >>> [slot.time_s for slot in selection]
        [12.5]
        >>> fs.Selection.from_json(selection.to_json()) == selection
        True
    """

    slots: tuple[Slot, ...]
    method: str
    budget: int
    trace: Mapping[str, Any] = field(default_factory=dict)
    basis: Basis | None = field(default=None, compare=False, repr=False)
    warnings: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "slots", tuple(sorted(self.slots, key=lambda slot: (slot.time_s, slot.index))))

    @classmethod
    def of(
        cls,
        evidence: Evidence,
        picked: Iterable[int],
        role: Role = "visual",
        *,
        carried: Mapping[int, Event] | None = None,
        scores: Mapping[int, float] | None = None,
        **trace: Any,
    ) -> "Selection":
        """What a selector returns for these frames, listed in the order picked; its name and options are added later.

        carried: frame index → the event it carries, as a ground slot. scores: of the frames that were scored, for
        evidence without relevance. trace: further entries of the trace, JSON values only.
        """
        given, indices = carried or {}, [CandidateIndex(index) for index in picked]
        roles: dict[int, Role] = {index: "ground" if index in given else role for index in indices}
        return cls(make_slots(evidence, roles, given, scores), "", 0, {"picked": indices, **trace})

    def with_trace(self, **detail: Any) -> "Selection":
        """The selection with more entries (JSON values only) in its trace."""
        return replace(self, trace={**self.trace, **detail})

    @property
    def indices(self) -> list[int]:
        """Indices among the candidates, ascending."""
        return [slot.index for slot in self.slots]

    @property
    def times_s(self) -> list[float]:
        """Presentation times in seconds, ascending."""
        return [slot.time_s for slot in self.slots]

    @property
    def looked_at(self) -> int:
        """How many candidates the method scored or looked at."""
        return int(self.trace.get("looked_at", 0))

    def __len__(self) -> int:
        return len(self.slots)

    def __iter__(self) -> Iterator[Slot]:
        return iter(self.slots)

    @overload
    def __getitem__(self, position: int) -> Slot: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[Slot, ...]: ...
    def __getitem__(self, position: int | slice) -> Slot | tuple[Slot, ...]:
        return self.slots[position]

    def rows(self) -> list[dict[str, Any]]:
        """Plain values, a row per frame: `pandas.DataFrame(selection.rows())`."""
        names = ("index", "time_s", "role", "relevance", "text")
        return [{name: getattr(slot, name) for name in names} for slot in self.slots]

    def _repr_html_(self) -> str:
        return render_notebook(tables=[{"title": repr(self), "rows": self.rows()}])

    def __repr__(self) -> str:
        counts = Counter(slot.role for slot in self.slots)
        roles = ", ".join(f"{counts[role]} {role}" for role in ROLES if counts[role])
        return f"Selection({self.method}: {counted(len(self), 'frame')} for a budget of {self.budget}; {roles})"

    def to_dict(self) -> dict[str, Any]:
        """JSON values only; `from_dict` restores the same Selection."""
        return {
            "schema": SELECTION_SCHEMA,
            "method": self.method,
            "budget": self.budget,
            "slots": [asdict(slot) for slot in self.slots],
            "trace": dict(self.trace),
            "warnings": list(self.warnings),
            "basis": None if self.basis is None else self.basis.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Selection":
        """Restore what `to_dict` wrote, ignoring unknown keys; anything else is an InputError."""
        schema = data.get("schema") if isinstance(data, Mapping) else None
        if schema != SELECTION_SCHEMA:
            raise InputError(f"this is not a selection: schema is {schema!r}; expected {SELECTION_SCHEMA!r}")
        values = _read_fields(cls, data, "this selection", basis=Any)
        basis = values["basis"]
        selection = cls(**values | {"basis": None if basis is None else Basis.from_dict(basis)})
        candidates = np.inf if selection.basis is None else len(selection.basis.times_s)
        for index in selection.indices:
            if not 0 <= index < candidates:
                raise InputError(
                    f"this selection has a slot with index {index}; expected a position among its candidates"
                )
        return selection

    def to_json(self, *, indent: int | None = None) -> str:
        return readable(json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=indent))

    @classmethod
    def from_json(cls, text: str) -> "Selection":
        return cls.from_dict(load_json(text, "this selection", "what Selection.to_json writes"))
