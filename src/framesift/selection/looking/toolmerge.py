"""ToolMerge: a model breaks the question into searches, whose ranks are joined by AND and OR.

Shlapentokh-Rothman et al., "Decomposing Queries into Tool Calls for Long-Video Keyframe Retrieval", 2026.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from framesift.errors import OptionError
from framesift.selection.looking.access import Access, candidate_rate, detected_scores, field_of
from framesift.selection.scores import Ranking
from framesift.selection.selector import Amount, Count, selector
from framesift.types import Array, Event, Evidence, Lookup, Selection

SCENE, OBJECT = "scene", "object"
TOOLS = {"scene": SCENE, "siglip": SCENE, "object": OBJECT, "tren": OBJECT}
MAX_QUERIES, TEXTS_PER_CALL, GRID = 8, 20, 4

PLAN_PROMPT = """Plan a search for the frames of a video that show what this question asks about. Do not answer it.

{question}

The video lasts {duration:.0f} s. There are two tools. "scene" compares whole frames with a description of what is
visible: a place, an action, a state. "object" finds one thing or person, named in a few words. Neither reads text.
Use one to five searches, each for something visible and distinctive, also from the options where these would look
different. Join them: "Q1 AND Q2" for frames that show both, "Q1 OR Q2" for frames that show either, with parentheses.

Reply with JSON only: {{"queries": [{{"id": "Q1", "tool": "scene", "query": "…"}}], "combine": "Q1"}}"""

TEXT_PROMPT = """These texts were read on the screen of a video. Which of them help to answer the question, or stand in
it word for word? A text that the question only mentions in passing does not count.

{question}

{texts}

Reply with one line for each, as "1. YES" or "1. NO"."""


@selector(
    "searches planned by a model, their ranks joined by AND and OR",
    paper="Shlapentokh-Rothman et al., 2026",
    parts=("model", "detector"),
    needs=("vectors", "events"),
)
def toolmerge(
    evidence: Evidence,
    budget: int,
    *,
    lookup: Lookup,
    calls: Count = 16,
    plan: Mapping[str, Any] | str | None = None,
    gap_s: Amount | None = None,
    gap_cap_s: Amount = 10.0,
) -> Selection:
    """Rank frames by each search of a plan, join the ranks (AND = smallest, OR = largest), select with a gap in time.

    Input: the question's words and a text encoder, and a model or a plan: {"queries": [{"id", "tool":
    "scene" or "object", "query"}], "combine": "Q1 AND (Q2 OR Q3)"}. Cost: one call for the plan, and one for each
    20 different texts on the screen, if the events have any: frames whose text helps get the first rank. calls: the
    most of them. gap_s: the least time between frames, by default D / 2B, at most gap_cap_s. detector: finds
    objects, in every frame; without one they are compared like scenes.

    Differs: without a model and a plan, or if the reply is none, the one search is for the question itself. The
    original's tool for objects, T-REN, is not part of this library. A budget that the gap does not allow is filled
    up by rank.
    """
    access = Access(evidence, lookup, calls)
    screen = (" ".join(event.text.split()) for event in evidence.events if event.source == "screen")
    texts = list({text.lower(): text for text in screen if text}.values())  # the different ones, in order
    if lookup.model is not None:
        access.require_calls((plan is None) + -(-len(texts) // TEXTS_PER_CALL))
    queries, expression = _plan(access, plan)
    ranks = {q["id"]: rank for q, rank in zip(queries, _ranks(access, queries), strict=True)}
    joined, order = join_ranks(ranks, expression)
    rate = candidate_rate(evidence)
    widest_s = min(len(evidence) / rate / (2 * budget), gap_cap_s)
    shown = {}
    if lookup.model is not None and texts:
        shown = _confirmed(access, texts)
        for index in cluster_middles(sorted(shown), int(widest_s * rate)):
            joined[index] = 1.0
    picked = select_with_gap(joined, order, budget, int((widest_s if gap_s is None else gap_s) * rate))
    searches = [f"{q['id']}: {q['tool']}: {q['query']}" for q in queries]
    trace: dict[str, Any] = {"searches": searches, "combine": expression, "calls": access.calls}
    return Selection.of(evidence, Ranking(joined).fill(picked, budget), carried=shown, **trace)


def _plan(access: Access, plan: Mapping[str, Any] | str | None) -> tuple[list[dict[str, str]], str]:
    """The searches and the expression that joins them."""
    prompt = PLAN_PROMPT.format(question=access.question, duration=access.evidence.duration_s)
    queries, expression = read_plan(access.written(plan, prompt))
    if queries:
        return queries, expression
    if plan is not None:
        raise OptionError(f"plan has no searches; expected {json.dumps(_alone('…'))}")
    return read_plan(_alone(access.lookup.require("question").query_text))


def _alone(query: str) -> dict[str, Any]:
    return {"queries": [{"id": "Q1", "tool": SCENE, "query": query}], "combine": "Q1"}


def read_plan(plan: object) -> tuple[list[dict[str, str]], str]:
    """The valid searches of a plan, each with id, tool and query, and its expression; empty if it has none."""
    found = []
    for row in field_of(plan, "queries", list):
        name, tool, query = (field_of(row, field, str).strip() for field in ("id", "tool", "query"))
        if name and tool in TOOLS and query:
            found.append({"id": name, "tool": TOOLS[tool], "query": query})
    return found[:MAX_QUERIES], field_of(plan, "combine", str)


def _ranks(access: Access, queries: Sequence[Mapping[str, str]]) -> list[Array]:
    """(N,) per search: the rank of each frame, from 0 for the worst to 1."""
    evidence, lookup = access.evidence, access.lookup
    detected = [q["query"] for q in queries if q["tool"] == OBJECT and lookup.detector is not None]
    compared = [q["query"] for q in queries if q["query"] not in detected]
    rows = dict(zip(compared, lookup.score_frames(evidence, compared), strict=True)) if compared else {}
    if detected:
        boxes = access.detect(range(len(evidence)), detected, side=GRID)
        rows |= {phrase: detected_scores(boxes, {phrase: 1.0}) for phrase in detected}
    return [percentiles(rows[q["query"]]) for q in queries]


def percentiles(scores: Array) -> Array:
    """(N,) rank / (N − 1) in ascending order of score; of equal ones the later frame ranks higher."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores, kind="stable")] = np.arange(len(scores))
    return ranks / (len(scores) - 1) if len(scores) > 1 else np.ones(1)


