"""Selecting among the candidates that show something, with every index mapped back to all candidates."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from framesift.errors import OptionError
from framesift.selection.gcr.ground import event_frame_ranges
from framesift.selection.result_builders import add_to_trace
from framesift.selection.scores import Ranking
from framesift.types import CandidateIndex, Evidence, Selection, Slot, VideoIndex
from framesift.types.vectors import Array, UnitRows

BlankFrames = Literal["skip", "keep"]
BLANK_FRAMES: tuple[BlankFrames, ...] = get_args(BlankFrames)


def check_blank_frames(value: str) -> None:
    """Reject a setting that is neither "skip" nor "keep"."""
    if value not in BLANK_FRAMES:
        raise OptionError(f"blank_frames is {value!r}; expected one of {', '.join(BLANK_FRAMES)}")


class BlankSkipper:
    """Runs a selector without the blank candidates of one video.

    An event without any other candidate may keep one blank candidate, its most relevant, as its anchor: the text is
    real. A blank candidate is never selected in another role. If all candidates are blank, none is skipped.
    """

    def __init__(self, index: VideoIndex) -> None:
        self._index = index
        self._parts: dict[bytes, UnitRows] = {}  # by the indices of their rows

    def select(
        self, evidence: Evidence, run: Callable[[Evidence, Sequence[int] | Array], Selection], *, with_events: bool
    ) -> tuple[Selection, Array]:
        """The selection, and the indices of the skipped candidates.

        run: called with evidence and the indices of its candidates. with_events: whether it gives events a frame.
        """
        blank = self._index.is_blank
        nothing = np.zeros(0, dtype=int)
        if not blank.any() or blank.all():
            note = {"skipped": "every candidate is blank: none was skipped"} if blank.any() else {}
            return add_to_trace(run(evidence, range(len(blank))), **note), nothing
        anchors = _blank_anchors(evidence, blank) if with_events else np.zeros(len(blank), dtype=bool)
        while True:
            kept = np.flatnonzero(~blank | anchors)
            selection = map_back(run(evidence.take(kept, self._rows(kept)), kept), kept)
            misplaced = [s.index for s in selection.slots if blank[s.index] and not _is_alone(s, evidence, blank)]
            if not misplaced:
                return _describe(selection, len(kept), len(evidence)), np.flatnonzero(blank & ~anchors)
            anchors[misplaced] = False

    def _rows(self, kept: Array) -> UnitRows:
        """The vectors of these candidates; questions share what is derived from them."""
        if len(kept) == len(self._index.shown_vectors):
            return self._index.shown_vectors
        key = kept.tobytes()
        if key not in self._parts:
            self._parts[key] = UnitRows(self._index.frames[kept])
        return self._parts[key]


def _blank_anchors(evidence: Evidence, blank: Array) -> Array:
    """(N,) bool: of each event whose candidates are all blank, the most relevant one, the earlier of equal ones."""
    anchors = np.zeros(len(blank), dtype=bool)
    if len(evidence.events):
        ranking = Ranking(evidence.relevance)
        for lo, hi in zip(*event_frame_ranges(evidence.times_s, *evidence.event_times_s.T), strict=True):
            if blank[lo:hi].all():
                anchors[ranking.order[ranking.rank[lo:hi].min()]] = True
    return anchors


def _is_alone(slot: Slot, evidence: Evidence, blank: Array) -> bool:
    """Whether a slot with a blank frame stands for an event that has no other frame."""
    if slot.role != "ground" or slot.event is None:
        return False
    first = np.searchsorted(evidence.times_s, slot.event.start_s, side="left")
    after = np.searchsorted(evidence.times_s, slot.event.end_s, side="right")
    return bool(blank[first:after].all())


def map_back(selection: Selection, kept: Sequence[int] | Array) -> Selection:
    """A selection among some candidates with the indices of these, in its slots and its trace."""
    slots = tuple(replace(slot, index=int(kept[slot.index])) for slot in selection.slots)
    return replace(selection, slots=slots, trace=_mapped(selection.trace, kept))


def _mapped(value: Any, kept: Sequence[int] | Array) -> Any:
    """A value of a trace with the indices of candidates replaced."""
    if isinstance(value, CandidateIndex):
        return CandidateIndex(kept[value])
    if isinstance(value, dict):
        return {name: _mapped(item, kept) for name, item in value.items()}
    return [_mapped(item, kept) for item in value] if isinstance(value, list | tuple) else value


def _describe(selection: Selection, kept: int, candidates: int) -> Selection:
    """The selection with the number of skipped candidates in its trace."""
    skipped = candidates - kept
    verbs = "shows nothing and was" if skipped == 1 else "show nothing and were"
    detail = {"skipped": f"{skipped} of {candidates} candidates {verbs} skipped"}
    if kept < selection.budget:
        detail["note"] = (
            f"{kept} of {candidates} candidates show something, for a budget of {selection.budget}: "
            "all of them are selected"
        )
    return add_to_trace(selection, **detail)
