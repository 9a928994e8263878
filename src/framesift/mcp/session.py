"""The session behind the tools, and errors as replies."""

import logging
import re
from dataclasses import dataclass

from framesift._utils.text import printable
from framesift.errors import FramesiftError, OptionError
from framesift.library.downloads import SourceConfig
from framesift.library.session import VideoSession
from framesift.mcp.replies import Reply, data

log = logging.getLogger(__name__)
_MARK = re.compile("<data>(.*?)</data>")


@dataclass(frozen=True)
class AgentConfig(SourceConfig):
    """What the tools may read. pipeline: budget and size come from each call. wait_s: how long a call waits."""

    wait_s: float = 30.0  # the TypeScript SDK, which many clients use, gives up on a request after 60 seconds

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.wait_s >= 0:
            raise OptionError(f"wait is {self.wait_s}; expected seconds from 0")


class AgentSession(VideoSession):
    """A session whose messages mark the names of files as data."""

    def __init__(self, config: AgentConfig) -> None:
        super().__init__(config, ".mcp", mark=data)
        self.config = config


def error_reply(error: Exception) -> Reply:
    """An error as a reply that the model can act on."""
    if isinstance(error, FramesiftError):
        return Reply((f"Error: {_plain_message(error)}",), is_error=True)
    log.error("a tool failed", exc_info=error)
    return Reply(
        (f"Error: framesift failed unexpectedly ({type(error).__name__}); see the server's log",), is_error=True
    )


def _plain_message(error: object) -> str:
    """An error's message on one line, with the marks of data that it holds, and no others."""
    parts = _MARK.split(printable(str(error)))  # every second one is from inside a mark
    return "".join(
        data(part) if number % 2 else part[:600].replace("<", "‹").replace(">", "›")
        for number, part in enumerate(parts)
    )
