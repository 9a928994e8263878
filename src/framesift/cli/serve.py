"""The command that opens the web page."""

import argparse
import contextlib
import os
import re
import secrets
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from framesift._utils.text import readable
from framesift.cli.common import Add, add_index_options, print_json
from framesift.errors import MissingExtra, OptionError

if TYPE_CHECKING:
    from framesift.server.config import Settings

AUTO = "auto"
TOKEN_BYTES = 24
SHORT_TOKEN = 16  # characters: below this, a wider host gets a word of warning


def add_commands(add: Add) -> None:
    serve = add("serve", _serve, "open a page where videos are asked questions and the evidence is looked at")
    serve.add_argument("folder", nargs="?", metavar="FOLDER", help="videos to show besides those uploaded")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    serve.add_argument("--port", type=int, default=8000, help="(default: 8000; 0 takes any that is free)")
    serve.add_argument("--open", action="store_true", help="open the page in the browser")
    serve.add_argument("--token", metavar="TEXT", help="secret every request must bring; auto makes one")
    serve.add_argument("--allow-host", action="append", default=[], metavar="NAME", help="a name the page goes by")
    where = "http://HOST:PORT/v1[#MODEL] or local:MODEL, to be asked from the page; repeatable"
    serve.add_argument("--reader", action="append", default=[], metavar="READER", help=where)
    serve.add_argument("--uploads", metavar="DIR", help="folder for uploads (default: beside the indexes)")
    serve.add_argument("--max-upload", type=_size, default=8e9, metavar="SIZE", help="as in 2GB (default: 8GB)")
    serve.add_argument("--language", metavar="CODE", help="preferred language of subtitles and speech, as in en")
    serve.add_argument("--speech", metavar="ENGINE", default="auto", help="auto (default), none, moonshine, whisper:…")
    serve.add_argument("--screen-text", action="store_true", help="also read what is written on the screen")
    serve.add_argument("--event-encoder", metavar="NAME", help="minilm: compare words by a sentence encoder")
    add_index_options(serve)


def _size(text: str) -> float:
    match = re.fullmatch(r"([0-9.]+)([KMGT]?)B?", text.strip().upper())
    try:
        return float(match[1]) * {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[match[2]] if match else float("x")
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount; expected one like 500MB, 2GB") from None


def _serve(args: argparse.Namespace) -> int:
    try:
        from framesift.server.server import claim
    except ImportError as error:
        if isinstance(error, MissingExtra):
            raise
        raise MissingExtra(f"the page needs {error.name}: pip install 'framesift[serve]'") from None
    settings = _settings(args, args.port)  # what is wrong with them comes before the port
    with claim(settings):
        listener = _listen(args.host, args.port)
        return _run(args, _settings(args, listener.getsockname()[1], token=settings.token), listener)


def _run(args: argparse.Namespace, settings: "Settings", listener: socket.socket) -> int:
    from framesift.server.server import Server

    server = Server(settings)
    address = _address(settings)
    if args.json:
        print_json({"url": address, "folder": None if settings.folder is None else str(settings.folder)})
    else:
        print(f"framesift is at {address}  (Ctrl+C stops it)")
        if settings.token and len(settings.token) < SHORT_TOKEN:
            print(f"note: a token of {len(settings.token)} characters is soon guessed; --token auto", file=sys.stderr)
    sys.stdout.flush()
    if args.open:
        # The socket listens already, so the browser's first request waits for the server rather than failing.
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):  # the way to end it
        server.run(sockets=[listener])
    if any(thread.name.startswith("framesift-") for thread in threading.enumerate()):
        # A thread in the middle of a long step, inside a native library, would abort the interpreter's own way to end.
        sys.stdout.flush()
        os._exit(0)
    return 0


def _settings(args: argparse.Namespace, port: int, token: str | None = None) -> "Settings":
    from framesift.encoders.base import get_text_encoder, identify
    from framesift.readers.base import get_reader
    from framesift.server.config import Settings
    from framesift.text.speech import engine_name

    if token is None:
        token = args.token or ""
        if token == AUTO:
            token = secrets.token_urlsafe(TOKEN_BYTES)
        if args.token is not None and not token.strip():
            raise OptionError("--token is empty; expected a secret text, or auto to have one made")
        if readable(token) != token:
            raise OptionError("--token holds what is no text; expected letters, digits and signs")
        identify(args.encoder)  # an encoder that can't be used is told now as well
        if args.event_encoder is not None:
            get_text_encoder(args.event_encoder)
        if args.speech not in ("auto", "none"):
            engine_name(args.speech)
        for reader in args.reader:
            if reader.startswith(("http://", "https://")):
                get_reader(reader)  # a wrong address is told now, not at the first question
    return Settings(
        folder=None if args.folder is None else Path(args.folder),
        store=None if args.store is None else Path(args.store),
        uploads=None if args.uploads is None else Path(args.uploads),
        host=args.host,
        port=port,
        token=token,
        names=tuple(args.allow_host),
        readers=tuple(args.reader),
        upload_bytes=int(args.max_upload),
        encoder=args.encoder,
        fps=args.fps,
        mode=args.mode,
        device=args.device,
        language=args.language,
        speech=args.speech == "auto" if args.speech in ("auto", "none") else args.speech,
        screen_text=args.screen_text,
        event_encoder=args.event_encoder,
    )


def _listen(host: str, port: int) -> socket.socket:
    """The socket, bound before anything is printed, so that a port in use is a sentence."""
    try:
        if not 0 <= port < 2**16:
            raise OverflowError("ports go from 0 to 65535")
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(128)
    except (OSError, OverflowError, UnicodeError) as error:
        raise OptionError(
            f"can't listen on {host}, port {port} ({getattr(error, 'strerror', None) or error}); "
            "choose another with --port, or --port 0 for any that is free"
        ) from None
    return listener


def _address(settings: "Settings") -> str:
    host = settings.host if settings.host not in ("0.0.0.0", "::") else socket.gethostname()  # noqa: S104 (compared)
    host = f"[{host}]" if ":" in host else host
    secret = f"?token={quote(settings.token, safe='')}" if settings.token else ""
    return f"http://{host}:{settings.port}/{secret}"
