"""What selectors record of their decisions: typed records, which `Selection.trace` has as JSON values.

`to_json` writes them, for every selector in `Selector.run`; `Trace.of` reads those that reports and explanations use.
Rows, of which there may be thousands, are written as JSON objects at once (`rows_of`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from framesift._utils.records import read_record, shown
from framesift.types import Array, CandidateIndex, Evidence, Selection

_ATOMS = {float, int, str, bool, type(None)}


@dataclass(frozen=True)
class EventRow:
    """An event: how well it matches the question, and the frame that it got, if any."""

    position: int
    start_s: float
    end_s: float
    text: str
    text_relevance: float
    score: float
    outcome: str
    index: int | None


@dataclass(frozen=True)
class GCREventRow(EventRow):
    """An event as gcr scores it, by its text and its frames."""

    visual_relevance: float


@dataclass(frozen=True)
class SiftEventRow(EventRow):
    """An event as sift scores it, by meaning and shared words."""

    shared_words: float


@dataclass(frozen=True)
class GroundTrace:
    """The events, and what decided their share of the budget: of gcr the visual demand, of sift the best text."""

    events_outside: int
    events: list[GCREventRow | SiftEventRow]
    visual_demand: float | None = None
    demand_kind: str | None = None
    demand_cues: list[str] | None = None
    stand_out: float | None = None
    share: float | None = None


@dataclass(frozen=True)
class ContextRow:
    """A context frame: its value, and the selected frame that lowered it most; None where nothing was compared."""

    index: int
    score: float | None = None
    redundancy: float | None = None
    closest: int | None = None


@dataclass(frozen=True)
class CoverTrace:
    """The frames that are visual matches, and those of the context in the order picked."""

    visual: list[int]
    context: list[ContextRow]


@dataclass(frozen=True)
class ValueRow:
    """The evidence value of a context frame, or of a region with its representative frame if that was swapped in."""

    index: int | None
    relevance: float
    novelty: float
    change: float
    normalised: Mapping[str, float]
    value: float


@dataclass(frozen=True)
class RegionRow(ValueRow):
    """A region of omitted candidates, and what became of it."""

    first: int
    last: int
    start_s: float
    end_s: float
    outcome: str


@dataclass(frozen=True)
class RefineTrace:
    """Whether Refine ran and why. swaps: rows with `out`, `in` (frames) and `margin`."""

    ran: bool
    reason: str
    largest_gap_s: float | None = None
    gap_share: float | None = None
    gate: float | None = None
    swaps: list[Mapping[str, Any]] | None = None
    regions: list[RegionRow] | None = None
    context: list[ValueRow] | None = None


@dataclass(frozen=True)
class ReasonRow:
    """The sentences that say why a frame was selected."""

    index: int
    sentences: list[str]


@dataclass(frozen=True)
class Trace:
    """The entries of a trace that reports and explanations use."""

    candidates: int | None = None
    looked_at: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    stopped: str = ""
    skipped: str = ""
    picked: list[int] = field(default_factory=list)
    pinned: list[int] = field(default_factory=list)  # by the user, where the method had not selected them
    reasons: list[ReasonRow] = field(default_factory=list)
    ground: GroundTrace | None = None
    cover: CoverTrace | None = None
    refine: RefineTrace | None = None

    @classmethod
    def of(cls, selection: Selection) -> "Trace":
        """Read the trace of a selection, which may come from a file; an InputError names what can't be read."""
        return read_record(cls, selection.trace, f"the trace of a selection by {shown(selection.method)}")

    @property
    def events(self) -> Sequence[EventRow]:
        return () if self.ground is None else self.ground.events


def rows_of(kind: type, *columns: Iterable[Any]) -> Any:
    """The rows of a trace, as JSON objects, from one column for each field of the record that reads them."""
    names = [field.name for field in fields(kind)]
    return [dict(zip(names, values, strict=False)) for values in zip(*columns, strict=True)]


def event_columns(evidence: Evidence) -> tuple[Iterable[Any], ...]:
    """The first columns of rows of events: position, start and end, text."""
    texts = [event.text for event in evidence.events]
    return evidence.event_positions, *evidence.event_times_s.T.tolist(), texts


def to_json(entries: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a trace, records as objects without the optional fields that are None."""
    return {name: _fields_of(entry) if is_dataclass(entry) else entry for name, entry in entries.items()}


def _fields_of(record: Any) -> dict[str, Any]:
    given = ((field, getattr(record, field.name)) for field in fields(record))
    return {field.name: value for field, value in given if value is not None or field.default is not None}


def among_all(value: Any, candidates: Sequence[int] | Array) -> Any:
    """A value of a trace of a selection among some candidates, with the indices of all."""
    if isinstance(value, CandidateIndex):
        return CandidateIndex(candidates[value])
    if isinstance(value, dict):
        return {name: v if type(v) in _ATOMS else among_all(v, candidates) for name, v in value.items()}
    if isinstance(value, list | tuple):
        return [v if type(v) in _ATOMS else among_all(v, candidates) for v in value]
    return value
