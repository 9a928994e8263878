"""A note on how long indexing will take on this machine, and what would take less."""

from collections.abc import Mapping

LONG_S = 120.0  # shorter work needs no note
# The time of an image on a CPU relative to that with `siglip`, measured on two cores (docs/performance.md).
RELATIVE_COSTS: Mapping[str, float] = {"siglip": 1.0, "siglip2": 1.0, "siglip-base": 0.21, "offline": 0.003}


def describe_estimate(seconds: float, *, encoding: float, encoder: str, fps: float) -> str | None:
    """The note for work that takes this long from now on; None if it is short.

    encoding: the share of it that other settings reduce; decoding takes as long for fewer candidates.
    """
    if seconds < LONG_S:
        return None
    cost = RELATIVE_COSTS.get(encoder, 0.0)
    cheaper = [(f"--encoder {name}", other / cost) for name, other in RELATIVE_COSTS.items() if other < cost]
    shares = [*cheaper, (f"--fps {fps / 2:g}", 0.5)]
    others = ", ".join(f"{flag} about {_rounded((1 - encoding * (1 - share)) * seconds)}" for flag, share in shares)
    return f"indexing takes about {_rounded(seconds)} on this machine; {others}"


def _rounded(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1.5:
        return "1 minute"
    return f"{minutes:.0f} minutes" if minutes < 100 else f"{minutes / 60:.1f} hours"
