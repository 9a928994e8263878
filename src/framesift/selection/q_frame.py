"""Q-Frame: a seeded random sample that favours relevant frames.

Zhang et al., "Q-Frame: Query-aware Frame Selection and Multi-Resolution Adaptation for Video-LLMs", ICCV 2025.
"""

import numpy as np

from framesift.errors import OptionError
from framesift.selection.result_builders import build_selection
from framesift.selection.sampling import seeded_generator
from framesift.selection.scores import Ranking, softmax
from framesift.selection.selector import Selector
from framesift.selection.validation import check_positive
from framesift.types import Evidence, Selection

EPSILON = 1e-10  # keeps both logarithms of the noise finite


def q_frame(
    evidence: Evidence,
    budget: int,
    *,
    temperature: float = 0.8,
    seed: int | np.random.Generator = 0,
    logs: bool = True,
) -> Selection:
    """Select the largest of log softmax(relevance / temperature) + Gumbel noise: a sample in proportion to the softmax.

    Input: relevance. Cost: O(N log N). seed: of the noise, or a generator whose next N uniform draws make it. logs:
    False adds the noise to the softmax itself, as the paper's formula reads; the published code adds it to its
    logarithm.

    Differs: the noise is seeded, so that a comparison can be repeated; the frames have one resolution in
    place of three.
    """
    temperature = check_positive("temperature", temperature)
    rng = seeded_generator(seed)
    if not isinstance(logs, bool):
        raise OptionError(f"logs is {logs!r}; expected True or False")
    probabilities = softmax(evidence.relevance, temperature)
    noise = -np.log(-np.log(rng.random(len(evidence)) + EPSILON) + EPSILON)
    indices = Ranking((np.log(probabilities) if logs else probabilities) + noise).order[:budget].tolist()
    return build_selection(evidence, indices)


SELECTOR = Selector.of(
    "q-frame", q_frame, "a seeded random sample that favours relevant frames", paper="Zhang et al., ICCV 2025"
)
