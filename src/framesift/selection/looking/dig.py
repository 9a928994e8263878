"""DIG: uniform frames for questions about the whole video; for others, frames of the segments a model finds useful.

Li et al., "Divide, then Ground: Adapting Frame Selection to Query Types for Long-Form Video Understanding", CVPR 2026.
"""

import math
import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from framesift._utils.requirements import require
from framesift.selection.baselines import evenly_spaced
from framesift.selection.looking.access import Access, candidate_rate, parse_json
from framesift.selection.scores import Ranking, min_max
from framesift.selection.selector import Count, Positive, Whole, selector
from framesift.types import Array, CandidateIndex, Evidence, Lookup, Selection

CHUNK_S = 60.0  # changes are peaks among those of the same minute
MOST_REWARD = 100.0
IMAGE_SIZE = (672, 378)  # close to the 262,144 pixels of the original

# Words of a question that needs the whole video, for use without a model.
GLOBAL_WORDS = re.compile(
    r"\b(?:summar\w+|overall|in general|genre|mainly about|main (?:idea|topic|theme|subject|focus|purpose|content)|"
    r"primar(?:y|ily) (?:focus|about|topic|theme|purpose)|(?:whole|entire) video|throughout the video|"
    r"(?:is|was) (?:the|this) video (?:mainly )?about|not (?:mentioned|shown|included|covered)|"
    r"best (?:title|describes))\b",
    re.IGNORECASE,
)

TYPE_PROMPT = """Can this question about a video be answered from a few moments of it, or does it need the whole video?
It needs the whole video if it names nothing to look for (a summary, the main topic, what is not mentioned), or if what
it names must be followed through all of it. It needs a few moments if it names a person, a thing, an action, an event
or a time.

{question}

Reply with JSON only: {{"global": true}} or {{"global": false}}"""

REWARD_PROMPT = """This is the frame at {time:.2f} s of a video of {duration:.2f} s. How useful is it for answering the
question, from 0 to 100? Count what it shows itself, and whether the frames around it are likely to show more of what
is asked.

{question}

Describe what it shows that matters, then reply with JSON only: {{"description": "…", "reward": 0}}"""


