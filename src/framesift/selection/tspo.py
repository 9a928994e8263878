"""TSPO: relevance judged by a small trained network that sees each frame among its neighbours.

Tang et al., "TSPO: Temporal Sampling Policy Optimization for Long-form Video Language Understanding", AAAI 2026.
The network lives in `encode.temporal`; this file has its two ways of choosing.
"""

from typing import Protocol

import numpy as np

from framesift.errors import InputError
from framesift.selection.bin_max import best_of_bins
from framesift.selection.ranking import Ranking
from framesift.selection.registry import Selector
from framesift.selection.result_builders import selection_of
from framesift.selection.validation import check_choice
from framesift.types import Evidence, Selection
from framesift.types.vectors import Array, settle, unit_rows

SCALE = 0.025
WAYS = ("top", "bins")


class Network(Protocol):
    """Frame vectors in, the same frames as seen among their neighbours out."""

    name: str

    def embed(self, frames: Array) -> Array:
        """(N, D) → (N, D), not normalised."""


def tspo(evidence: Evidence, budget: int, *, network: Network | None = None, choose: str = "top") -> Selection:
    """The largest (cosine of the network's vector with the question + the frame's own cosine) / 0.025.

    Input: CLIP-L vectors of frames and question, and the trained network (`encode.temporal.load`). Cost: one pass of
    the network, O(N·D²). choose: "top", the B largest of all; "bins", the largest in each of B equal bins (Video-MME).

    Differs: nothing but ties, which go to the earlier frame; the frames' own cosine is `evidence.relevance`.
    """
    choose = check_choice("choose", choose, WAYS)
    if network is None:
        raise InputError(
            "tspo needs its trained weights: pass network='FILE' (--set network=FILE), a safetensors or .pt file, or "
            "use bin-max, which needs none"
        )
    seen = np.asarray(network.embed(evidence.vectors.rows))
    if seen.shape != evidence.vectors.rows.shape:
        raise InputError(
            f"the network gave {seen.shape} for frames of {evidence.vectors.rows.shape}; expected the same"
        )
    cosines = unit_rows(seen.astype(np.float64), "the network's vectors") @ evidence.query
    ranking = Ranking(settle((cosines + evidence.relevance) / SCALE))
    size = min(budget, len(evidence))
    chosen = ranking.order[:size].tolist() if choose == "top" else best_of_bins(ranking, size)
    options = {"network": str(getattr(network, "name", type(network).__name__)), "choose": choose}
    return selection_of(evidence, budget, "tspo", chosen, "visual", options)


SELECTOR = Selector.of(
    "tspo",
    tspo,
    "relevance judged by a trained network among neighbouring frames",
    paper="Tang et al., AAAI 2026",
    needs=("vectors", "network"),
)
