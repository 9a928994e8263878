"""Q-Frame: a seeded random sample that favours relevant frames.

Zhang et al., "Q-Frame: Query-aware Frame Selection and Multi-Resolution Adaptation for Video-LLMs", ICCV 2025.
"""

import numpy as np

from framesift.errors import OptionError
from framesift.selection.result_builders import build_selection
from framesift.selection.sampling import gumbel_noise
from framesift.selection.scores import Ranking, softmax
from framesift.selection.selector import Selector
from framesift.selection.validation import check_positive, check_whole
from framesift.types import Evidence, Selection


def q_frame(
    evidence: Evidence, budget: int, *, temperature: float = 0.8, seed: int = 0, logs: bool = False
) -> Selection:
    """Select the largest of softmax(relevance / temperature) + Gumbel noise.

    Input: relevance. Cost: O(N log N). seed: of the noise. logs: add the noise to the logarithm of the softmax, which
    makes it a sample in proportion to the softmax; by default it is added to the softmax itself, as described.

    Differs: the noise is seeded, so that a comparison can be repeated; the three resolutions are an option of the
    exhibit (`scales=Q_FRAME_SCALES`).
    """
    temperature, seed = check_positive("temperature", temperature), check_whole("seed", seed)
    if not isinstance(logs, bool):
        raise OptionError(f"logs is {logs!r}; expected True or False")
    probabilities = softmax(evidence.relevance, temperature)
    noise = gumbel_noise(np.random.default_rng(seed), len(evidence))
    indices = Ranking((np.log(probabilities) if logs else probabilities) + noise).order[:budget].tolist()
    options = {"temperature": temperature, "seed": seed, "logs": logs}
    return build_selection(evidence, budget, "q-frame", indices, "visual", options)


SELECTOR = Selector.of(
    "q-frame", q_frame, "a seeded random sample that favours relevant frames", paper="Zhang et al., ICCV 2025"
)