@selector(
    "uniform, or frames of the segments a model finds useful",
    paper="Li et al., CVPR 2026",
    parts=("model",),
    needs=("vectors", "frames", "peers"),
)
def dig(
    evidence: Evidence,
    budget: int,
    *,
    lookup: Lookup,
    calls: Count = 256,
    prominence: Positive = 0.1,
    window: Whole = 2,
) -> Selection:
    """Cut the video where frames change, have a model rate each segment, and select uniformly from the useful ones.

    Input: frame vectors, the question's words, decoded frames, and a model that sees images. Cost: one
    call for the type of the question, and, unless it is about the whole video, one for each segment. calls: the
    most of them. prominence: of a peak of 1 − cosine between neighbours that counts as a cut. Segments with a
    reward above the mean of what is left, repeated while any drop out, or above half of the largest, whichever are
    fewer, are useful, with `window` segments on each side.

    Differs: without a model, the type comes from words of the question and a segment's reward is the relevance of
    its middle frame. The original cuts by DINOv2 at 2 frames per second; here the candidates' own vectors are
    compared. Where the useful segments have fewer frames than the budget, the most relevant of the others fill it;
    the original repeats frames.
    """
    question, access = lookup.require("question"), Access(evidence, lookup, calls)
    if lookup.model is None:
        is_global = bool(GLOBAL_WORDS.search(question.text))
    else:
        reply = parse_json(access.ask(TYPE_PROMPT.format(question=access.question)), dict) or {}
        is_global = str(reply.get("global")).lower() == "true"
    if is_global:
        even = evenly_spaced(len(evidence), budget, "ends")
        return Selection.of(evidence, even, question_type="global", calls=access.calls)
    cuts = find_cuts(evidence, prominence=prominence)
    middles = [(a + b) // 2 for a, b in pairwise(cuts)]
    if lookup.model is None:
        rewards = (MOST_REWARD * min_max(evidence.relevance[middles])).tolist()
    else:
        access.require_calls(len(middles))
        rewards = [_reward(access, index) for index in middles]
    intervals = useful_intervals(rewards, cuts, window=window)
    # Evenly spaced over the intervals put end to end, both ends included.
    frames = np.concatenate([np.arange(first, last + 1) for first, last in intervals])
    spread = frames[evenly_spaced(len(frames), budget, "ends")].tolist()
    indices = Ranking(evidence.relevance).fill(spread, budget)
    rows = [
        {"first": CandidateIndex(a), "last": CandidateIndex(b), "reward": round(float(reward), 2)}
        for (a, b), reward in zip(pairwise(cuts), rewards, strict=True)
    ]
    return Selection.of(evidence, indices, question_type="local", calls=access.calls, segments=rows)


def _reward(access: Access, index: int) -> float:
    """The model's rating of a frame from 0 to 100; 0 if the reply has none."""
    (image,) = access.images([index], IMAGE_SIZE)
    times = {"time": access.evidence.times_s[index], "duration": access.evidence.duration_s}
    prompt = REWARD_PROMPT.format(question=access.question, **times)
    reply = parse_json(access.ask(image, prompt), dict) or {}
    try:
        reward = float(reply.get("reward", 0.0))
    except (TypeError, ValueError):
        return 0.0
    return min(max(reward, 0.0), MOST_REWARD) if math.isfinite(reward) else 0.0


def find_cuts(evidence: Evidence, *, prominence: float) -> list[int]:
    """The first frame, those before a change, and the last frame; changes are found minute by minute."""
    count = len(evidence)
    if count == 1:
        return [0, 0]
    find_peaks = require("scipy.signal", "peers").find_peaks
    chunks = max(1, math.ceil(int(count / candidate_rate(evidence)) / CHUNK_S))
    borders = np.linspace(0, count - 1, chunks + 1).astype(int).tolist()
    borders[-1] = count
    rows = np.asarray(evidence.vectors.rows, dtype=np.float64)
    cuts = [0]
    for start, end in pairwise(borders):
        change = 1 - (rows[start : end - 1] * rows[start + 1 : end]).sum(axis=1)
        if len(change):
            cuts += (start + find_peaks(change, prominence=prominence)[0]).tolist()
    return [*cuts, count - 1]


def useful_intervals(rewards: Sequence[float], cuts: Sequence[int], *, window: int) -> list[tuple[int, int]]:
    """First and last frame of the stretches around useful segments, joined where they touch; else the whole video."""
    values = np.asarray(rewards, dtype=np.float64)
    spread = values.max() - values.min()
    values = (values - values.min()) / (spread + 1e-8) * MOST_REWARD if spread > 0 else np.zeros(len(values))
    above = np.flatnonzero(values > 0)
    if len(above) > 1:
        reduced = _reduce_by_mean(values[above])
        halved = np.maximum(values[above] - 0.5 * values[above].max(), 0)
        above = above[(reduced if (reduced > 0).sum() <= (halved > 0).sum() else halved) > 0]
    stretches: list[tuple[int, int]] = []
    for k in above.tolist():
        first, last = cuts[max(0, k - window)], cuts[min(len(values) - 1, k + window)]
        if stretches and first <= stretches[-1][1]:
            stretches[-1] = stretches[-1][0], max(stretches[-1][1], last)
        else:
            stretches.append((first, last))
    return stretches or [(cuts[0], cuts[-1])]


def _reduce_by_mean(values: Array) -> Array:
    """Subtract the mean, at least 0, until no more values become 0."""
    while True:
        before, values = values, np.maximum(values - values.mean(), 0)
        if np.count_nonzero(values) == np.count_nonzero(before):
            return values
