"""`framesift serve`: the web page and its HTTP API."""

import secrets
import socket
import sys
import threading
import webbrowser
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

from framesift._utils.requirements import require
from framesift.cli.arguments import AddCommand, Parser
from framesift.cli.library import parse_size
from framesift.cli.output import print_json
from framesift.cli.settings import INDEX_SETTINGS, TEXT_SETTINGS, add_all_settings, add_settings, config_from
from framesift.cli.signals import Terminated, exit_without_threads, raise_on_signals
from framesift.errors import OptionError

if TYPE_CHECKING:
    from framesift.pipeline.config import PipelineConfig
    from framesift.server.config import ServerConfig

AUTO = "auto"
TOKEN_BYTES = 24
SERVER_SETTINGS = (*(name for name in TEXT_SETTINGS if name != "subtitles"), "event_encoder", *INDEX_SETTINGS)
SHORT_TOKEN = 16  # characters; a shorter token is warned about


def add_commands(add: AddCommand) -> None:
    serve = add("serve", _serve, "start a local web page for asking about videos", "framesift serve ~/Videos --open")
    page = serve.group("the page")
    page.add("folder", "FOLDER", "directory of videos to list besides the uploads", nargs="?")
    page.switch("--open", "open the page in the browser")
    page.add(
        "--reader",
        "READER",
        "model that may answer: http://HOST:PORT/v1[#MODEL] or local:MODEL; repeatable",
        dest="readers",
        action="append",
        default=[],
    )
    page.add("--max-upload", "SIZE", "largest upload, such as 2GB (default: 8GB)", type=parse_size, default=8e9)
    add_settings(page, "encoder", "language", "store")
    add_access(serve, port=8000, token_help=f"secret that every request must have; {AUTO} generates one")
    add_all_settings(serve, SERVER_SETTINGS)
    serve.finish("print the page's address as JSON")
    serve.set_defaults(handles_signals=True)


def add_access(command: Parser, *, port: int, token_help: str) -> None:
    """Where a server listens, and who may use it."""
    network = command.group("network")
    network.add("--host", None, "address to listen on (default: 127.0.0.1, this machine only)", default="127.0.0.1")
    network.add("--port", "N", f"port to listen on; 0 chooses a free one (default: {port})", type=int, default=port)
    network.add("--token", "TEXT", token_help)
    network.add(
        "--allow-host", "NAME", "host name under which it may be reached; repeatable", action="append", default=[]
    )


def _serve(args: Namespace) -> NoReturn:
    require("fastapi", "serve")
    from framesift.proxy.app import add_to_page
    from framesift.server.app import Server, lock_state

    token = checked_token(args.token)
    pipeline = config_from(args)
    readers = args.readers or [pipeline.reading.reader] * (pipeline.reading.reader is not None)
    check_models(pipeline, readers)
    folder = None if args.folder is None else Path(args.folder)
    own = {"folder": folder, "readers": tuple(readers), "upload_bytes": int(args.max_upload)}
    config = access_from(args, token, pipeline=pipeline, **own)  # bad options are reported before the port is bound
    with lock_state(config.state):
        listener = listen(args.host, args.port)
        config = replace(config, port=listener.getsockname()[1])
        server = Server(config)
        add_to_page(server.app, config)
        address = page_address(config)
        if args.json:
            print_json({"url": address, "folder": None if config.folder is None else str(config.folder)})
        else:
            print(f"framesift is running at {address}  (Ctrl+C stops it)")
            if token and len(token) < SHORT_TOKEN:
                warning = f"a token of {len(token)} characters is easy to guess; use --token auto"
                print(f"warning: {warning}", file=sys.stderr)
        if args.open:
            # The socket is already listening, so the browser's first request waits instead of failing.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        run_until_signal(lambda: server.run(sockets=[listener]))


def access_from(args: Namespace, token: str, **settings: Any) -> "ServerConfig":
    """Where a server listens and who may use it, by the flags of `add_access`."""
    from framesift.server.config import ServerConfig

    hosts = tuple(args.allow_host)
    return ServerConfig(host=args.host, port=args.port, token=token, allowed_hosts=hosts, **settings)


def serve_api(
    args: Namespace, path: str, token: str, is_given: bool, run: Callable[[socket.socket], object]
) -> NoReturn:
    """Print the address of an API, then run its server. is_given: the user has the token already."""
    listener = listen(args.host, args.port)
    url = f"http://{_in_url(args.host)}:{listener.getsockname()[1]}/{path}"
    if args.json:
        print_json({"url": url, "token": token})
    else:
        print(f"framesift is running at {url}  (Ctrl+C stops it)")
        if token:
            print(f"Authorization: Bearer {'(the token given)' if is_given else token}")
    run_until_signal(lambda: run(listener))


def run_until_signal(run: Callable[[], object]) -> NoReturn:
    """Run a server until Ctrl-C, the way to stop it, and end the process."""
    sys.stdout.flush()
    # Not earlier: a library that is starting may swallow the exception, and the server would run on.
    raise_on_signals()
    try:
        run()
    except Terminated:
        raise
    except KeyboardInterrupt:
        pass
    exit_without_threads(0)  # one inside a native library would abort the interpreter's normal exit


def checked_token(text: str | None) -> str:
    """The secret that requests must have: as given, or generated; empty without one."""
    if text is None:
        return ""
    if text == AUTO:
        return secrets.token_urlsafe(TOKEN_BYTES)
    if not text.strip():
        raise OptionError("--token is empty; expected a secret, or auto to generate one")
    if not text.isprintable():
        raise OptionError("--token contains what is not text; expected letters, digits and punctuation")
    return text


def check_models(config: "PipelineConfig", readers: Sequence[str]) -> None:
    """Report an encoder, speech engine or reader address that can't be used now, not at the first question."""
    from framesift._utils.credentials import LOCAL
    from framesift.encoders.registry import get_text_encoder, identify
    from framesift.readers.base import get_reader
    from framesift.text.speech import engine_name

    identify(str(config.index.encoder))
    if config.selection.event_encoder is not None:
        get_text_encoder(config.selection.event_encoder)
    if config.text.speech not in ("auto", "none"):
        engine_name(config.text.speech)
    for reader in readers:
        if not reader.startswith(LOCAL):  # which loads the model
            get_reader(reader)


def listen(host: str, port: int) -> socket.socket:
    """Bind the socket before anything is printed, so that a port in use is an error message."""
    try:
        if not 0 <= port < 2**16:
            raise OverflowError("ports go from 0 to 65535")
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except (OSError, OverflowError, UnicodeError) as error:
        raise OptionError(
            f"can't listen on {host}, port {port} ({getattr(error, 'strerror', None) or error}); "
            "choose another with --port, or a free one with --port 0"
        ) from None
    return listener


def page_address(config: "ServerConfig") -> str:
    """The address that opens the page, with the token if there is one."""
    host = config.host if config.host not in ("0.0.0.0", "::") else socket.gethostname()  # noqa: S104 (compared)
    secret = f"?token={quote(config.token, safe='')}" if config.token else ""
    return f"http://{_in_url(host)}:{config.port}/{secret}"


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
