"""The commands for agents: mcp, tools."""

import argparse
import os
import sys
from pathlib import Path
from typing import NoReturn

from framesift._utils.optional import require
from framesift.cli.library import parse_size
from framesift.cli.output import print_json
from framesift.cli.serve import AUTO, checked_token, listen, run_until_signal
from framesift.cli.settings import INDEX_SETTINGS, TEXT_SETTINGS, AddCommand, add_settings, config_from
from framesift.cli.signals import exit_without_threads
from framesift.errors import OptionError

TOKEN_VARIABLE = "FRAMESIFT_MCP_TOKEN"  # noqa: S105 (the name of a variable)


def add_commands(add: AddCommand) -> None:
    mcp = add("mcp", _mcp, "let an agent watch videos: a Model Context Protocol server on standard input and output")
    mcp.add_argument(
        "folders", nargs="*", metavar="FOLDER", help="directories whose videos may be read; nothing else is"
    )
    mcp.add_argument("--http", action="store_true", help="serve streamable HTTP at /mcp in place of standard input")
    mcp.add_argument(
        "--host", default="127.0.0.1", help="with --http: address to listen on (default: this machine only)"
    )
    mcp.add_argument("--port", type=int, default=8765, help="with --http: port; 0 chooses a free one (default: 8765)")
    token = (
        f"with --http: secret required by every request (default: auto, generates one; {TOKEN_VARIABLE} sets it too)"
    )
    mcp.add_argument("--token", metavar="TEXT", help=token)
    allowed = "with --http: host name under which the server may be reached; repeatable"
    mcp.add_argument("--allow-host", action="append", default=[], metavar="NAME", help=allowed)
    mcp.add_argument("--max-budget", type=int, default=16, metavar="N", help="most frames of a call (default: 16)")
    side = "longest side of the images, unless a call names another (default: 768)"
    mcp.add_argument("--max-side", type=int, default=768, metavar="PIXELS", help=side)
    mcp.add_argument(
        "--wait", type=float, default=30.0, metavar="SECONDS", help="how long a call waits for an index (default: 30)"
    )
    urls = "none; files: videos at http(s) addresses (default)"
    mcp.add_argument("--urls", default="files", choices=("none", "files"), help=urls)
    mcp.add_argument(
        "--max-download", type=parse_size, default=2e9, metavar="SIZE", help="of one video from a URL (default: 2GB)"
    )
    private = "also download from addresses inside this machine's network"
    mcp.add_argument("--allow-private", action="store_true", help=private)
    mcp.set_defaults(handles_signals=True)
    text = [name for name in TEXT_SETTINGS if name != "subtitles"]
    add_settings(mcp, "method", *text, "event_encoder", *INDEX_SETTINGS)

    tools = add("tools", _tools, "print the tools' definitions as JSON, for plain function calling")
    tools.add_argument(
        "--format",
        default="openai",
        choices=("openai", "anthropic", "mcp"),
        help="of the definitions (default: openai)",
    )


def _mcp(args: argparse.Namespace) -> NoReturn:
    require("mcp", "mcp")
    from framesift.mcp.config import AgentConfig
    from framesift.mcp.server import run_http, run_stdio
    from framesift.server.config import ServerConfig

    config = AgentConfig(
        folders=tuple(map(Path, args.folders)),
        pipeline=config_from(args),
        max_budget=args.max_budget,
        max_side=args.max_side,
        wait_s=args.wait,
        urls=args.urls,
        download_bytes=int(args.max_download),
        allow_private=args.allow_private,
    )
    if not args.http:
        if args.token is not None or args.allow_host:
            raise OptionError("--token and --allow-host go with --http")
        if sys.stdin.isatty():
            print("framesift mcp waits for a client on standard input; see docs/agents.md", file=sys.stderr)
        run_stdio(config)
        exit_without_threads(0)
    given = args.token or os.environ.get(TOKEN_VARIABLE) or AUTO
    token = checked_token(given)
    hosts = tuple(args.allow_host)
    access = ServerConfig(host=args.host, port=args.port, token=token, allowed_hosts=hosts, pipeline=config.pipeline)
    listener = listen(args.host, args.port)
    host = f"[{args.host}]" if ":" in args.host else args.host
    url = f"http://{host}:{listener.getsockname()[1]}/mcp"
    if args.json:
        print_json({"url": url, "token": token})
    else:
        shown = token if given == AUTO else "(the token given)"
        print(f"framesift is running at {url}  (Ctrl+C stops it)\nAuthorization: Bearer {shown}")
    run_until_signal(lambda: run_http(config, access, listener))


def _tools(args: argparse.Namespace) -> int:
    from framesift.mcp.tools import definitions

    print_json([definition.to_dict(args.format) for definition in definitions()])
    return 0
