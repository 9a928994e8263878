"""Configuration of the tools: what they may read, how much they return, and the pipeline's settings."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from framesift._utils.settings import check_count
from framesift.errors import OptionError
from framesift.pipeline.config import PipelineConfig

UrlMode = Literal["none", "files"]
URL_MODES: tuple[UrlMode, ...] = get_args(UrlMode)
DEFAULT_BUDGET = 8
MAX_BUDGET = 16
DEFAULT_SIDE = 768
LOOK_SIDE = 1536
SIDES = (64, 4096)
# Base64 adds a third: with the text, a reply stays below the 1 MiB that Claude Desktop accepts.
REPLY_BYTES = 700_000
# The TypeScript SDK, which many clients use, gives up on a request after 60 seconds.
WAIT_S = 30.0
DOWNLOAD_BYTES = 2_000_000_000


@dataclass(frozen=True)
class AgentConfig:
    """What the tools may read and how much they return.

    folders: the only directories that are read. pipeline: how videos are indexed and frames are selected; budget and
    size come from each call. max_budget: the most frames of a call. max_side: the longest side of the images of
    `watch`, unless a call names another. wait_s: how long a call waits for an index. urls: "none" or "files" (a video
    at an http or https address). allow_private: also download from addresses inside this network.
    """

    folders: tuple[Path, ...] = ()
    pipeline: PipelineConfig = field(default_factory=PipelineConfig)
    max_budget: int = MAX_BUDGET
    max_side: int = DEFAULT_SIDE
    wait_s: float = WAIT_S
    urls: UrlMode = "files"
    download_bytes: int = DOWNLOAD_BYTES
    allow_private: bool = False

    def __post_init__(self) -> None:
        for folder in self.folders:
            if not folder.is_dir():
                raise OptionError(f"{folder} is not a directory; expected a directory of videos")
        check_count("max_budget", self.max_budget)
        check_count("max_download", self.download_bytes)
        if not SIDES[0] <= self.max_side <= SIDES[1]:
            raise OptionError(f"max_side is {self.max_side}; expected {SIDES[0]} to {SIDES[1]} pixels")
        if not self.wait_s >= 0:
            raise OptionError(f"wait is {self.wait_s}; expected seconds from 0")
        if self.urls not in URL_MODES:
            raise OptionError(f"urls is {self.urls!r}; expected one of {', '.join(URL_MODES)}")

    @property
    def default_budget(self) -> int:
        return min(DEFAULT_BUDGET, self.max_budget)
