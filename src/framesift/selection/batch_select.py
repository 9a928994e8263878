"""Frames for many questions on one video, with the relevance of all questions computed in one product.

Candidates that show nothing are left out, and so is what lies outside a question's window.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Literal, get_args

import numpy as np

from framesift._utils.text import rounded_clock
from framesift.errors import InputError, OptionError
from framesift.selection.explainer import text_without_frame
from framesift.selection.gcr.demand import resolve_demand
from framesift.selection.gcr.ground import event_frame_ranges
from framesift.selection.lexical import EventWords
from framesift.selection.registry import DEFAULT_METHOD, Method, get_selector, select_frames
from framesift.selection.scores import Ranking
from framesift.selection.selector import check_choice
from framesift.selection.trace import among_all
from framesift.types import Basis, Event, Evidence, Lookup, Question, Selection, Slot, VideoIndex, Window
from framesift.types.question import QueryText
from framesift.types.vectors import Array, UnitRows
from framesift.types.video import EventList
from framesift.types.window import candidates_in

BlankFrames = Literal["skip", "keep"]
BLANK_FRAMES: tuple[BlankFrames, ...] = get_args(BlankFrames)


def select_from_vectors(
    index: VideoIndex,
    questions: Sequence[Question],
    *,
    queries: Array | None,
    budget: int,
    events: Sequence[Event] = (),
    event_features: Array | None = None,
    event_scores: Array | None = None,
    method: Method = DEFAULT_METHOD,
    visual_demand: float | str | Callable[[str], float] = "rules",
    query_text: QueryText = "stem+options",
    blank_frames: BlankFrames = "skip",
    lookups: Sequence[Lookup] | None = None,
    windows: Sequence[Window | None] | None = None,
    **options: Any,
) -> list[Selection]:
    """Select frames for each question: the same result as one `select_frames` per question, in less time.

    queries (Q, D): the questions' text vectors. event_features (E, D): those of the events. event_scores (Q, E): in
    place of their cosines; the features may then be of another encoder. visual_demand: "rules", a number, or a function
    of the question's stem. query_text: of which these are the vectors. method and options: as in `select_frames`.
    blank_frames: "skip" leaves out the candidates that show nothing, "keep" does not. lookups (one per question): for
    selectors that look at frames, detect or ask. windows (one per question): the part of the video to consider, None
    for all of it; candidates and events outside take no part in any score. The selections' warnings are the index's,
    and one for each text that is shown far from its own time.
    """
    asked = "questions", len(questions)
    _check_rows("queries", queries, *asked)
    if queries is None or not questions:
        return []
    if event_scores is None:
        _check_rows("event_features", event_features, "events", len(events))
    windows = [None] * len(questions) if windows is None else windows
    _check_rows("windows", windows, *asked)
    check_choice("blank_frames", blank_frames, choices=BLANK_FRAMES)
    vectors = index.vectors
    needs = get_selector(method).needs
    texts = UnitRows(queries, "queries", dim=vectors.dim).exact()
    relevance = np.ascontiguousarray(vectors.products(texts).T)
    event_relevance, features = event_scores, None
    if event_features is not None and len(events):
        dim = vectors.dim if event_scores is None else None
        features = UnitRows(event_features, "event_features", dim=dim)
        if event_relevance is None:
            event_relevance = np.ascontiguousarray(features.products(texts).T)
    damaged = tuple(np.flatnonzero(index.is_damaged).tolist())
    parts = {}
    selections = []
    for k, (question, window) in enumerate(zip(questions, windows, strict=True)):
        if window not in parts:
            parts[window] = _VideoPart(index, events, features, window, skips_blank=blank_frames == "skip")
        part = parts[window]
        evidence = partial(
            Evidence,
            duration_s=part.end_s,
            query=texts[k],
            events=part.events,
            event_features=part.event_rows,
            visual_demand=resolve_demand(visual_demand, question.text),
            event_scores=None if event_relevance is None else event_relevance[k][part.inside],
            lexical_scores=part.words.scores(question.compared(query_text)) if "words" in needs else None,
            start_s=part.start_s,
            event_positions=part.inside,
        )
        lookup = None if lookups is None else lookups[k]
        select = partial(select_frames, budget=budget, method=method, **options)
        selection, skipped, inside = part.select(evidence, relevance[k], select, lookup, with_events="events" in needs)
        distant_texts = filter(None, (text_without_frame(slot, index.videos) for slot in selection.slots))
        basis = Basis(
            index.times_s,
            relevance[k],
            index.info.duration_s,
            tuple(inside),
            question,
            index.encoder,
            skipped=tuple(skipped.tolist()),
            damaged=damaged,
            window=None if window is None else (part.start_s, part.end_s),
            videos=index.videos,
        )
        selections.append(replace(selection, basis=basis, warnings=(*index.warnings, *distant_texts)))
    return selections


def _check_rows(name: str, rows: Sequence[Any] | Array | None, things: str, count: int) -> None:
    given = 0 if rows is None else len(rows)
    if given != count:
        raise InputError(f"{name} has {given} rows for {count} {things}; expected one each")


class _VideoPart:
    """The part of a video that a window leaves, with what its questions share; all of it without a window.

    An event without any other candidate may keep one blank candidate, its most relevant, as its anchor: the text is
    real. A blank candidate is never selected in another role. If all candidates are blank, none is skipped.
    """

    def __init__(
        self,
        index: VideoIndex,
        events: Sequence[Event],
        features: UnitRows | None,
        window: Window | None,
        *,
        skips_blank: bool,
    ) -> None:
        duration_s = index.info.duration_s
        self.start_s, self.end_s = (0.0, duration_s) if window is None else window.within(duration_s)
        self._index = index
        candidates = candidates_in(index.times_s, (self.start_s, self.end_s)) if window else range(len(index))
        if not candidates:
            after = np.searchsorted(index.times_s, self.start_s)
            near = [rounded_clock(float(time_s)) for time_s in index.times_s[max(after - 1, 0) : after + 1]]
            raise OptionError(
                f"the window from {rounded_clock(self.start_s)} to {rounded_clock(self.end_s)} has no candidate frame; "
                f"the nearest {'is' if len(near) == 1 else 'are'} at {' and '.join(near)}: widen it, or index more "
                "frames per second"
            )
        self._candidates: Array = np.array(candidates)
        reached = (window is None or _reaches(event, self.start_s, self.end_s) for event in events)
        self.inside = np.flatnonzero(np.fromiter(reached, bool, len(events))).tolist()  # positions of the events
        self.events = EventList.of([events[k] for k in self.inside])
        # Questions share what is derived from these vectors.
        self.event_rows = features
        if features is not None and len(self.inside) < len(features):
            self.event_rows = features[np.array(self.inside, dtype=int)]
        self._is_blank = index.is_blank[self._candidates] if skips_blank else np.zeros(len(candidates), dtype=bool)
        self._note = ""
        if self._is_blank.all():
            self._note, self._is_blank = "every candidate is blank: none was skipped", np.zeros_like(self._is_blank)
        self._vectors: dict[bytes, UnitRows] = {}  # by the indices of their rows

    @cached_property
    def words(self) -> EventWords:
        return EventWords([event.text for event in self.events])

    def select(
        self,
        evidence: Callable[..., Evidence],
        relevance: Array,
        select: Callable[..., Selection],
        lookup: Lookup | None,
        *,
        with_events: bool,
    ) -> tuple[Selection, Array, Sequence[Event]]:
        """The selection with the indices of all candidates, those of the skipped ones, and the events inside.

        evidence, select: called with what depends on the candidates that are left. relevance (N,): of all.
        with_events: whether the selector gives events a frame.
        """
        anchors = np.zeros(len(self._candidates), dtype=bool)
        if with_events and self._is_blank.any():
            lo, hi = self._blank_events
            anchors[Ranking(relevance[self._candidates]).best_in_ranges(lo, hi)] = True
        while True:
            kept = self._candidates[~self._is_blank | anchors]
            given = evidence(times_s=self._index.times_s[kept], frames=self._rows(kept), scores=relevance[kept])
            selection = select(given, lookup=None if lookup is None else lookup.among(kept.tolist()))
            if len(kept) < len(self._index):
                slots = tuple(replace(slot, index=int(kept[slot.index])) for slot in selection.slots)
                selection = replace(selection, slots=slots, trace=among_all(selection.trace, kept))
            first = self._candidates[0]
            misplaced = [s.index - first for s in selection.slots if anchors[s.index - first] and not self._is_alone(s)]
            if not misplaced:
                skipped = self._candidates[self._is_blank & ~anchors]
                return self._described(selection, len(kept)), skipped, given.events
            anchors[misplaced] = False

    def _rows(self, kept: Array) -> UnitRows:
        """The vectors of these candidates; questions share what is derived from them."""
        if len(kept) == len(self._index):
            return self._index.vectors
        is_blank = self._index.is_blank
        if len(kept) == np.count_nonzero(~is_blank) and not is_blank[kept].any():
            return self._index.shown_vectors
        key = kept.tobytes()
        if key not in self._vectors:
            self._vectors[key] = self._index.vectors[kept]
        return self._vectors[key]

    @cached_property
    def _blank_events(self) -> tuple[Array, Array]:
        """The range of candidates of each event whose candidates are all blank."""
        times = self.events.times_s
        times = times[(times[:, 1] >= self.start_s) & (times[:, 0] <= self.end_s)].clip(self.start_s, self.end_s)
        lo, hi = event_frame_ranges(self._index.times_s[self._candidates], *times.T)
        shown = np.concatenate(([0], np.cumsum(~self._is_blank)))
        is_blank = shown[lo] == shown[hi]
        return lo[is_blank], hi[is_blank]

    def _is_alone(self, slot: Slot) -> bool:
        """Whether a slot with a blank frame stands for an event that has no other frame."""
        if slot.role != "ground" or slot.event is None:
            return False
        times_s = self._index.times_s[self._candidates]
        inside = (times_s >= slot.event.start_s) & (times_s <= slot.event.end_s)
        return bool(self._is_blank[inside].all())

    def _described(self, selection: Selection, kept: int) -> Selection:
        """The selection with the number of skipped candidates in its trace."""
        if not self._is_blank.any():
            return selection.with_trace(skipped=self._note) if self._note else selection
        candidates = len(self._candidates)
        skipped = candidates - kept
        verbs = "shows nothing and was" if skipped == 1 else "show nothing and were"
        detail = {"skipped": f"{skipped} of {candidates} candidates {verbs} skipped"}
        if len(selection) == kept < selection.budget:
            detail["note"] = (
                f"{kept} of {candidates} candidates show something, for a budget of {selection.budget}: "
                "all of them are selected"
            )
        return selection.with_trace(**detail)


def _reaches(event: Event, start_s: float, end_s: float) -> bool:
    """Whether an event has some time inside a window; one that only meets an end of it has not."""
    if event.start_s == event.end_s:
        return start_s <= event.start_s <= end_s
    return event.end_s > start_s and event.start_s < end_s
