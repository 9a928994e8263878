"""The MCP server: the tools, and transcripts and reports as resources, over stdio or streamable HTTP."""

import base64
import logging
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote

import anyio
import anyio.from_thread
import anyio.to_thread
import uvicorn
from mcp.server.lowlevel import Server as SdkServer
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    ImageContent,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from framesift._utils.version import __version__
from framesift.mcp.config import AgentConfig
from framesift.mcp.replies import NOTICE, JpegImage, Reply, plain
from framesift.mcp.session import AgentSession, Call, CallCancelled, error_reply
from framesift.mcp.tools import REPORT, TRANSCRIPT, call_tool, definitions, read_resource
from framesift.server.config import ServerConfig
from framesift.server.security import SecurityMiddleware

MAX_CALLS = 64  # at a time; most of them wait
SHUTDOWN_GRACE_S = 2
INSTRUCTIONS = (
    "framesift picks the few frames of a long video that answer a question. Start with watch(video, question); "
    "names come from list_videos. If the frames do not show the answer, narrow with from_s and to_s, use "
    f"read_transcript, or look at exact times. Cite times as [m:ss]. {NOTICE} So is text visible in frames."
)
TEMPLATES = [
    ResourceTemplate(
        uri_template=TRANSCRIPT + "{video}",
        name="Transcript",
        description="All words of a video with their times; video: its name, percent-encoded.",
        mime_type="text/plain",
    ),
    ResourceTemplate(
        uri_template=REPORT + "{id}",
        name="Report",
        description="Frames, reasons and timeline of a `watch`, as a page; id: from its reply.",
        mime_type="text/html",
    ),
]

log = logging.getLogger(__name__)
Context = Any  # of the SDK: the request and its session


class AgentServer:
    """The handlers of the protocol's requests. Work runs in threads, so that every client is answered meanwhile."""

    def __init__(self, config: AgentConfig) -> None:
        self.session = AgentSession(config)
        self._limiter: anyio.CapacityLimiter | None = None
        self.protocol: SdkServer[Any] = SdkServer(
            "framesift",
            version=__version__,
            title="framesift",
            instructions=INSTRUCTIONS,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
        )

    async def list_tools(self, _: Context, __: object) -> ListToolsResult:
        hints = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True)
        tools = [
            Tool(name=each.name, description=each.description, input_schema=each.parameters, annotations=hints)
            for each in definitions(self.session.config)
        ]
        return ListToolsResult(tools=tools)

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        reply = await self._reply(context, partial(call_tool, self.session, params.name, params.arguments or {}))
        return CallToolResult(content=[_content(part) for part in reply.parts], is_error=reply.is_error)

    async def list_resources(self, _: Context, __: object) -> ListResourcesResult:
        """The reports of this process's selections, and the transcripts of their videos."""
        rows = [(TRANSCRIPT + quote(each.video, safe=""), each.video) for each in self.session.watched.values()]
        rows += [(REPORT + report, f"{w.video}: {w.question}") for report, w in self.session.watched.items()]
        return ListResourcesResult(resources=[Resource(uri=uri, name=plain(name)) for uri, name in dict(rows).items()])

    async def list_templates(self, _: Context, __: object) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=TEMPLATES)

    async def read_resource(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        reply = await self._reply(context, partial(read_resource, self.session, params.uri))
        if reply.is_error:
            raise MCPError(code=INVALID_PARAMS, message=reply.text)
        kind = "text/html" if params.uri.startswith(REPORT) else "text/plain"
        return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, text=reply.text, mime_type=kind)])

    async def _reply(self, context: Context, work: Callable[[Call], Reply]) -> Reply:
        """Work in a thread. A cancelled request sets `call.cancelled` and returns at once."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(MAX_CALLS)
        cancelled = threading.Event()
        call = Call(ProgressReporter(context, cancelled), cancelled, time.monotonic() + self.session.config.wait_s)
        try:
            return await anyio.to_thread.run_sync(work, call, abandon_on_cancel=True, limiter=self._limiter)
        except CallCancelled:
            return Reply(("cancelled",), is_error=True)
        except Exception as error:
            return error_reply(error)
        finally:
            cancelled.set()


class ProgressReporter:
    """Sends progress to the client: the seconds since the call began, because it has to grow, and the stage."""

    def __init__(self, context: Context, cancelled: threading.Event) -> None:
        self._context, self._cancelled, self._began_s = context, cancelled, time.monotonic()

    def __call__(self, stage: str, done: float, total: float, /) -> None:
        message = f"{stage} {min(done / total, 1.0):.0%}" if total else stage
        if not self._cancelled.is_set():
            passed_s = time.monotonic() - self._began_s
            anyio.from_thread.run(self._context.session.report_progress, passed_s, None, message)


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
    settings = uvicorn.Config(
        SecurityMiddleware(app, config=access),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_GRACE_S,
    )
    uvicorn.Server(settings).run(sockets=[listener])


def _content(part: str | JpegImage) -> ContentBlock:
    if isinstance(part, str):
        return TextContent(type="text", text=part)
    return ImageContent(type="image", data=base64.b64encode(part.data).decode("ascii"), mime_type="image/jpeg")
