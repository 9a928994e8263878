"""VideoTree: cluster the frames, widen until enough clusters are relevant, then look deeper into those.

Wang et al., "VideoTree: Adaptive Tree-based Video Representation for LLM Reasoning on Long Videos", CVPR 2025.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from framesift._utils.requirements import require
from framesift.selection.looking.access import Access, reply_field
from framesift.selection.scores import Ranking
from framesift.selection.selector import Count, Whole, selector
from framesift.types import CandidateIndex, Evidence, Lookup, Selection
from framesift.types.vectors import Array, merge_ties

KMEANS_STEPS = 15
KMEANS_TOLERANCE = 1e-4  # of the squared sum of the distances by which the centres moved
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


@selector(
    "a tree of clusters, deeper where a model finds them relevant",
    paper="Wang et al., CVPR 2025",
    parts=("model", "captioner"),
    needs=("vectors", "frames", "model", "peers"),
)
def videotree(
    evidence: Evidence,
    budget: int,
    *,
    lookup: Lookup,
    clusters: Count = 8,
    max_clusters: Count = 32,
    enough: Count = 4,
    branches: Count = 4,
    calls: Count = 128,
    seed: Whole = 0,
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
    access, _ = Access(evidence, lookup, calls), (lookup.require("question"), lookup.require("model"))
    if budget >= len(evidence):
        return access.select(range(len(evidence)))
    rng = np.random.default_rng(seed)
    count, widths = min(clusters, len(evidence)), []
    access.require_calls(count + 1)
    while True:
        widths.append(count)
        found = _rated_clusters(evidence.vectors.rows, count, rng, access)
        high = sum(cluster.rating == HIGH for cluster in found)
        wider = min(count * WIDENING, max_clusters, len(evidence))
        if high >= enough or wider <= count or access.left <= wider:
            break
        count = wider
    ranking = Ranking(evidence.relevance)
    indices = ranking.fill(_order_nodes(evidence.vectors.rows, ranking.rank, found, branches)[:budget], budget)
    rows = [
        {
            "index": CandidateIndex(cluster.described),
            "caption": access.captions[cluster.described],
            "rating": cluster.rating,
            "frames": len(cluster.members),
        }
        for cluster in found
    ]
    return access.select(indices, widths=widths, clusters=rows, calls=access.calls)


def _rated_clusters(rows: Array, count: int, rng: np.random.Generator, access: Access) -> list[Cluster]:
    """`count` clusters in the order of the frames that describe them, rated by the model."""
    labels, centres = cosine_kmeans(rows, rng.permutation(len(rows))[:count].tolist(), rng)
    described = sorted((index, k) for k, index in nearest_to_centres(rows, labels, centres).items())
    indices = [index for index, _ in described]
    access.describe(indices)
    prompt = PROMPT.format(count=len(indices), captions=access.listed(indices), question=access.question)
    ratings = parse_ratings(access.ask(prompt), len(indices))
    members = [np.flatnonzero(labels == k).tolist() for _, k in described]
    return [Cluster(*fields) for fields in zip(members, indices, ratings, strict=True)]


def parse_ratings(reply: str, count: int) -> list[int | None]:
    """The numbers from 1 to 3 of a reply in order; None for each that is missing or another value."""
    given = reply_field(reply, "relevance")
    numbers = [*(given if isinstance(given, list) else []), *[None] * count][:count]
    return [number if number in (LOW, MEDIUM, HIGH) and not isinstance(number, bool) else None for number in numbers]


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


def _order_nodes(rows: Array, rank: Array, found: list[Cluster], branches: int) -> list[int]:
    """The tree's frames, each once: the clusters' own, then those of the branches, the relevant ones first."""
    roots, leaves = [], []
    for cluster in found:
        root, below = expand(rows, cluster.members, cluster.relevance, branches)
        roots.append((-cluster.relevance, root))
        leaves += [(-cluster.relevance, leaf) for leaf in below]
    ordered = [sorted(level, key=lambda node: (node[0], rank[node[1]])) for level in (roots, leaves)]
    return list(dict.fromkeys(index for level in ordered for _, index in level))


def cosine_kmeans(rows: Array, starts: Sequence[int], rng: np.random.Generator) -> tuple[Array, Array]:
    """(N,) the cluster of each row and (K, D) the clusters' centres, from the rows at `starts` as first centres.

    A row belongs to the centre with the largest cosine, of equal ones the first; a centre is the mean of its rows. A
    centre without rows moves to one drawn by `rng`. The clusters are those of the last centres but one.
    """
    rows = np.asarray(rows, dtype=np.float64)
    unit, centres = _unit(rows), rows[list(starts)]
    for _ in range(KMEANS_STEPS):
        clusters = np.argmax(np.round(unit @ _unit(centres).T, 12), axis=1)
        before, centres = centres, np.empty_like(centres)
        for k in range(len(centres)):
            members = np.flatnonzero(clusters == k)
            centres[k] = rows[members].mean(axis=0) if len(members) else rows[rng.integers(len(rows))]
        if np.linalg.norm(centres - before, axis=1).sum() ** 2 < KMEANS_TOLERANCE:
            break
    return clusters, centres


def nearest_to_centres(rows: Array, clusters: Array, centres: Array) -> dict[int, int]:
    """Cluster → the index of its row that is nearest to its centre; a cluster without rows is left out."""
    nearest = {}
    for k in np.unique(clusters).tolist():
        members = np.flatnonzero(clusters == k)
        distances = np.linalg.norm(rows[members].astype(np.float64) - centres[k], axis=1)
        nearest[k] = int(members[np.argmin(merge_ties(distances))])
    return nearest


def ward_clusters(rows: Array, indices: Sequence[int], count: int) -> list[list[int]]:
    """Split the rows at `indices`, two or more, into at most `count` clusters by Ward's method."""
    hierarchy = require("scipy.cluster.hierarchy", "peers")
    joined = hierarchy.linkage(rows[list(indices)].astype(np.float64), method="ward")
    labels = hierarchy.fcluster(joined, count, criterion="maxclust")
    return [[indices[j] for j in np.flatnonzero(labels == k).tolist()] for k in range(1, labels.max() + 1)]


def middle_row(rows: Array, indices: Sequence[int]) -> int:
    """The one of these rows with the largest cosine to their mean, of equal ones the first listed."""
    members = rows[list(indices)].astype(np.float64)
    cosines = _unit(members) @ _unit(members.mean(axis=0, keepdims=True))[0]
    return indices[int(np.argmax(merge_ties(cosines)))]


def _unit(rows: Array) -> Array:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)
