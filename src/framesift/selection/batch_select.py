"""Frames for many questions on one video, with the relevance of all questions computed in one product."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from framesift.errors import InputError
from framesift.selection.gcr.demand import resolve_demand
from framesift.selection.lexical import EventWords
from framesift.selection.model_calls import QuestionContext
from framesift.selection.registry import DEFAULT_METHOD, Method, get_selector, select_frames
from framesift.selection.result_builders import text_without_frame
from framesift.selection.skipping import BlankFrames, BlankSkipper, check_blank_frames
from framesift.types import Basis, Event, Evidence, Question, Selection, VideoIndex
from framesift.types.frame_source import FrameSource, Objects
from framesift.types.vectors import Array, dot_products, unit_rows


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
    source: FrameSource | None = None,
    objects: Sequence[Objects] | None = None,
    blank_frames: BlankFrames = "skip",
    contexts: Sequence[QuestionContext] | None = None,
    **options: object,
) -> list[Selection]:
    """Select frames for each question: the same result as one `select_frames` per question, in less time.

    queries (Q, D): the questions' text vectors. event_features (E, D): those of the events, or event_scores (Q, E) in
    their place. visual_demand: "rules", a number, or a function of the question's stem. method and options: as in
    `select_frames`. source and objects (one per question): for selectors that need decoded frames. blank_frames:
    "skip" leaves out the candidates that show nothing, "keep" does not. contexts (one per question): for selectors
    that use the question's words. The selections' warnings are the index's, and
    one for each text that is shown far from its own time.
    """
    query_count = 0 if queries is None else len(queries)
    if query_count != len(questions):
        raise InputError(f"queries has {query_count} rows for {len(questions)} questions; expected one each")
    if queries is None or not questions:
        return []
    event_count = 0 if event_features is None else len(event_features)
    if event_count != len(events) and event_scores is None:
        raise InputError(f"event_features has {event_count} rows for {len(events)} events; expected one each")
    check_blank_frames(blank_frames)
    vectors = index.vectors
    skipper = BlankSkipper(index)

    needs = get_selector(method).needs
    words = EventWords([event.text for event in events]) if "words" in needs else None
    damaged = tuple(np.flatnonzero(index.is_damaged).tolist())
    texts = unit_rows(queries, "queries", dim=vectors.dim)
    relevance = np.ascontiguousarray(vectors.products(texts).T)
    event_relevance = event_scores
    if event_relevance is None and event_features is not None and event_count:
        features = unit_rows(event_features, "event_features", dim=vectors.dim)
        event_relevance = np.ascontiguousarray(dot_products(features, texts).T)
    selections = []
    for k, question in enumerate(questions):
        evidence = Evidence(
            times_s=index.times_s,
            duration_s=index.info.duration_s,
            frames=index.frames,
            query=texts[k],
            events=events,
            visual_demand=resolve_demand(visual_demand, question.text),
            scores=relevance[k],
            event_scores=None if event_relevance is None else event_relevance[k],
            prepared=vectors,
            source=source,
            objects=None if objects is None else objects[k],
            lexical_scores=None if words is None else words.scores(question.query_text),
        )
        given = options if contexts is None else {"context": contexts[k], **options}
        run = partial(_select, budget=budget, method=method, options=given)
        if blank_frames == "skip":
            selection, skipped = skipper.select(evidence, run, with_events="events" in needs)
        else:
            selection, skipped = run(evidence), np.zeros(0, dtype=int)
        distant_texts = filter(None, map(text_without_frame, selection.slots))
        basis = replace(Basis.of(evidence, question, index.encoder), skipped=tuple(skipped.tolist()), damaged=damaged)
        selections.append(replace(selection, basis=basis, warnings=(*index.warnings, *distant_texts)))
    return selections


def _select(evidence: Evidence, *, budget: int, method: Method, options: Mapping[str, object]) -> Selection:
    return select_frames(evidence, budget=budget, method=method, **options)
