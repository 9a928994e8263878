"""Q-Frame: a seeded random draw that favours relevant frames.

Zhang et al., "Q-Frame: Query-aware Frame Selection and Multi-Resolution Adaptation for Video-LLMs", ICCV 2025.
"""

import numpy as np

from framesift.errors import OptionError
from framesift.selection.ranking import Ranking
from framesift.selection.registry import Selector
from framesift.selection.result_builders import selection_of
from framesift.selection.sampling import gumbel, softmax
from framesift.selection.validation import check_positive, check_whole
from framesift.types import Evidence, Selection


def q_frame(
    evidence: Evidence, budget: int, *, temperature: float = 0.8, seed: int = 0, logs: bool = False
) -> Selection:
    """The largest of softmax(relevance / temperature) + Gumbel noise.

    Input: relevance. Cost: O(N log N). seed: the draw repeats with it. logs: add the noise to the logarithm of the
    softmax, which makes it a draw in proportion to it; by default it is added to the softmax itself, as described.

    Differs: the noise is seeded, because a comparison must repeat; the three resolutions are the exhibit's
    (`scales=Q_FRAME_SCALES`).
    """
    temperature, seed = check_positive("temperature", temperature), check_whole("seed", seed)
    if not isinstance(logs, bool):
        raise OptionError(f"logs is {logs!r}; expected True or False")
    favour = softmax(evidence.relevance, temperature)
    noisy = (np.log(favour) if logs else favour) + gumbel(np.random.default_rng(seed), len(evidence))
    chosen = Ranking(noisy).order[:budget].tolist()
    options = {"temperature": temperature, "seed": seed, "logs": logs}
    return selection_of(evidence, budget, "q-frame", chosen, "visual", options)


SELECTOR = Selector.of(
    "q-frame", q_frame, "a seeded draw that favours relevant frames", paper="Zhang et al., ICCV 2025"
)
