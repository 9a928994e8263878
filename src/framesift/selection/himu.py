"""HiMu: a tree of conditions on frames, objects, speech and screen text, evaluated frame by frame.

Ben-Ami et al., "HiMu: Hierarchical Multimodal Frame Selection", 2026 (arXiv 2603.18558).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from framesift.errors import OptionError
from framesift.selection.captions import question_lines
from framesift.selection.frame_access import FrameAccess
from framesift.selection.grids import detect_in_grids
from framesift.selection.model_calls import (
    Model,
    ModelCalls,
    QuestionContext,
    model_name,
    parse_json,
    require_question,
)
from framesift.selection.result_builders import add_to_trace, build_selection
from framesift.selection.selector import Selector
from framesift.selection.text_match import match_text, match_words
from framesift.selection.toolmerge import candidate_rate
from framesift.selection.truth_curves import (
    Branch,
    Leaf,
    Tree,
    evaluate,
    leaves_of,
    normalise,
    peaks_and_neighbours,
    read_tree,
    show_tree,
    smooth,
)
from framesift.types import Evidence, Selection
from framesift.types.frame_source import Detector
from framesift.types.vectors import Array

CLIP, OBJECT, SCREEN, SPEECH = "CLIP", "OVD", "OCR", "ASR"
EXPERTS = (CLIP, OBJECT, SCREEN, SPEECH)
LONG_WORDS = 3  # from here on, words are compared with speech by meaning
VISUAL_SIGMA_S, SPEECH_SIGMA_S = 0.5, 1.5
GRID = 4

PROMPT = """Write the conditions that frames of a video must meet to help with this question, as a tree. Do not
answer it.

{question}

Leaves search one stream for a few words:
- CLIP: the whole frame shows a scene, an action or a state that can be seen ("person cooking in a kitchen")
- OVD: an object or a person with visible attributes is in the frame ("red car"); no names, counts or actions
{text}Operators: AND (in the same frame), OR (alternatives; all options of the question in one OR), SEQ (in this
order, only where the question states the order), RIGHT_AFTER (two children: the second directly after the first).
Put what all options share beside their OR: AND(shared, OR(option 1, option 2, …)). Several streams for one thing help.
Leave out options that can't be seen or heard, such as "none of the above".

