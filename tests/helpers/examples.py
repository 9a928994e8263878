"""How many examples Hypothesis draws, and which."""

import os

from hypothesis import HealthCheck

# Examples are drawn at random, and others in every run, instead of the same ones.
IS_THOROUGH = bool(os.environ.get("FRAMESIFT_THOROUGH_TESTS"))
UNCHECKED = (HealthCheck.too_slow,)  # on a busy machine drawing may take long


def examples(count: int) -> int:
    """A third of `count`, which keeps `make test` short; all of them with FRAMESIFT_THOROUGH_TESTS=1."""
    return count if IS_THOROUGH else -(-count // 3)
