"""HiMu: a tree of conditions on frames, objects, speech and screen text, evaluated frame by frame.

Ben-Ami et al., "HiMu: Hierarchical Multimodal Frame Selection", 2026 (arXiv 2603.18558).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from framesift.errors import OptionError
from framesift.selection.looking.access import FrameAccess, ModelCalls, candidate_rate, parse_json, question_lines
from framesift.selection.looking.grids import detect_in_grids, phrase_scores
from framesift.selection.looking.truth_curves import (
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
from framesift.selection.result_builders import build_selection
from framesift.selection.selector import Selector
from framesift.types import Evidence, Selection
from framesift.types.lookup import Lookup
from framesift.types.vectors import Array

CLIP, OBJECT, SCREEN, SPEECH = "CLIP", "OVD", "OCR", "ASR"
EXPERTS = (CLIP, OBJECT, SCREEN, SPEECH)
LONG_WORDS = 3  # from here on, words are compared with speech by meaning
VISUAL_SIGMA_S, SPEECH_SIGMA_S = 0.5, 1.5
GRID = 4
FUZZY_THRESHOLD = 0.5  # below it, a word is another one
MAX_CHARACTERS = 400  # of a text that is compared as a whole: the time grows with the square

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
    lookup: Lookup,
    calls: int = 1,
    tree: Mapping[str, Any] | str | None = None,
) -> Selection:
    """Evaluate a tree of conditions on every frame, then select its peaks, frames around them and the best of the rest.

    Input: the question's words and a text encoder, events for speech and screen text, and a model that
    writes the tree, or the tree. Cost: one call (calls: the most); with a detector every frame is decoded. Streams:
    CLIP, the cosine with the frame; OVD, the detector's confidence, without a detector the cosine; ASR, the words
    of events; OCR, those of events from the screen. Each is normalised by median and deviation, shared by the
    leaves of a stream, and smoothed by 0.5 s, speech by 1.5 s. AND multiplies, OR adds without what is in both, SEQ
    and RIGHT_AFTER use what was before and comes after; operands are first scaled to [0.5, 1].

    Differs: without a model and a tree, or if the reply is none, the tree is the question's stem AND any of its
    options, both by CLIP. Sounds (CLAP) are not available. Equal values rank by index.
    """
    asked = ModelCalls(lookup, calls)
    conditions = _tree(lookup, asked, tree, has_text=bool(evidence.events))
    rate = candidate_rate(evidence)
    curves = _curves(evidence, lookup, tuple(dict.fromkeys(leaves_of(conditions))), rate)
    curve = evaluate(conditions, curves, rate)
    picked = peaks_and_neighbours(curve, min(budget, len(evidence)), rate)
    return build_selection(evidence, picked, tree=show_tree(conditions), calls=asked.made)


def _tree(lookup: Lookup, asked: ModelCalls, tree: Mapping[str, Any] | str | None, *, has_text: bool) -> Tree:
    question = lookup.require("question")
    if tree is not None:
        given = read_tree(parse_json(tree, dict) if isinstance(tree, str) else tree, EXPERTS)
        if given is None:
            raise OptionError(
                'tree has no conditions; expected {"op": "LEAF", "expert": "CLIP", "query": "…"}, or more'
            )
        return given
    if lookup.model is not None:
        experts = EXPERTS if has_text else EXPERTS[:2]
        prompt = PROMPT.format(
            question=question_lines(question), text=TEXT_LINES if has_text else "", experts="|".join(experts)
        )
        written = read_tree(parse_json(asked.ask(prompt), dict), experts)
        if written is not None:
            return written
    stem = Leaf(CLIP, question.text.strip())
    options = tuple(Leaf(CLIP, option) for option in question.valid_options)
    if not options:
        return stem
    return Branch("AND", (stem, options[0] if len(options) == 1 else Branch("OR", options)))


def _curves(evidence: Evidence, lookup: Lookup, leaves: Sequence[Leaf], rate: float) -> dict[Leaf, Array]:
    """Leaf → (N,) its normalised and smoothed scores."""
    curves: dict[Leaf, Array] = {}
    # Short and long words are compared with speech in two ways, whose scores have two scales.
    streams = {leaf: (leaf.expert, leaf.expert == SPEECH and _is_long(leaf)) for leaf in leaves}
    for stream in dict.fromkeys(streams.values()):
        together = [leaf for leaf in leaves if streams[leaf] == stream]
        scores = _scores(evidence, lookup, together, rate)
        sigma = (SPEECH_SIGMA_S if stream[0] == SPEECH else VISUAL_SIGMA_S) * rate
        for leaf, curve in zip(together, normalise(scores), strict=True):
            curves[leaf] = smooth(curve, sigma)
    return curves


def _scores(evidence: Evidence, lookup: Lookup, leaves: Sequence[Leaf], rate: float) -> list[Array]:
    """(N,) per leaf of one stream, in [0, 1]."""
    queries = [leaf.query for leaf in leaves]
    expert = leaves[0].expert
    if expert == OBJECT and lookup.detector is not None:
        return detected_scores(evidence, lookup, queries)
    if expert in (CLIP, OBJECT):
        return list(np.clip((lookup.score_frames(evidence, queries) + 1) / 2, 0, 1))
    if expert == SCREEN:
        on_screen = [k for k, event in enumerate(evidence.events) if event.source == "screen"]
        return [
            event_scores(evidence, {k: match_text(query, evidence.events[k].text) for k in on_screen}, rate)
            for query in queries
        ]
    spoken = [k for k, event in enumerate(evidence.events) if event.source != "screen"]
    cosines = lookup.score_remaining_events(evidence, queries) if _is_long(leaves[0]) else None
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


def detected_scores(evidence: Evidence, lookup: Lookup, queries: Sequence[str]) -> list[Array]:
    """(N,) per query: the largest confidence of its phrase, its other number, or its last word."""
    spellings = {query: phrase_variations(query) for query in queries}
    phrases = tuple(dict.fromkeys(phrase for group in spellings.values() for phrase in group))
    access, detector = FrameAccess(evidence, lookup), lookup.require("detector")
    boxes = detect_in_grids(access, detector, range(len(evidence)), phrases, side=GRID)
    return [np.clip(phrase_scores(boxes, spellings[query]), 0.0, 1.0) for query in queries]


def phrase_variations(phrase: str) -> tuple[str, ...]:
    """The phrase, its singular or plural, and its last word with the plural."""
    ending = "es" if phrase.endswith("es") else "s"
    other = phrase.removesuffix(ending) if phrase.endswith("s") else phrase + "s"
    words = phrase.split()
    last = [words[-1]] if len(words) > 1 else []
    last += [word + "s" for word in last if not word.endswith("s")]
    return tuple(dict.fromkeys([phrase, other, *last]))


def similarity(first: str, second: str) -> float:
    """1 − edit distance / length of the longer text."""
    first, second = first[:MAX_CHARACTERS], second[:MAX_CHARACTERS]
    if not first or not second:
        return float(first == second)
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        above_left, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            above_left, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above_left + (a != b))
    return 1.0 - row[-1] / max(len(first), len(second))


def match_text(query: str, text: str) -> float:
    """1 if the text contains the query, else how similar they are as a whole."""
    query, text = query.lower().strip(), text.lower().strip()
    return 1.0 if query and query in text else similarity(query, text)


def match_words(query: str, text: str) -> float:
    """1 if the text contains the query, else the worst of the best matches of its words; 0 below one half."""
    query, text = query.lower().strip(), text.lower().strip()
    if query and query in text:
        return 1.0
    words = dict.fromkeys(re.findall(r"[a-z0-9']+", text))
    if not words:
        return 0.0
    together = min(max(similarity(part, word) for word in words) for part in query.split()) if query else 0.0
    if " " in query and together >= FUZZY_THRESHOLD:
        return together
    best = max(similarity(query, word) for word in words)
    return best if best >= FUZZY_THRESHOLD else 0.0


SELECTOR = Selector.of(
    "himu",
    himu,
    "a tree of conditions on frames, objects, speech and screen text",
    paper="Ben-Ami et al., 2026",
    parts=("model", "detector"),
    needs=("vectors", "events", "peers"),
)
