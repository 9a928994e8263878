"""VideoTree: cluster the frames, widen until enough clusters are relevant, then look deeper into those.

Wang et al., "VideoTree: Adaptive Tree-based Video Representation for LLM Reasoning on Long Videos", CVPR 2025.
"""

from typing import NamedTuple

import numpy as np

from framesift.selection.looking.access import (
    FrameAccess,
    FrameCaptions,
    ModelCalls,
    parse_json,
    question_lines,
)
from framesift.selection.looking.clustering import cosine_kmeans, middle_row, nearest_to_centres, ward_clusters
from framesift.selection.result_builders import build_selection
from framesift.selection.sampling import fill_by_relevance
from framesift.selection.scores import Ranking
from framesift.selection.selector import Selector
from framesift.selection.validation import check_whole
from framesift.types import CandidateIndex, Evidence, Selection
from framesift.types.lookup import Lookup
from framesift.types.vectors import Array

WIDENING = 2  # the number of clusters grows by this factor
LOW, MEDIUM, HIGH = 1, 2, 3  # relevance of a cluster

PROMPT = """These are descriptions of {count} frames of a video, in chronological order:
{captions}

{question}

How relevant is each frame to answering the question? 1: not relevant, 2: somewhat relevant, 3: highly relevant.
Reply with JSON only, {count} numbers in the order of the frames: {{"relevance": [1, 3, …]}}"""


class Cluster(NamedTuple):
    """A cluster of the first level: its frames, the one that was described, and the model's rating, if it gave one."""

    members: list[int]
    described: int
    rating: int | None

    @property
    def relevance(self) -> int:
        """The rating; a cluster that was not rated may be relevant, so that it is looked into."""
        return HIGH if self.rating is None else self.rating


def videotree(
    evidence: Evidence,
    budget: int,
    *,
    lookup: Lookup,
    clusters: int = 8,
    max_clusters: int = 32,
    enough: int = 4,
    branches: int = 4,
    calls: int = 128,
    seed: int = 0,
) -> Selection:
    """Cluster the frames, describe and rate one frame of each cluster, and split relevant clusters further.

    Input: frame vectors, decoded frames, the question's words, a model. Cost: one call of `captioner` (by
    default the model) for each cluster and one of `model` for each number of clusters, at most `calls`. The number of
    clusters doubles from `clusters` to `max_clusters` until `enough` of them are highly relevant. A cluster of medium
    relevance is split into `branches` by Ward's method, a highly relevant one twice. The frame in the middle of every
    cluster comes first, then those of the branches, both by relevance. seed: of the first centres.

    Differs: k-means is seeded; the vectors have length 1; a rating belongs to the cluster whose frame was rated, not to
    the one with that number; a highly relevant cluster whose branches are all single frames keeps them; a tree with
    more frames than the budget is cut, one with fewer is filled up by relevance; a budget for all frames asks nothing;
    without calls left for more clusters, it stays at those it has.
    """
    sizes = {"clusters": clusters, "max_clusters": max_clusters, "enough": enough, "branches": branches}
    for name, value in sizes.items():
        check_whole(name, value, low=1)
    rng = np.random.default_rng(check_whole("seed", seed))
    question, _ = question_lines(lookup.require("question")), lookup.require("model")
    access, asked = FrameAccess(evidence, lookup), ModelCalls(lookup, calls)
    if budget >= len(evidence):
        return build_selection(evidence, range(len(evidence)), looked_at=0)
    captions = FrameCaptions(evidence, lookup, access, asked)
    count, widths = min(clusters, len(evidence)), []
    asked.require(count + 1)
    while True:
        widths.append(count)
        found = _rated_clusters(evidence.vectors.rows, count, rng, question, asked, captions)
        high = sum(cluster.rating == HIGH for cluster in found)
        wider = min(count * WIDENING, max_clusters, len(evidence))
        if high >= enough or wider <= count or asked.left <= wider:
            break
        count = wider
    indices = _order_nodes(evidence, found, branches)[:budget]
    indices = fill_by_relevance(Ranking(evidence.relevance), indices, budget)
    rows = [
        {
            "index": CandidateIndex(c.described),
            "caption": captions.texts[c.described],
            "rating": c.rating,
            "frames": len(c.members),
        }
        for c in found
    ]
    inspected = access.frames_inspected
    return build_selection(evidence, indices, looked_at=inspected, widths=widths, clusters=rows, calls=asked.made)


def _rated_clusters(
    rows: Array, count: int, rng: np.random.Generator, question: str, asked: ModelCalls, captions: FrameCaptions
) -> list[Cluster]:
    """`count` clusters in the order of the frames that describe them, rated by the model."""
    labels, centres = cosine_kmeans(rows, rng.permutation(len(rows))[:count].tolist(), rng)
    described = sorted((index, k) for k, index in nearest_to_centres(rows, labels, centres).items())
    indices = [index for index, _ in described]
    captions.add(indices)
    reply = asked.ask(PROMPT.format(count=len(indices), captions=captions.listed(indices), question=question))
    ratings = parse_ratings(reply, len(indices))
    members = [np.flatnonzero(labels == k).tolist() for _, k in described]
    return [Cluster(*fields) for fields in zip(members, indices, ratings, strict=True)]


def parse_ratings(reply: str, count: int) -> list[int | None]:
    """The numbers from 1 to 3 of a reply in order; None for each that is missing or another value."""
    value = parse_json(reply)
    given = value.get("relevance") if isinstance(value, dict) else value
    numbers = given[:count] if isinstance(given, list) else []
    ratings = [number if number in (LOW, MEDIUM, HIGH) and not isinstance(number, bool) else None for number in numbers]
    return ratings + [None] * (count - len(ratings))


def expand(rows: Array, members: list[int], relevance: int, branches: int) -> tuple[int, list[int]]:
    """The frame in the middle of a cluster, and those of its branches."""
    if relevance == LOW or len(members) < 2:
        return middle_row(rows, members), []
    parts = ward_clusters(rows, members, branches)
    if relevance == HIGH:
        # A branch of one frame can't be split again and is left out, unless all are.
        parts = [leaf for part in parts if len(part) > 1 for leaf in ward_clusters(rows, part, branches)] or parts
    root = middle_row(rows, [index for part in parts for index in part])
    return root, [middle_row(rows, part) for part in parts]


def _order_nodes(evidence: Evidence, found: list[Cluster], branches: int) -> list[int]:
    """The tree's frames, each once: the clusters' own, then those of the branches, the relevant ones first."""
    roots, leaves = [], []
    for cluster in found:
        root, below = expand(evidence.vectors.rows, cluster.members, cluster.relevance, branches)
        roots.append((-cluster.relevance, root))
        leaves += [(-cluster.relevance, leaf) for leaf in below]
    rank = Ranking(evidence.relevance).rank
    ordered = [sorted(level, key=lambda node: (node[0], rank[node[1]])) for level in (roots, leaves)]
    return list(dict.fromkeys(index for level in ordered for _, index in level))


SELECTOR = Selector.of(
    "videotree",
    videotree,
    "a tree of clusters, deeper where a model finds them relevant",
    paper="Wang et al., CVPR 2025",
    parts=("model", "captioner"),
    needs=("vectors", "pictures", "model", "peers"),
)
