"""The session behind the tools, and errors as replies."""

import logging
import re

from framesift._utils.text import printable
from framesift.errors import FramesiftError
from framesift.library.session import VideoSession
from framesift.mcp.config import AgentConfig
from framesift.mcp.replies import Reply, data

log = logging.getLogger(__name__)
_MARK = re.compile("<data>(.*?)</data>")


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
