"""Clusters of frame vectors: k-means by cosine, Ward's hierarchy, and the frame nearest to the middle of a cluster."""

from collections.abc import Sequence

import numpy as np

from framesift._utils.optional import require
from framesift.types.vectors import Array, merge_ties

KMEANS_STEPS = 15
KMEANS_TOLERANCE = 1e-4  # of the squared sum of the distances by which the centres moved


def cosine_kmeans(rows: Array, starts: Sequence[int], rng: np.random.Generator) -> tuple[Array, Array]:
    """(N,) the cluster of each row and (K, D) the clusters' centres, from the rows at `starts` as first centres.

    A row belongs to the centre with the largest cosine, of equal ones the first; a centre is the mean of its rows. A
    centre without rows moves to one drawn by `rng`. The clusters are those of the last centres but one.
    """
    rows = np.asarray(rows, dtype=np.float64)
    unit, centres = _unit(rows), rows[list(starts)]
    for _ in range(KMEANS_STEPS):
        clusters: Array = np.argmax(np.round(unit @ _unit(centres).T, 12), axis=1)
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
    for k, centre in enumerate(centres):
        members = np.flatnonzero(clusters == k)
        if len(members):
            distances = np.linalg.norm(rows[members].astype(np.float64) - centre, axis=1)
            nearest[k] = int(members[np.argmin(merge_ties(distances))])
    return nearest


def ward_clusters(rows: Array, indices: Sequence[int], count: int) -> list[list[int]]:
    """Split the rows at `indices` into at most `count` clusters by Ward's method; one row is one cluster."""
    if len(indices) < 2:
        return [list(indices)]
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
