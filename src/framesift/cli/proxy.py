"""`framesift proxy`: videos for any chat application."""

import argparse
from typing import NoReturn

from framesift._utils.requirements import require
from framesift.cli.arguments import AddCommand
from framesift.cli.mcp import add_sources, sources_from
from framesift.cli.serve import AUTO, SERVER_SETTINGS, access_from, add_access, check_models, checked_token, serve_api
from framesift.cli.settings import add_all_settings, add_settings


def add_commands(add: AddCommand) -> None:
    summary = "let any chat application watch videos (OpenAI's API)"
    proxy = add("proxy", _proxy, summary, "framesift proxy --upstream http://localhost:8000/v1")
    server = proxy.group("the model")
    server.add("--upstream", "URL", "OpenAI-type server: http://HOST:PORT/v1", required=True)
    add_settings(server, "budget", "method", "encoder", "language", "store")
    add_sources(proxy)
    token = f"secret that every request must have, as its key or as X-Framesift-Token; {AUTO} generates one"
    add_access(proxy, port=8001, token_help=token)
    add_all_settings(proxy, ("budget", "method", "text_mode", "size", *SERVER_SETTINGS), "the method")
    proxy.finish("print the address and the token as JSON")
    proxy.set_defaults(handles_signals=True)


def _proxy(args: argparse.Namespace) -> NoReturn:
    require("fastapi", "serve")
    from framesift.proxy.app import create_server
    from framesift.proxy.videos import ProxyConfig

    config = ProxyConfig(**sources_from(args), upstream=args.upstream)
    check_models(config.pipeline, ())
    token = checked_token(args.token)
    access = access_from(args, token, upload_bytes=config.download_bytes, pipeline=config.pipeline)
    server = create_server(config, access)
    serve_api(args, "v1", token, args.token != AUTO, lambda listener: server.run(sockets=[listener]))
