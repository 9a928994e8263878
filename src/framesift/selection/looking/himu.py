"""HiMu: a tree of conditions on frames, objects, speech and screen text, evaluated frame by frame.

Ben-Ami et al., "HiMu: Hierarchical Multimodal Frame Selection", 2026 (arXiv 2603.18558).
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, groupby
from typing import Any

import numpy as np

from framesift._utils.requirements import require
from framesift.errors import OptionError
from framesift.selection.looking.access import Access, candidate_rate, detected_scores, field_of
from framesift.selection.selector import Count, selector
from framesift.types import Array, Evidence, Lookup, Selection

CLIP, OBJECT, SCREEN, SPEECH = "CLIP", "OVD", "OCR", "ASR"
EXPERTS = (CLIP, OBJECT, SCREEN, SPEECH)
LONG_WORDS = 3  # from here on, words are compared with speech by meaning
VISUAL_SIGMA_S, SPEECH_SIGMA_S = 0.5, 1.5
GRID = 4
FUZZY_THRESHOLD = 0.5  # below it, a word is another one
MAX_CHARACTERS = 400  # of a text that is compared as a whole: the time grows with the square
OPERATORS = ("AND", "OR", "SEQ", "RIGHT_AFTER")
MAX_LEAVES, MAX_DEPTH = 64, 12
LOW, HIGH = 0.5, 1.0  # range of each operand, so that depth does not suppress a branch
DECAY_PER_S = 2.0  # of RIGHT_AFTER
STEEPNESS, SMALL = 3.0, 1e-6  # of the sigmoid in `normalise`; added to the deviation
SMALLEST_RANGE = 1e-8
SMALL_BUDGET = 8  # below it, the largest values alone are selected
PROMINENCE, LEAST_PROMINENCE, HALVINGS = 0.01, 1e-6, 5

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


@dataclass(frozen=True)
class Leaf:
    """One condition: which stream is searched for what."""

    expert: str
    query: str


@dataclass(frozen=True)
class Branch:
    """Conditions joined by an operator."""

    operator: str
    children: "tuple[Leaf | Branch, ...]"


Tree = Leaf | Branch


@selector(
    "a tree of conditions on frames, objects, speech and screen text",
    paper="Ben-Ami et al., 2026",
    parts=("model", "detector"),
    needs=("vectors", "events", "peers"),
)
def himu(
    evidence: Evidence,
    budget: int,
    *,
    lookup: Lookup,
    calls: Count = 1,
    tree: Mapping[str, Any] | str | None = None,
) -> Selection:
    """Evaluate a tree of conditions on every frame, then select its peaks, frames around them and the best of the rest.

    Input: the question's words and a text encoder, events for speech and screen text, and a model that
    writes the tree, or the tree. Cost: one call (calls: the most); with a detector every frame is decoded. Streams:
    CLIP, the cosine with the frame; OVD, the detector's confidence, without a detector the cosine; ASR, the words
    of events, by how much of a frame's time they cover; OCR, those of events from the screen, whole from start to end.
    Each is normalised by median and deviation, shared by the leaves of a stream, and smoothed by 0.5 s, speech by
    1.5 s. AND multiplies, OR adds without what is in both, SEQ and RIGHT_AFTER use what was before and comes after;
    operands are first scaled to [0.5, 1].

    Differs: without a model and a tree, or if the reply is none, the tree is the question's stem AND any of its
    options, both by CLIP. Sounds (CLAP) are not available. Equal values rank by index.
    """
    access = Access(evidence, lookup, calls)
    conditions = _tree(access, tree)
    rate = candidate_rate(evidence)
    curves = _curves(access, tuple(dict.fromkeys(leaves_of(conditions))), rate)
    curve = evaluate(conditions, curves, rate)
    picked = peaks_and_neighbours(curve, min(budget, len(evidence)), rate)
    return Selection.of(evidence, picked, tree=show_tree(conditions), calls=access.calls)


def _tree(access: Access, tree: Mapping[str, Any] | str | None) -> Tree:
    question = access.lookup.require("question")
    experts, text = (EXPERTS, TEXT_LINES) if access.evidence.events or tree is not None else (EXPERTS[:2], "")
    prompt = PROMPT.format(question=access.question, text=text, experts="|".join(experts))
    written = read_tree(access.written(tree, prompt), experts)
    if written is not None:
        return written
    if tree is not None:
        raise OptionError('tree has no conditions; expected {"op": "LEAF", "expert": "CLIP", "query": "…"}, or more')
    stem = Leaf(CLIP, question.text.strip())
    options = tuple(Leaf(CLIP, option) for option in question.valid_options)
    if not options:
        return stem
    return Branch("AND", (stem, options[0] if len(options) == 1 else Branch("OR", options)))


def _curves(access: Access, leaves: Sequence[Leaf], rate: float) -> dict[Leaf, Array]:
    """Leaf → (N,) its normalised and smoothed scores."""
    curves = {}
    for (expert, _), stream in groupby(sorted(leaves, key=_stream), _stream):
        together = list(stream)
        sigma = (SPEECH_SIGMA_S if expert == SPEECH else VISUAL_SIGMA_S) * rate
        for leaf, curve in zip(together, normalise(_scores(access, together, rate)), strict=True):
            curves[leaf] = smooth(curve, sigma)
    return curves


def _stream(leaf: Leaf) -> tuple[str, bool]:
    """Leaves of one stream have one scale. Short and long words are compared with speech in two ways."""
    return leaf.expert, leaf.expert == SPEECH and len(leaf.query.split()) >= LONG_WORDS


def _scores(access: Access, leaves: Sequence[Leaf], rate: float) -> list[Array]:
    """(N,) per leaf of one stream, in [0, 1]."""
    evidence, lookup = access.evidence, access.lookup
    queries, expert = [leaf.query for leaf in leaves], leaves[0].expert
    if expert == OBJECT and lookup.detector is not None:
        return find_objects(access, queries)
    if expert in (CLIP, OBJECT):
        return list(np.clip((lookup.score_frames(evidence, queries) + 1) / 2, 0, 1))
    is_screen = expert == SCREEN
    texts = {k: event.text for k, event in enumerate(evidence.events) if (event.source == "screen") == is_screen}
    if _stream(leaves[0])[1]:
        rows = zip(queries, np.maximum(lookup.score_remaining_events(evidence, queries), 0.0), strict=True)
        values = [
            {k: 1.0 if query.lower() in text.lower() else float(row[k]) for k, text in texts.items()}
            for query, row in rows
        ]
    else:
        match = match_text if is_screen else match_words
        values = [{k: match(query, text) for k, text in texts.items()} for query in queries]
    return [event_scores(evidence, of_query, rate, is_screen=is_screen) for of_query in values]


def event_scores(evidence: Evidence, values: Mapping[int, float], rate: float, *, is_screen: bool) -> Array:
    """(N,) the largest value of an event at each frame, in proportion to how much of the frame's time it covers.

    is_screen: the value counts whole for the frames from start to end, since a text may be read on one frame alone.
    """
    half_s = 0.0 if is_screen else 0.5 / rate
    scores = np.zeros(len(evidence))
    for k, value in values.items():
        start_s, end_s = evidence.event_times_s[k]
        first = int(np.searchsorted(evidence.times_s, start_s - half_s, side="left"))
        after = int(np.searchsorted(evidence.times_s, end_s + half_s, side="right"))
        times_s = evidence.times_s[first:after]
        covered_s = np.minimum(end_s, times_s + half_s) - np.maximum(start_s, times_s - half_s)
        share = 1.0 if is_screen else np.clip(covered_s * rate, 0.0, 1.0)
        scores[first:after] = np.maximum(scores[first:after], value * share)
    return scores


def find_objects(access: Access, queries: Sequence[str]) -> list[Array]:
    """(N,) per query: the largest confidence of its phrase, its other number, or its last word."""
    spellings = {query: phrase_variations(query) for query in queries}
    phrases = tuple(dict.fromkeys(phrase for group in spellings.values() for phrase in group))
    boxes = access.detect(range(len(access.evidence)), phrases, side=GRID)
    return [np.clip(detected_scores(boxes, dict.fromkeys(spellings[query], 1.0)), 0.0, 1.0) for query in queries]


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
    # The words of the query one by one, else the query as a whole.
    for parts in (query.split() if " " in query else [], [query]):
        value = min((max(similarity(part, word) for word in words) for part in parts), default=0.0)
        if value >= FUZZY_THRESHOLD:
            return value
    return 0.0


def read_tree(value: object, experts: Sequence[str], depth: int = 0) -> Tree | None:
    """The tree of a JSON value {"op", "children"} or {"op": "LEAF", "expert", "query"}; None if it is not valid.

    Leaves of other experts are left out, with the branches that become empty; a branch of one child is that child.
    RIGHT_AFTER with more than two children is nested from the right.
    """
    operator, expert, query = (field_of(value, name, str).strip() for name in ("op", "expert", "query"))
    if operator == "LEAF":
        return Leaf(expert, query) if expert in experts and query else None
    rows = field_of(value, "children", list)[: MAX_LEAVES if depth < MAX_DEPTH else 0]
    children = [child for row in rows if (child := read_tree(row, experts, depth + 1)) is not None]
    if operator not in OPERATORS or not children:
        return None
    if operator == "RIGHT_AFTER" and len(children) > 2:
        return reduce(
            lambda later, earlier: Branch("RIGHT_AFTER", (earlier, later)), reversed(children[:-1]), children[-1]
        )
    return children[0] if len(children) == 1 else Branch(operator, tuple(children))


def leaves_of(tree: Tree) -> Iterator[Leaf]:
    """Yield the leaves from left to right."""
    if isinstance(tree, Leaf):
        yield tree
    else:
        for child in tree.children:
            yield from leaves_of(child)


def show_tree(tree: Tree) -> str:
    """The tree on one line, for a trace."""
    if isinstance(tree, Leaf):
        return f"{tree.expert}({tree.query})"
    return f"{tree.operator}({', '.join(map(show_tree, tree.children))})"


def evaluate(tree: Tree, curves: Mapping[Leaf, Array], rate: float) -> Array:
    """(N,) the degree to which each frame satisfies the tree. rate: frames per second."""
    if isinstance(tree, Leaf):
        return curves[tree]
    operands = [_rescale(evaluate(child, curves, rate)) for child in tree.children]
    if tree.operator == "AND":
        return reduce(np.multiply, operands)
    if tree.operator == "OR":
        return reduce(lambda a, b: a + b - a * b, operands)
    return in_order(operands) if tree.operator == "SEQ" else right_after(operands[0], operands[1], rate)


def _rescale(curve: Array) -> Array:
    low, high = float(curve.min()), float(curve.max())
    if high - low <= SMALLEST_RANGE:
        return np.full(len(curve), (LOW + HIGH) / 2)
    return LOW + (HIGH - LOW) * (curve - low) / (high - low)


def in_order(curves: Sequence[Array]) -> Array:
    """Each curve where all before it were high earlier and all after it will be later; the largest of these counts."""
    earlier = [np.append(0.0, np.maximum.accumulate(c)[:-1]) for c in curves]
    later = [np.append(np.maximum.accumulate(c[::-1])[::-1][1:], 0.0) for c in curves]
    gated = [reduce(np.multiply, [*earlier[:k], *later[k + 1 :]], curve) for k, curve in enumerate(curves)]
    largest: Array = np.max([*gated, np.zeros(len(curves[0]))], axis=0)
    return largest


def right_after(cause: Array, effect: Array, rate: float) -> Array:
    """The effect where the cause was high shortly before, or the cause where the effect will be shortly after."""
    step = math.exp(-DECAY_PER_S / rate)
    before = _decayed_sum(cause, step)
    after = _decayed_sum(effect[::-1], step)[::-1]
    return np.asarray(np.maximum(effect * before, cause * after))


def _decayed_sum(curve: Array, step: float) -> Array:
    """(N,) the sum over earlier positions of their value × step^distance."""
    return np.array([*accumulate(curve[:-1], lambda total, value: step * (total + value), initial=0.0)])


def normalise(curves: Sequence[Array]) -> list[Array]:
    """Each curve as sigmoid(3 × (value − median) / median deviation), with the median of all of them together."""
    together = np.concatenate(curves)
    median = np.median(together)
    deviation = np.median(np.abs(together - median)) + SMALL
    return [1 / (1 + np.exp(-np.clip(STEEPNESS * (curve - median) / deviation, -50, 50))) for curve in curves]


def smooth(curve: Array, sigma: float) -> Array:
    """A Gaussian of `sigma` frames, cut off at 4 sigma; the ends are continued."""
    radius = int(4 * sigma + 0.5)
    if radius < 1:
        return curve
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    smoothed: Array = np.convolve(np.pad(curve, radius, mode="edge"), kernel / kernel.sum(), mode="valid")
    return smoothed


def peaks_and_neighbours(curve: Array, size: int, rate: float) -> list[int]:
    """√size peaks at least √size s apart, the best frames around each, then the largest of the rest."""
    largest: list[int] = np.argsort(-curve, kind="stable").tolist()
    if size < SMALL_BUDGET:
        return largest[:size]
    root = math.sqrt(size)
    peaks = _find_peaks(curve, distance=max(1, int(root * rate)))
    ranked = sorted(peaks, key=lambda i: -curve[i]) or largest
    picked = ranked[: int(root)]
    reach, extra = max(1, int(root / 2 * rate)), max(0, int(root / 2) - 1)
    for peak in tuple(picked):
        around = [i for i in range(max(0, peak - reach), min(len(curve), peak + reach + 1)) if i not in picked]
        picked += sorted(around, key=lambda i: -curve[i])[: min(extra, size - len(picked))]
    taken = set(picked)
    return picked + [i for i in largest if i not in taken][: size - len(picked)]


def _find_peaks(curve: Array, distance: int) -> list[int]:
    """Peaks of a hundredth of the range, or of half that, …; none of a flat curve."""
    find = require("scipy.signal", "peers").find_peaks
    prominence = max(LEAST_PROMINENCE, PROMINENCE * float(curve.max() - curve.min()))
    tries = (find(curve, distance=distance, prominence=prominence / 2**k)[0] for k in range(HALVINGS))
    return next((peaks.tolist() for peaks in tries if len(peaks)), [])
