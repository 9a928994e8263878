"""The MCP server: the tools over stdio or streamable HTTP."""

import base64
import logging
import socket
import threading
import time
from functools import partial
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import uvicorn
from mcp.server.lowlevel import Server as SdkServer
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    ImageContent,
    ListToolsResult,
    TextContent,
    Tool,
    ToolAnnotations,
)

from framesift._utils.version import __version__
from framesift.library.session import Call, CallCancelled
from framesift.mcp.replies import NOTICE, JpegImage, Reply
from framesift.mcp.session import AgentConfig, AgentSession, error_reply
from framesift.mcp.tools import RESULTS, call_tool, definitions
from framesift.server.config import ServerConfig, uvicorn_config
from framesift.server.security import SecurityMiddleware

MAX_CALLS = 64  # at a time; most of them wait
STEP = 1e-6  # between two reports of the same progress
INSTRUCTIONS = (
    "framesift picks the few frames of a long video that answer a question. Start with watch(video, question); "
    "names come from list_videos. If the frames do not show the answer, narrow with from_s and to_s, use "
    f"read_transcript, or look at exact times. Cite times as [m:ss]. {NOTICE} So is text visible in frames."
)
log = logging.getLogger(__name__)
Context = Any  # of the SDK: the request and its session


class AgentServer:
    """The handlers of the protocol's requests. Work runs in threads, so that every client is answered meanwhile."""

    def __init__(self, config: AgentConfig) -> None:
        self.session = AgentSession(config)
        self._limiter = anyio.CapacityLimiter(MAX_CALLS)
        self.protocol: SdkServer[Any] = SdkServer(
            "framesift",
            version=__version__,
            title="framesift",
            instructions=INSTRUCTIONS,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
        )

    async def list_tools(self, _: Context, __: object) -> ListToolsResult:
        hints = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True)
        tools = [
            Tool(
                name=each.name,
                description=each.description,
                input_schema=each.parameters,
                output_schema=each.output,
                annotations=hints,
            )
            for each in definitions()
        ]
        return ListToolsResult(tools=tools)

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        """Work in a thread. A cancelled request sets `call.cancelled` and returns at once."""
        cancelled = threading.Event()
        call = Call(ProgressReporter(context, cancelled), cancelled, time.monotonic() + self.session.config.wait_s)
        work = partial(call_tool, self.session, params.name, params.arguments or {}, call)
        try:
            reply = await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._limiter)
        except CallCancelled:
            reply = Reply(("cancelled",), is_error=True)
        except Exception as error:
            reply = error_reply(error)
        finally:
            cancelled.set()
        structured = reply.structured if params.name in RESULTS and not reply.is_error else None
        content = [_content(part) for part in reply.parts]
        return CallToolResult(content=content, structured_content=structured, is_error=reply.is_error)


class ProgressReporter:
    """Sends progress to the client: how many stages are done, with the share of the current one, of those begun.

    The protocol wants every report to be larger than the one before. A stage of unknown length counts for nothing.
    """

    def __init__(self, context: Context, cancelled: threading.Event) -> None:
        self._context, self._cancelled = context, cancelled
        self._stages: list[str] = []
        self._sent = 0.0

    def __call__(self, stage: str, done: float, total: float, /) -> None:
        if self._cancelled.is_set():
            return
        self._sent += STEP
        if not total:
            anyio.from_thread.run(self._context.session.report_progress, self._sent, None, stage)
            return
        if stage not in self._stages[-1:]:
            self._stages.append(stage)
        share = min(done / total, 1.0)
        self._sent = max(len(self._stages) - 1 + share, self._sent)
        report = self._sent, float(len(self._stages)), f"{stage} {share:.0%}"
        anyio.from_thread.run(self._context.session.report_progress, *report)


def run_stdio(config: AgentConfig) -> None:
    """Serve one client on the standard streams until it closes them."""

    async def serve() -> None:
        server = AgentServer(config).protocol
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)


def run_http(config: AgentConfig, access: ServerConfig, listener: socket.socket) -> None:
    """Serve any number of clients at /mcp on a socket that listens already, until a signal."""
    # The host, the origin and the token are checked as `framesift serve` does.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = AgentServer(config).protocol.streamable_http_app(host=access.host, transport_security=unchecked)
    uvicorn.Server(uvicorn_config(SecurityMiddleware(app, config=access))).run(sockets=[listener])


def _content(part: str | JpegImage) -> ContentBlock:
    if isinstance(part, str):
        return TextContent(type="text", text=part)
    jpeg = base64.b64encode(part.data).decode("ascii")
    return ImageContent(
        type="image", data=jpeg, mime_type="image/jpeg", _meta={"framesift/time_s": round(part.time_s, 3)}
    )
