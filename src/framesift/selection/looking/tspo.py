"""TSPO: relevance from a small trained network that encodes each frame in its temporal context.

Tang et al., "TSPO: Temporal Sampling Policy Optimization for Long-form Video Language Understanding", AAAI 2026.
`framesift.encoders.temporal` loads the network; this file has the two selection rules.
"""

from functools import partial
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from framesift.errors import InputError, OptionError
from framesift.selection.baselines import best_of_bins
from framesift.selection.scores import Ranking
from framesift.selection.selector import check_choice, selector
from framesift.types import Evidence, Lookup, Selection
from framesift.types.vectors import Array, UnitRows, merge_ties

TEMPERATURE = 0.025
RULES = ("top", "bins")


@selector(
    "relevance from a trained network with temporal context",
    paper="Tang et al., AAAI 2026",
    parts=("network",),
    needs=("vectors", "network"),
)
def tspo(
    evidence: Evidence,
    budget: int,
    *,
    lookup: Lookup,
    choose: Annotated[str, partial(check_choice, choices=RULES)] = "top",
    lengths: ArrayLike | None = None,
) -> Selection:
    """Select the largest (cosine of the network's vector with the question + the frame's own cosine) / 0.025.

    Input: CLIP-L vectors of frames and question, and the trained network (`framesift.encoders.temporal.load`). Cost:
    one pass of the network, O(N·D²). choose: "top", the B largest of all; "bins", the largest in each of B bins as in
    `bin-max` (Video-MME). lengths: those of CLIP's image vectors before they were normalised, one for all or (N,); the
    network was trained on vectors of that length, and the evidence has unit vectors.

    Differs: only in ties, which go to the earlier frame; the frames' own cosine is `evidence.relevance`.
    """
    network = lookup.require("network")
    row_lengths = _check_lengths(lengths, len(evidence))
    frames = evidence.vectors.rows * row_lengths[:, None]
    embedded = network.embed(frames)
    cosines = UnitRows(embedded, "the network's vectors").products(evidence.query_row)[:, 0]
    ranking = Ranking(merge_ties((cosines + evidence.relevance) / TEMPERATURE))
    return Selection.of(evidence, ranking.order[:budget] if choose == "top" else best_of_bins(ranking, budget))


def _check_lengths(lengths: ArrayLike | None, count: int) -> Array:
    if lengths is None:
        raise InputError(
            "tspo needs the lengths of CLIP's image vectors, which an index does not have: pass lengths= their mean "
            "(--set lengths=NUMBER) or one per frame"
        )
    try:
        values = np.broadcast_to(np.asarray(lengths, dtype=np.float64), (count,))
    except (TypeError, ValueError):
        values = np.zeros(1)
    if not (np.isfinite(values) & (values > 0)).all():
        raise OptionError(f"lengths is {lengths!r}; expected a number above 0, or {count} of them")
    return values