def join_ranks(ranks: Mapping[str, Array], expression: str) -> tuple[Array, Array]:
    """(N,) the joined ranks, and (N,) the order in which equal ones are selected.

    Without an expression, or with one that can't be read, all searches are joined by OR; equal frames are then ordered
    by the first search, else by index.
    """
    searches = list(ranks.values())
    by_index = np.arange(len(searches[0]))
    by_first = np.argsort(-searches[0], kind="stable")
    if len(searches) == 1:
        return searches[0].copy(), by_first
    try:
        joined = _evaluate(expression, ranks) if expression.strip() else None
    except (ValueError, RecursionError):
        joined = None
    if joined is None:
        return np.max(searches, axis=0), by_first
    return joined, by_index


def _evaluate(expression: str, ranks: Mapping[str, Array]) -> Array | None:
    """AND binds tighter than OR; a search that is missing ranks every frame last. None if no search is in it."""
    tokens = re.findall(r"[()]|[^\s()]+", expression)
    if not set(tokens) & set(ranks):
        return None
    zeros = np.zeros(len(next(iter(ranks.values()))))
    position = 0

    def accept(*wanted: str) -> bool:
        nonlocal position
        found = position < len(tokens) and tokens[position].upper() in wanted
        position += found
        return found

    def either() -> Array:
        value = both()
        while accept("OR"):
            value = np.maximum(value, both())
        return value

    def both() -> Array:
        value = single()
        while accept("AND"):
            value = np.minimum(value, single())
        return value

    def single() -> Array:
        nonlocal position
        if accept("("):
            value = either()
            accept(")")
            return value
        if position == len(tokens):
            raise ValueError("the expression ends early")
        position += 1
        return ranks.get(tokens[position - 1], zeros)

    return either().copy()


def select_with_gap(ranks: Array, order: Array, budget: int, gap: int) -> list[int]:
    """The best-ranked frames, each at least `gap` positions from all before it; `order` decides between equal ones."""
    picked: list[int] = []
    taken = np.zeros(len(ranks), dtype=bool)
    for index in order[np.argsort(-ranks[order], kind="stable")].tolist():
        if len(picked) == budget:
            break
        if not taken[index]:
            picked.append(index)
            taken[max(0, index - gap + 1) : index + max(gap, 1)] = True
    return picked


def _confirmed(access: Access, texts: Sequence[str]) -> dict[int, Event]:
    """Frame index → the text on its screen that helps to answer."""
    helpful = set()
    for start in range(0, len(texts), TEXTS_PER_CALL):
        part = texts[start : start + TEXTS_PER_CALL]
        listed = "\n".join(f'{k}. "{text}"' for k, text in enumerate(part, 1))
        reply = access.ask(TEXT_PROMPT.format(question=access.question, texts=listed))
        refused = {int(k) for k in re.findall(r"(?m)^\s*(\d{1,4})\s*[.):-]\s*NO\b", reply, re.I)}
        helpful |= {text.lower() for k, text in enumerate(part, 1) if k not in refused}
    evidence = access.evidence
    found: dict[int, Event] = {}
    for event in evidence.events:
        if event.source == "screen" and " ".join(event.text.split()).lower() in helpful:
            inside = (evidence.times_s >= event.start_s) & (evidence.times_s <= event.end_s)
            found = dict.fromkeys(np.flatnonzero(inside).tolist(), event) | found
    return found


def cluster_middles(indices: Sequence[int], gap: int) -> list[int]:
    """The middle of each run of ascending indices that are at most `gap` apart."""
    runs = np.split(np.array(indices, dtype=int), np.flatnonzero(np.diff(indices) > gap) + 1)
    return [int(run[len(run) // 2]) for run in runs if len(run)]
