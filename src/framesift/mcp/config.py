"""Configuration of the tools: what they may read, how much they return, and the pipeline's settings."""

from dataclasses import dataclass

from framesift._utils.settings import check_count
from framesift.errors import OptionError
from framesift.library.downloads import SourceConfig

MAX_BUDGET = 16
DEFAULT_SIDE = 768
LOOK_SIDE = 1536
SIDES = (64, 4096)
# Base64 adds a third: with the text, a reply stays below the 1 MiB that Claude Desktop accepts.
REPLY_BYTES = 700_000
# The TypeScript SDK, which many clients use, gives up on a request after 60 seconds.
WAIT_S = 30.0


@dataclass(frozen=True)
class AgentConfig(SourceConfig):
    """What the tools may read and how much they return.

    pipeline: budget and size come from each call. max_budget: the most frames of a call. max_side: the longest side of
    the images of `watch`, unless a call names another. wait_s: how long a call waits for an index.
    """

    max_budget: int = MAX_BUDGET
    max_side: int = DEFAULT_SIDE
    wait_s: float = WAIT_S

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("max_budget", self.max_budget)
        if not SIDES[0] <= self.max_side <= SIDES[1]:
            raise OptionError(f"max_side is {self.max_side}; expected {SIDES[0]} to {SIDES[1]} pixels")
        if not self.wait_s >= 0:
            raise OptionError(f"wait is {self.wait_s}; expected seconds from 0")
