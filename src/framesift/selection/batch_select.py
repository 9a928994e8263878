"""Frames for many questions on one video, with the relevance of all questions computed in one product."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from framesift._utils.text import rounded_clock
from framesift.errors import InputError, OptionError
from framesift.selection.gcr.demand import resolve_demand
from framesift.selection.lexical import EventWords
from framesift.selection.registry import DEFAULT_METHOD, Method, get_selector, select_frames
from framesift.selection.result_builders import text_without_frame
from framesift.selection.skipping import BlankFrames, BlankSkipper, check_blank_frames, map_back
from framesift.types import Basis, Event, Evidence, Question, Selection, VideoIndex, Window
from framesift.types.lookup import Lookup
from framesift.types.vectors import Array, UnitRows
from framesift.types.window import candidates_in


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
    blank_frames: BlankFrames = "skip",
    lookups: Sequence[Lookup] | None = None,
    windows: Sequence[Window | None] | None = None,
    **options: object,
) -> list[Selection]:
    """Select frames for each question: the same result as one `select_frames` per question, in less time.

    queries (Q, D): the questions' text vectors. event_features (E, D): those of the events, or event_scores (Q, E) in
    their place. visual_demand: "rules", a number, or a function of the question's stem. method and options: as in
    `select_frames`. blank_frames: "skip" leaves out the candidates that show nothing, "keep" does not. lookups (one per
    question): for selectors that look at frames, detect or ask. windows (one per question): the part of the video to
    consider, None for all of it; candidates and events outside take no part in any score. The selections' warnings are
    the index's, and one for each text that is shown far from its own time.
    """
    query_count = 0 if queries is None else len(queries)
    if query_count != len(questions):
        raise InputError(f"queries has {query_count} rows for {len(questions)} questions; expected one each")
    if queries is None or not questions:
        return []
    event_count = 0 if event_features is None else len(event_features)
    if event_count != len(events) and event_scores is None:
        raise InputError(f"event_features has {event_count} rows for {len(events)} events; expected one each")
    if windows is not None and len(windows) != len(questions):
        raise InputError(f"windows has {len(windows)} entries for {len(questions)} questions; expected one each")
    check_blank_frames(blank_frames)
    vectors = index.vectors
    needs = get_selector(method).needs
    parts: dict[Window | None, _VideoPart] = {}
    damaged = tuple(np.flatnonzero(index.is_damaged).tolist())
    texts = UnitRows(queries, "queries", dim=vectors.dim).exact()
    relevance = np.ascontiguousarray(vectors.products(texts).T)
    event_relevance = event_scores
    if event_relevance is None and event_features is not None and event_count:
        features = UnitRows(event_features, "event_features", dim=vectors.dim)
        event_relevance = np.ascontiguousarray(features.products(texts).T)
    selections = []
    for k, question in enumerate(questions):
        window = None if windows is None else windows[k]
        if window not in parts:
            parts[window] = _VideoPart(index, events, window)
        part = parts[window]
        evidence = Evidence(
            times_s=part.index.times_s,
            duration_s=part.end_s,
            frames=part.index.vectors,
            query=texts[k],
            events=part.events,
            visual_demand=resolve_demand(visual_demand, question.text),
            scores=relevance[k][part.candidates.start : part.candidates.stop],
            event_scores=None if event_relevance is None else event_relevance[k][part.inside],
            lexical_scores=part.words.scores(question.query_text) if "words" in needs else None,
            start_s=part.start_s,
            event_positions=part.inside,
        )
        lookup = None if lookups is None else lookups[k]

        def run(
            evidence: Evidence, kept: Sequence[int] | Array, lookup: Lookup | None = lookup, part: _VideoPart = part
        ) -> Selection:
            own = None if lookup is None else lookup.among([part.candidates[index] for index in kept])
            return select_frames(evidence, budget=budget, method=method, lookup=own, **options)

        if blank_frames == "skip":
            selection, skipped = part.skipper.select(evidence, run, with_events="events" in needs)
        else:
            selection, skipped = run(evidence, range(len(evidence))), np.zeros(0, dtype=int)
        if window is not None:
            selection, skipped = map_back(selection, part.candidates), skipped + part.candidates.start
        distant_texts = filter(None, (text_without_frame(slot, index.videos) for slot in selection.slots))
        basis = Basis(
            index.times_s,
            relevance[k],
            index.info.duration_s,
            tuple(evidence.events),
            question,
            index.encoder,
            skipped=tuple(skipped.tolist()),
            damaged=damaged,
            window=None if window is None else (part.start_s, part.end_s),
            videos=index.videos,
        )
        selections.append(replace(selection, basis=basis, warnings=(*index.warnings, *distant_texts)))
    return selections


class _VideoPart:
    """The part of a video that a window leaves, with what its questions share; all of it without a window."""

    def __init__(self, index: VideoIndex, events: Sequence[Event], window: Window | None) -> None:
        self.start_s, self.end_s = 0.0, index.info.duration_s
        self.candidates = range(len(index))
        self.index = index
        self.inside = list(range(len(events)))  # positions of the events
        if window is not None:
            self.start_s, self.end_s = window.within(index.info.duration_s)
            self.candidates = candidates_in(index.times_s, (self.start_s, self.end_s))
            self.index = _restricted(index, self.candidates, self.start_s, self.end_s)
            self.inside = [k for k, event in enumerate(events) if _reaches(event, self.start_s, self.end_s)]
        self.events = [events[k] for k in self.inside]
        self.skipper = BlankSkipper(self.index)

    @cached_property
    def words(self) -> EventWords:
        return EventWords([event.text for event in self.events])


def _reaches(event: Event, start_s: float, end_s: float) -> bool:
    """Whether an event has some time inside a window; one that only meets an end of it has not."""
    if event.start_s == event.end_s:
        return start_s <= event.start_s <= end_s
    return event.end_s > start_s and event.start_s < end_s


def _restricted(index: VideoIndex, candidates: range, start_s: float, end_s: float) -> VideoIndex:
    """The index with these candidates only."""
    if not candidates:
        after = np.searchsorted(index.times_s, start_s)
        near = [rounded_clock(float(time_s)) for time_s in index.times_s[max(after - 1, 0) : after + 1]]
        raise OptionError(
            f"the window from {rounded_clock(start_s)} to {rounded_clock(end_s)} has no candidate frame; the nearest "
            f"{'is' if len(near) == 1 else 'are'} at {' and '.join(near)}: widen it, or index more frames per second"
        )
    part = slice(candidates.start, candidates.stop)
    return replace(
        index,
        info=replace(index.info, duration_s=end_s),
        times_s=index.times_s[part],
        frames=index.frames[part],
        is_blank=index.is_blank[part],
        is_damaged=index.is_damaged[part],
    )