Reply with one JSON object only: {{"op": "AND|OR|SEQ|RIGHT_AFTER", "children": […]}} or
{{"op": "LEAF", "expert": "{experts}", "query": "…"}}"""
TEXT_LINES = """- ASR: someone says it; one to three words
- OCR: it is written on the screen; names, numbers, labels
"""


def himu(
    evidence: Evidence,
    budget: int,
    *,
    model: Model | None = None,
    calls: int = 1,
    context: QuestionContext | None = None,
    tree: Mapping[str, Any] | str | None = None,
    detector: Detector | None = None,
) -> Selection:
    """Evaluate a tree of conditions on every frame, then select its peaks, frames around them and the best of the rest.

    Input: the question's words and a text encoder (context), events for speech and screen text, and a model that
    writes the tree, or the tree. Cost: one call (calls: the most); with a detector every frame is decoded. Streams:
    CLIP, the cosine with the frame; OVD, the detector's confidence, without a detector the cosine; ASR, the words
    of events; OCR, those of events from the screen. Each is normalised by median and deviation, shared by the
    leaves of a stream, and smoothed by 0.5 s, speech by 1.5 s. AND multiplies, OR adds without what is in both, SEQ
    and RIGHT_AFTER use what was before and comes after; operands are first scaled to [0.5, 1].

    Differs: without a model and a tree, or if the reply is none, the tree is the question's stem AND any of its
    options, both by CLIP. Sounds (CLAP) are not available. Equal values rank by index.
    """
    context = require_question("himu", context)
    made = None if model is None or tree is not None else ModelCalls("himu", model, calls)
    conditions = _tree(context, made, tree, has_text=bool(evidence.events))
    rate = candidate_rate(evidence)
    curves = _curves(evidence, context, tuple(dict.fromkeys(leaves_of(conditions))), detector, rate)
    curve = evaluate(conditions, curves, rate)
    picked = peaks_and_neighbours(curve, min(budget, len(evidence)), rate)
    options = {"model": model_name(model), "calls": calls}
    selection = build_selection(evidence, budget, "himu", picked, "visual", options)
    return add_to_trace(selection, tree=show_tree(conditions), calls=0 if made is None else made.made)


def _tree(
    context: QuestionContext, made: ModelCalls | None, tree: Mapping[str, Any] | str | None, *, has_text: bool
) -> Tree:
    if tree is not None:
        given = read_tree(parse_json(tree, dict) if isinstance(tree, str) else tree, EXPERTS)
        if given is None:
            raise OptionError(
                'tree has no conditions; expected {"op": "LEAF", "expert": "CLIP", "query": "…"}, or more'
            )
        return given
    if made is not None:
        experts = EXPERTS if has_text else EXPERTS[:2]
        prompt = PROMPT.format(
            question=question_lines(context), text=TEXT_LINES if has_text else "", experts="|".join(experts)
        )
        written = read_tree(parse_json(made.ask(prompt), dict), experts)
        if written is not None:
            return written
    question = context.question
    stem = Leaf(CLIP, question.text.strip())
    options = tuple(Leaf(CLIP, option) for option in question.valid_options)
    if not options:
        return stem
    return Branch("AND", (stem, options[0] if len(options) == 1 else Branch("OR", options)))


def _curves(
    evidence: Evidence, context: QuestionContext, leaves: Sequence[Leaf], detector: Detector | None, rate: float
) -> dict[Leaf, Array]:
    """Leaf → (N,) its normalised and smoothed scores."""
    curves: dict[Leaf, Array] = {}
    # Short and long words are compared with speech in two ways, whose scores have two scales.
    streams = {leaf: (leaf.expert, leaf.expert == SPEECH and _is_long(leaf)) for leaf in leaves}
    for stream in dict.fromkeys(streams.values()):
        together = [leaf for leaf in leaves if streams[leaf] == stream]
        scores = _scores(evidence, context, together, detector, rate)
        sigma = (SPEECH_SIGMA_S if stream[0] == SPEECH else VISUAL_SIGMA_S) * rate
        for leaf, curve in zip(together, normalise(scores), strict=True):
            curves[leaf] = smooth(curve, sigma)
    return curves


def _scores(
    evidence: Evidence, context: QuestionContext, leaves: Sequence[Leaf], detector: Detector | None, rate: float
) -> list[Array]:
    """(N,) per leaf of one stream, in [0, 1]."""
    queries = [leaf.query for leaf in leaves]
    expert = leaves[0].expert
    if expert == OBJECT and detector is not None:
        return detected_scores(evidence, detector, queries)
    if expert in (CLIP, OBJECT):
        return list(np.clip((context.score_frames(evidence, queries) + 1) / 2, 0, 1))
    if expert == SCREEN:
        on_screen = [k for k, event in enumerate(evidence.events) if event.source == "screen"]
        return [
            event_scores(evidence, {k: match_text(query, evidence.events[k].text) for k in on_screen}, rate)
            for query in queries
        ]
    spoken = [k for k, event in enumerate(evidence.events) if event.source != "screen"]
    cosines = context.score_remaining_events(evidence, queries) if _is_long(leaves[0]) else None
    rows = []
    for position, query in enumerate(queries):
        values = {}
        for k in spoken:
            text = evidence.events[k].text
            if cosines is None:
                values[k] = match_words(query, text)
            else:
                values[k] = 1.0 if query.lower() in text.lower() else max(0.0, float(cosines[position, k]))
        rows.append(event_scores(evidence, values, rate))
    return rows


def _is_long(leaf: Leaf) -> bool:
    return len(leaf.query.split()) >= LONG_WORDS


def event_scores(evidence: Evidence, values: Mapping[int, float], rate: float) -> Array:
    """(N,) the largest value of an event at each frame, in proportion to how much of the frame's time it covers."""
    half_s = 0.5 / rate
    scores = np.zeros(len(evidence))
    for k, value in values.items():
        start_s, end_s = evidence.event_times_s[k]
        first = int(np.searchsorted(evidence.times_s, start_s - half_s, side="left"))
        after = int(np.searchsorted(evidence.times_s, end_s + half_s, side="right"))
        times_s = evidence.times_s[first:after]
        covered_s = np.minimum(end_s, times_s + half_s) - np.maximum(start_s, times_s - half_s)
        scores[first:after] = np.maximum(scores[first:after], value * np.clip(covered_s * rate, 0.0, 1.0))
    return scores


def detected_scores(evidence: Evidence, detector: Detector, queries: Sequence[str]) -> list[Array]:
    """(N,) per query: the largest confidence of its phrase, its other number, or its last word."""
    spellings = {query: phrase_variations(query) for query in queries}
    phrases = tuple(dict.fromkeys(phrase for group in spellings.values() for phrase in group))
    boxes = detect_in_grids(FrameAccess(evidence), detector, range(len(evidence)), phrases, side=GRID)
    rows = []
    for query in queries:
        best = [max((b.score for b in boxes[i] if b.phrase in spellings[query]), default=0.0) for i in boxes]
        rows.append(np.clip(np.array(best), 0.0, 1.0))
    return rows


def phrase_variations(phrase: str) -> tuple[str, ...]:
    """The phrase, its singular or plural, and its last word with the plural."""
    ending = "es" if phrase.endswith("es") else "s"
    other = phrase.removesuffix(ending) if phrase.endswith("s") else phrase + "s"
    words = phrase.split()
    last = [words[-1]] if len(words) > 1 else []
    last += [word + "s" for word in last if not word.endswith("s")]
    return tuple(dict.fromkeys([phrase, other, *last]))


SELECTOR = Selector.of(
    "himu",
    himu,
    "a tree of conditions on frames, objects, speech and screen text",
    paper="Ben-Ami et al., 2026",
    needs=("vectors", "events", "peers"),
)
