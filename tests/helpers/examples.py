"""How many examples Hypothesis draws."""

import os

IS_THOROUGH = bool(os.environ.get("FRAMESIFT_THOROUGH_TESTS"))


def examples(count: int) -> int:
    """A third of `count`, which keeps `make test` short; all of them with FRAMESIFT_THOROUGH_TESTS=1."""
    return count if IS_THOROUGH else -(-count // 3)
