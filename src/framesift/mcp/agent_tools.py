"""The tools as plain functions, for frameworks that read a function's signature and docstring."""

import base64
import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from framesift._utils.files import StrPath
from framesift.errors import FramesiftError, OptionError
from framesift.library.downloads import UrlMode
from framesift.library.session import Call
from framesift.mcp.replies import Reply
from framesift.mcp.session import AgentConfig, AgentSession, error_reply
from framesift.mcp.tools import TOOL_NAMES, VideoTools, call_tool
from framesift.pipeline.config import PipelineConfig

ToolOutput = Literal["blocks", "text", "openai-agents"]


def agent_tools(
    *folders: StrPath,
    output: ToolOutput = "blocks",
    config: PipelineConfig | None = None,
    urls: UrlMode = "none",
) -> list[Callable[..., Any]]:
    """Give an agent's framework the tools of `framesift mcp` as functions with signatures and docstrings.

    Args:
        *folders: The only directories that are read.
        output: "blocks" returns a list of text and image_url blocks, as chat APIs take them; "openai-agents" the text
            and image outputs of that SDK; "text" only the text.
        config: The settings of indexing and selecting.
        urls: "files" also accepts http(s) addresses of videos.

    Returns:
        The functions. They return errors as text, so that the model can correct the call, and wait until a new video is
        indexed.

    Raises:
        OptionError: An option is unknown or out of range.

    Example:
        ```python
        list_videos, watch, *_ = fs.agent_tools("videos")
        blocks = watch("film.mp4", "Why was the launch put off?")
        ```
    """
    if output not in get_args(ToolOutput):
        raise OptionError(f"output is {output!r}; expected one of {', '.join(get_args(ToolOutput))}")
    places = tuple(map(Path, folders))
    session = AgentSession(AgentConfig(places, config or PipelineConfig(), urls))
    return [_function(session, name, output) for name in TOOL_NAMES]


def _function(session: AgentSession, name: str, output: ToolOutput) -> Callable[..., Any]:
    method = getattr(VideoTools, name)
    signature = inspect.signature(method)
    hints = get_type_hints(method)  # without the bounds, which `call_tool` checks
    parameters = [
        each.replace(annotation=hints[each.name]) for each in signature.parameters.values() if each.name != "self"
    ]
    returned = str if output == "text" else list[dict[str, Any]]

    def function(*positional: Any, **named: Any) -> Any:
        given = function.__signature__.bind(*positional, **named).arguments  # type: ignore[attr-defined]
        try:
            reply = call_tool(session, name, given, Call())
        except FramesiftError as error:
            reply = error_reply(error)
        return reply.text if output == "text" else _blocks(reply, output)

    functools.update_wrapper(function, method)
    del function.__wrapped__  # type: ignore[attr-defined]  # it has the parameter `self`
    function.__qualname__ = name
    function.__doc__ = inspect.cleandoc(method.__doc__)
    function.__signature__ = signature.replace(parameters=parameters, return_annotation=returned)  # type: ignore[attr-defined]
    function.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": returned}
    return function


def _blocks(reply: Reply, output: ToolOutput) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for part in reply.parts:
        if isinstance(part, str):
            blocks.append({"type": "text", "text": part})
        else:
            url = "data:image/jpeg;base64," + base64.b64encode(part.data).decode("ascii")
            chat = {"type": "image_url", "image_url": {"url": url}}
            blocks.append({"type": "image", "image_url": url} if output == "openai-agents" else chat)
    return blocks
