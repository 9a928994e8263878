"""OMP and LDDR: frames chosen for what the frames before them leave of the question, or of themselves.

Pati, Rezaiifar and Krishnaprasad, "Orthogonal Matching Pursuit", Asilomar 1993. LDDR is arXiv 2605.11477, 2026.
"""

from collections.abc import Callable

import numpy as np

from framesift.selection.scores import Ranking, min_max
from framesift.selection.selector import Amount, selector
from framesift.types import Evidence, Selection
from framesift.types.vectors import TIE_TOLERANCE, Array, UnitRows


@selector("orthogonal matching pursuit of the question", paper="Pati et al., 1993", needs=("vectors",))
def omp(evidence: Evidence, budget: int) -> Selection:
    """Select the frame with the largest product with what is left of the query, and take its projection off; repeat.

    Input: frame vectors and the query's. Cost: O(B·N·D). What is left is the query minus its projection on the span of
    the frames chosen so far. If no product is above 0, the most relevant others fill the budget.

    Differs: Pati et al. take the largest absolute product, here a frame opposed to the query is none of its parts. Ties
    go to the earlier frame.
    """
    (query,) = evidence.query_row
    products = evidence.vectors.products(evidence.query_row)[:, 0]
    chosen = pursue(evidence.vectors, products, lambda direction, along: along * (query @ direction), budget)
    return Selection.of(evidence, Ranking(evidence.relevance).fill(chosen, budget))


@selector("relevant and diverse by a DPP in feature space", paper="arXiv 2605.11477, 2026", needs=("vectors",))
def lddr(evidence: Evidence, budget: int, *, power: Amount = 1.0) -> Selection:
    """Select the greedy MAP list of a DPP whose kernel is rᵢ·cos(i, j)·rⱼ: relevant frames that differ.

    Input: frame vectors. Cost: O(B·N·D), linear in N, since no kernel is computed: a frame's gain is rᵢ² times the
    squared distance of its vector from the span of those chosen. r: relevance, min–max normalised, to the `power`; 0
    is diversity alone. A kernel of rank D gives at most D frames; the most relevant others fill the budget.

    Differs: only the first stage, as the paper's abstract describes it. r is ours, and nothing was compared with the
    authors' code. Ties go to the earlier frame.
    """
    scaled = min_max(evidence.relevance)
    weights = (scaled if scaled.any() else np.ones(len(evidence))) ** (2 * power)
    chosen = pursue(evidence.vectors, weights, lambda _, along: weights * along**2, budget)
    return Selection.of(evidence, Ranking(evidence.relevance).fill(chosen, budget), "context")


def pursue(vectors: UnitRows, gains: Array, loss: Callable[[Array, Array], Array], size: int) -> list[int]:
    """Choose up to `size` frames by the largest of `gains` (N,), as long as it is above 0.

    loss: what the gains lose by a frame, from its direction orthogonal to those before it (D,), and the products of all
    frames with that (N,).
    """
    basis, gains = np.empty((0, vectors.dim)), gains.copy()
    chosen: list[int] = []
    while len(chosen) < size and (top := gains.max()) > TIE_TOLERANCE:
        best = int((gains >= top - TIE_TOLERANCE).argmax())
        direction = vectors.exact(np.array([best]))
        for _ in range(2):  # once leaves the rounding of a vector that is almost in the span
            direction = direction - direction @ basis.T @ basis
        direction /= np.linalg.norm(direction)
        basis = np.concatenate((basis, direction))
        gains -= loss(direction[0], vectors.products(direction)[:, 0])
        gains[best] = -np.inf
        chosen.append(best)
    return chosen
