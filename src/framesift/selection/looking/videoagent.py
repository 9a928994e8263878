"""VideoAgent: answer from descriptions of few frames, and retrieve frames of what is missing while unsure.

Wang et al., "VideoAgent: Long-form Video Understanding with Large Language Model as Agent", ECCV 2024.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Annotated

import numpy as np

from framesift._utils.text import clock, printable
from framesift.selection.baselines import evenly_spaced
from framesift.selection.looking.access import Access, field_of, reply_field, whole_number
from framesift.selection.scores import Ranking
from framesift.selection.selector import Count, Whole, check_whole, selector
from framesift.types import CandidateIndex, Evidence, Lookup, Selection
from framesift.types.vectors import merge_ties

UNSURE, SURE = 1, 3  # the confidence goes from 1 (too little information) to 3 (enough)
MAX_DESCRIPTIONS = 16  # of missing frames in one reply
ANSWER_CHARACTERS = 200  # of an answer in the trace

FRAMES = """These are descriptions of {count} frames of a video of {duration}, in chronological order:
{captions}

{question}

"""
ANSWER = FRAMES + 'Think step by step, then give the best answer as JSON: {{"answer": "…"}}'
CONFIDENCE = """{prompt}

The answer given was:
{answer}

How well do the descriptions support this answer? 1: they are too little for a conclusion, 2: they support a guess, 3:
they support it fully. Reply with JSON only: {{"confidence": 1}}"""
MISSING = (
    FRAMES
    + """The descriptions are not enough to answer the question with confidence. Between the frames lie these segments:
{segments}

Which further frames would answer it? For each, give the number of its segment and one sentence that describes what the
frame should show. Reply with JSON only: {{"frames": [{{"segment": 1, "description": "…"}}]}}"""
)


@selector(
    "few frames in words, then those that a model finds missing",
    paper="Wang et al., ECCV 2024",
    parts=("model", "captioner"),
    needs=("vectors", "frames", "model"),
)
def videoagent(
    evidence: Evidence,
    budget: int,
    *,
    lookup: Lookup,
    first: Annotated[int, partial(check_whole, low=2)] = 5,
    rounds: Whole = 2,
    calls: Count = 64,
) -> Selection:
    """Describe a few frames, answer, and while the answer is uncertain retrieve the frames that the model asks for.

    Input: frame vectors, decoded frames, the question's words and text vectors, a model. Cost: one call of
    `captioner` (by default the model) for each frame, two or three of `model` in each round, at most `calls`. `first`
    frames are evenly spaced, both ends included. In each of the `rounds` the model answers, rates its confidence, and,
    unless that is full, describes what is missing in the segments between the frames; the frame of that segment whose
    vector is nearest to the description is added.

    Differs: a confidence that is not 1, 2 or 3 counts as unsure (in the original it is drawn), and a description of no
    valid segment adds nothing (in the original none of that reply does); what is found beyond the budget is left out,
    and a budget that is not used up is filled by relevance; a budget for all frames asks nothing; without calls left
    for another round, the search ends.
    """
    access, _ = Access(evidence, lookup, calls), (lookup.require("question"), lookup.require("model"))
    if budget >= len(evidence):
        return access.select(range(len(evidence)))
    picked = evenly_spaced(len(evidence), min(first, budget), "ends").tolist()
    access.require_calls(len(picked) + 1)
    steps = []
    while True:
        access.describe(picked)
        frames = sorted(picked)
        shown = {"count": len(frames), "duration": clock(evidence.duration_s), "captions": access.listed(frames)}
        prompt = ANSWER.format(question=access.question, **shown)
        answer = access.ask(prompt)
        steps.append({"frames": len(picked), "answer": _short_answer(answer)})
        if len(steps) > rounds or len(picked) == budget or not access.left:
            break
        steps[-1]["confidence"] = parse_confidence(access.ask(CONFIDENCE.format(prompt=prompt, answer=answer)))
        if steps[-1]["confidence"] == SURE or not access.left:
            break
        # start ≤ index < stop: after each frame, up to and with the next.
        segments = [(a + 1, b + 1) for a, b in pairwise(frames)]
        times = "\n".join(f"{k}. {_span(evidence, *segment)}" for k, segment in enumerate(segments, start=1))
        reply = access.ask(MISSING.format(question=access.question, segments=times, **shown))
        # One call is for the answer from the new frames.
        wanted = parse_missing(reply, len(segments))[: max(0, access.left - 1)]
        found = retrieve(access, segments, wanted)
        steps[-1]["missing"] = [
            {"description": text, "index": CandidateIndex(index)}
            for (_, text), index in zip(wanted, found, strict=True)
        ]
        picked += [index for index in dict.fromkeys(found) if index not in picked][: budget - len(picked)]
    indices = Ranking(evidence.relevance).fill(picked, budget)
    captions = [{"index": CandidateIndex(index), "caption": text} for index, text in sorted(access.captions.items())]
    return access.select(indices, rounds=steps, captions=captions, calls=access.calls)


def retrieve(access: Access, segments: Sequence[tuple[int, int]], wanted: Sequence[tuple[int, str]]) -> list[int]:
    """For each (segment, description) the frame of the segment that is nearest to the description, ties by time."""
    if not wanted:
        return []
    scores = access.lookup.score_frames(access.evidence, [text for _, text in wanted])
    spans = [segments[segment] for segment, _ in wanted]
    return [a + int(np.argmax(merge_ties(row[a:b]))) for (a, b), row in zip(spans, scores, strict=True)]


def parse_confidence(reply: str) -> int:
    """The number from 1 to 3 of a reply; 1 if it has none."""
    number = whole_number(reply_field(reply, "confidence"))
    return number if number is not None and UNSURE <= number <= SURE else UNSURE


def parse_missing(reply: str, segments: int) -> list[tuple[int, str]]:
    """(segment from 0, description) of each entry of a reply that has both; those of unknown segments are left out."""
    entries = reply_field(reply, "frames")
    wanted = []
    for entry in entries if isinstance(entries, list) else []:
        text, number = field_of(entry, "description", str), whole_number(field_of(entry, "segment", object)) or 0
        if text.strip() and 1 <= number <= segments:
            wanted.append((number - 1, printable(text)))
    return wanted[:MAX_DESCRIPTIONS]


def _span(evidence: Evidence, start: int, stop: int) -> str:
    """The times of a segment, from the frame before it to its last."""
    return f"{clock(float(evidence.times_s[start - 1]))} to {clock(float(evidence.times_s[stop - 1]))}"


def _short_answer(reply: str) -> str:
    given = reply_field(reply, "answer")
    return printable(str(given) if isinstance(given, str | int) else reply)[:ANSWER_CHARACTERS]
