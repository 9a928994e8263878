"""The commands for agents: mcp, tools."""

import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any, NoReturn

from framesift._utils.requirements import require
from framesift.cli.arguments import AddCommand, Parser
from framesift.cli.library import parse_size
from framesift.cli.output import print_json
from framesift.cli.serve import AUTO, SERVER_SETTINGS, access_from, add_access, checked_token, serve_api
from framesift.cli.settings import add_all_settings, add_settings, config_from
from framesift.cli.signals import exit_without_threads
from framesift.errors import OptionError

TOKEN_VARIABLE = "FRAMESIFT_MCP_TOKEN"  # noqa: S105 (the name of a variable)


def add_commands(add: AddCommand) -> None:
    summary = "let an agent watch videos (Model Context Protocol)"
    mcp = add("mcp", _mcp, summary, "framesift mcp ~/Videos")
    add_sources(mcp)
    calls = mcp.group("what a call gives")
    calls.add("--wait", "SECONDS", "how long a call waits for an index (default: 30)", type=float, default=30.0)
    add_settings(calls, "method", "encoder")
    mcp.group("network").switch(
        "--http",
        "serve streamable HTTP at /mcp, in place of standard input and output; the other flags here go with it",
    )
    token = f"secret that every request must have (default: {TOKEN_VARIABLE}, or auto, which generates one)"
    add_access(mcp, port=8765, token_help=token)
    add_all_settings(mcp, ("method", *SERVER_SETTINGS), "the method")
    mcp.finish("with --http: print the address and the token as JSON")
    mcp.set_defaults(handles_signals=True)

    summary = "print the definitions of an agent's tools as JSON"
    tools = add("tools", _tools, summary, "framesift tools --format anthropic")
    formats, described = ("openai", "anthropic", "mcp"), "format of the definitions (default: openai)"
    tools.group("output").add_argument("--format", default="openai", choices=formats, help=described)
    tools.finish()


def add_sources(command: Parser) -> None:
    """Which videos may be read."""
    videos = command.group("which videos")
    videos.add("folders", "FOLDER", "directories whose videos may be read; no other file is", nargs="*", default=[])
    videos.add(
        "--urls",
        None,
        "files: videos at http(s) addresses may be downloaded (default); none: they may not",
        choices=("none", "files"),
        default="files",
    )
    videos.add("--max-download", "SIZE", "largest video to download (default: 2GB)", type=parse_size, default=2e9)
    videos.switch("--allow-private", "download also from addresses inside this machine's network")


def sources_from(args: Namespace) -> dict[str, Any]:
    """The fields of a `SourceConfig` of these flags."""
    return {
        "folders": tuple(map(Path, args.folders)),
        "pipeline": config_from(args),
        "urls": args.urls,
        "download_bytes": int(args.max_download),
        "allow_private": args.allow_private,
    }


def _mcp(args: Namespace) -> NoReturn:
    require("mcp", "mcp")
    from framesift.mcp.server import run_http, run_stdio
    from framesift.mcp.session import AgentConfig

    config = AgentConfig(**sources_from(args), wait_s=args.wait)
    if not args.http:
        if args.token is not None or args.allow_host:
            raise OptionError("--token and --allow-host go with --http")
        if sys.stdin.isatty():
            print("framesift mcp waits for a client on standard input; see docs/agents.md", file=sys.stderr)
        run_stdio(config)
        exit_without_threads(0)
    given = args.token or os.environ.get(TOKEN_VARIABLE) or AUTO
    token = checked_token(given)
    access = access_from(args, token, pipeline=config.pipeline)
    serve_api(args, "mcp", token, given != AUTO, lambda listener: run_http(config, access, listener))


def _tools(args: Namespace) -> int:
    from framesift.mcp.tools import definitions

    print_json([definition.to_dict(args.format) for definition in definitions()])
    return 0
