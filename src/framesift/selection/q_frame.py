"""Q-Frame: a seeded random sample that favours relevant frames.

Zhang et al., "Q-Frame: Query-aware Frame Selection and Multi-Resolution Adaptation for Video-LLMs", ICCV 2025.
"""

import numpy as np

from framesift.selection.scores import Ranking, softmax
from framesift.selection.selector import Flag, Positive, Seed, selector
from framesift.types import Evidence, Selection

EPSILON = 1e-10  # keeps both logarithms of the noise finite


@selector("a seeded random sample that favours relevant frames", paper="Zhang et al., ICCV 2025")
def q_frame(
    evidence: Evidence, budget: int, *, temperature: Positive = 0.8, seed: Seed = 0, logs: Flag = True
) -> Selection:
    """Select the largest of log softmax(relevance / temperature) + Gumbel noise: a sample in proportion to the softmax.

    Input: relevance. Cost: O(N log N). seed: of the noise, or a generator whose next N uniform draws make it. logs:
    False adds the noise to the softmax itself, as the paper's formula reads; the published code adds it to its
    logarithm.

    Differs: the noise is seeded, so that a comparison can be repeated; the frames have one resolution in
    place of three, which go by the noisy rank.
    """
    probabilities = softmax(evidence.relevance, temperature)
    noise = -np.log(-np.log(np.random.default_rng(seed).random(len(evidence)) + EPSILON) + EPSILON)
    return Selection.of(evidence, Ranking((np.log(probabilities) if logs else probabilities) + noise).order[:budget])
