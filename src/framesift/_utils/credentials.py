"""Credentials in addresses, and their removal from everything that is stored, logged or printed.

An address is "scheme://user:password@host:port/path?query#model". The model stays. A name that is not an address, such
as "similarity" or "local:MODEL", stays as it is. `scrub` is for sentences: errors, log lines, command lines.
`hide_secrets` is for content, such as a model's reply: it removes only credentials that this process uses.
"""

import base64
import html
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, unquote_plus

LOCAL = "local:"
SIMILARITY = "similarity"
HIDDEN = "…"
EXAMPLE = "HOST:PORT"  # in messages that say what is expected
SHORTEST_SECRET = 3  # characters; shorter ones would be replaced inside ordinary words
SHORTEST_REGISTERED = 6  # the same for texts of any origin

_SCHEME = re.compile(r"\s*(?:[A-Za-z][A-Za-z0-9+.-]*:)?/+")
_HTTP = re.compile(r"\s*https?://(?!/)", re.I)
_AT = re.compile(r"@|%40", re.I)
_QUERY = re.compile(r"\?|%3f", re.I)
_TAIL = re.compile(r"\?|%3f|#", re.I)
_PLAIN_TAIL = re.compile(r"[?#]")  # in the name of a file, %3F is a part of the name
_PORT = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(?::([0-9]*))?")
_SECRET_OPTION = re.compile(r"(?:^|[_-])(?:key|token|password|secret)$", re.I)
# Parameters of signed URLs; the others may be what identifies a video.
_SECRET_PARAMETER = re.compile(
    r"key$|token$|secret|passw|pwd$|sig$|signature|auth|credential|policy$|^expires$|^x-(?:amz|goog|ms|oss|cos)-"
    r"|^(?:awsaccesskeyid|googleaccessid|pass|code|jwt|sas|se|sp|spr|sr|st|sv)$",
    re.I,
)
_AUTHORIZATION = re.compile(r"\b(Bearer|Basic)(\s+)[A-Za-z0-9._~+/=-]{6,}", re.I)
_NAMED_SECRET = re.compile(
    r"""\b((?:\w{1,40}[_-])?(?:api[_-]?key|token|password|secret)["']?\s?[=:]\s?["']?)[^\s"',;&]{6,}""", re.I
)
# Before a comma that separates two addresses, each possibly with NAME= in front.
_NEXT_ADDRESS = r",(?:[^,\s/:=]*=)?[A-Za-z][A-Za-z0-9+.-]*://"
_SEPARATOR = re.compile(rf"(?={_NEXT_ADDRESS})")
# Bounded lengths, and a start only where a name starts, so that the time is linear in the length of any text.
_ADDRESS_IN_TEXT = re.compile(
    rf"[A-Za-z][A-Za-z0-9+.-]{{0,30}}://(?:(?:(?!{_NEXT_ADDRESS})\S)*@)?(?:(?!{_NEXT_ADDRESS})[^\s\"'<>`])*"
    r"|(?<![^\s\"'<>`/\\@,=:])[^\s\"'<>`/\\@,=:]{2,}:(?!/)[^\s@\\]{1,4096}@[^\s\"'<>`]*"
)
_PUNCTUATION = ".,;:!?)]}"

_registered: set[str] = set()


@dataclass(frozen=True)
class Address:
    """The parts of a server's address. url: without credentials, query and model, for the client library."""

    url: str
    server: str  # scheme, host and port
    model: str
    user: str = field(repr=False)
    password: str = field(repr=False)
    query: Mapping[str, str] = field(repr=False)

    @property
    def login(self) -> str:
        """User and password as HTTP sends them; empty if there are none."""
        pair = f"{self.user}:{self.password}"
        return "" if pair == ":" else base64.b64encode(pair.encode("utf-8", "surrogateescape")).decode("ascii")

    def register(self) -> None:
        """Register this address's secrets: `hide_secrets` and `scrub` then remove them from any text."""
        values = [value for name, value in self.query.items() if name.lower() not in ("api-version", "version")]
        register_secrets(self.password or self.user, self.login, *values)

    def redact(self, text: str, *more: str) -> str:
        """Remove this address's secrets, and any others given, from a text such as a server's error message."""
        secrets = [self.user, self.password, self.login, *self.query.values(), *more]
        spellings = {spelling for secret in secrets for spelling in _spellings(secret)}
        return scrub(_replace(text, spellings))


def parse_address(address: str) -> Address | None:
    """Split "http://user:password@host:8000/v1?key=…#model"; None if it is malformed or not HTTP."""
    scheme = _HTTP.match(address)
    if scheme is None:
        return None
    path, tail = _split(address[scheme.end() :], _TAIL)
    userinfo, host, folder = _parts(path, is_url=True)
    port = _PORT.fullmatch(host)
    if "/" in userinfo or not port or not port[1]:
        return None
    if tail[:1] == "%" or userinfo[-1:] not in ("", "@") or _is_part_of_password(tail, host, folder):
        return None
    if port[2] and not 0 < int(port[2]) < 2**16:
        return None
    query, _, fragment = tail.partition("#")
    model, late_query = _split(fragment, _QUERY)
    user, _, password = userinfo.rpartition("@")[0].partition(":")
    server = scheme[0].strip().lower() + host.lower()
    return Address(
        url=(server + folder).rstrip("/"),
        server=server,
        model=model,
        user=unquote(user),
        password=unquote(password),
        query=dict(parse_qsl((query or late_query).removeprefix("?"), keep_blank_values=True)),
    )


def public_address(address: str) -> str:
    """The reader's address or name without user, password and query; one without them comes back unchanged.

    Of a malformed address, what may be part of a password is replaced by "…".
    """
    scheme = _SCHEME.match(address)
    is_path = address.startswith(LOCAL) and "://" not in address
    if is_path or (scheme is None and not _AT.search(address) and not _QUERY.search(address)):
        return address
    start = scheme.end() if scheme else 0
    path, tail = _split(address[start:], _TAIL)
    _, host, folder = _parts(path, is_url=bool(_HTTP.match(address)))
    if _is_part_of_password(tail, host, folder):
        return address[:start] + HIDDEN
    if not _PORT.fullmatch(host) and host != EXAMPLE:
        host = f"{host.partition(':')[0]}:{HIDDEN}"
    model = _split(tail.partition("#")[2], _QUERY)[0]
    return address[:start] + host + folder + (f"#{model}" if "#" in tail else "")


def public_url(url: str) -> str:
    """The URL of a video without user, password and the parameters of a signature; a path comes back unchanged.

    The other parameters stay, because they may be what identifies the video.
    """
    scheme = _SCHEME.match(url)
    if scheme is None or "://" not in scheme[0]:
        return url
    path, tail = _split(url[scheme.end() :], _PLAIN_TAIL)
    _, host, folder = _parts(path, is_url=True)
    if not folder or not _PORT.fullmatch(host):
        return public_address(url)
    query, hash_sign, fragment = tail.removeprefix("?").partition("#")
    kept = "&".join(pair for pair in query.split("&") if pair and not _is_secret_pair(pair))
    return f"{scheme[0]}{host}{folder}{'?' * bool(kept)}{kept}{hash_sign}{fragment}"


def public_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """A reader's options as they may be stored: no addresses with credentials, no value of a key or password."""
    return {name: HIDDEN if _SECRET_OPTION.search(name) else _scrubbed(value) for name, value in options.items()}


def register_secrets(*values: str) -> None:
    """Have these values removed from every text from now on; short ones, which could be ordinary words, are ignored."""
    for value in values:
        if len(value) >= SHORTEST_REGISTERED:
            _registered.update(_spellings(value))


def hide_secrets(text: str) -> str:
    """Remove the registered secrets from a text, whatever is around them."""
    return _replace(text, _registered)


def hide_secrets_in_pieces(pieces: Iterable[str]) -> Iterator[str]:
    """Remove the registered secrets from a text that arrives in pieces; what may be the start of one is held back."""
    held = ""
    for piece in pieces:
        held = hide_secrets(held + piece)
        longest = max((len(secret) for secret in _registered), default=1) - 1
        starts = range(max(0, len(held) - longest), len(held))
        end = next((k for k in starts if any(s.startswith(held[k:]) for s in _registered)), len(held))
        yield held[:end]
        held = held[end:]
    yield held


def scrub(text: str) -> str:
    """Remove all credentials from a sentence: registered secrets, and those of addresses, headers and assignments."""
    text = _ADDRESS_IN_TEXT.sub(_publish, hide_secrets(text))
    text = _AUTHORIZATION.sub(rf"\1\2{HIDDEN}", text)
    return _NAMED_SECRET.sub(rf"\1{HIDDEN}", text)


def scrub_arguments(arguments: Iterable[str]) -> list[str]:
    """Remove all credentials from a command line's arguments, also the value behind a flag such as --api-key."""
    public: list[str] = []
    is_secret = False
    for argument in arguments:
        flag, equals, _ = argument.partition("=")
        if is_secret and not argument.startswith("-"):
            public.append(HIDDEN)
        elif equals and _is_secret_flag(flag):
            public.append(f"{flag}={HIDDEN}")
        else:
            public.append("".join(_scrub_argument(part) for part in _SEPARATOR.split(argument)))
        is_secret = not equals and _is_secret_flag(flag)
    return public


class CredentialFilter(logging.Filter):
    """Removes credentials from the requests that a client library logs."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = scrub(record.getMessage()), ()
        return True


class CredentialFormatter(logging.Formatter):
    """Removes credentials from every line that is logged, tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:
        return scrub(super().format(record))


def _split(text: str, pattern: re.Pattern[str]) -> tuple[str, str]:
    """The text before the first match, and the rest with the match."""
    match = pattern.search(text)
    return (text[: match.start()], text[match.start() :]) if match else (text, "")


def _parts(path: str, *, is_url: bool) -> tuple[str, str, str]:
    """User and password with their "@", the host with its port, the path from its "/" on; each may be empty."""
    authority, _, folder = path.partition("/")
    # A "/" inside a password that is not percent-encoded. Behind "http://host", an "@" may be part of the path.
    is_split = _AT.search(folder) and (not is_url or ":" in authority or _AT.search(authority))
    ends = [match.end() for match in _AT.finditer(path if is_split else authority)]
    end = ends[-1] if ends else 0
    host, slash, folder = path[end:].partition("/")
    return path[:end], host, slash + folder


def _is_part_of_password(tail: str, host: str, folder: str) -> bool:
    """Whether what seems to be query and model follows a "?" or "#" in a password that is not percent-encoded."""
    is_split = bool(_AT.search(tail)) and (not folder or not _PORT.fullmatch(host))
    return is_split or any("=" not in pair and _AT.search(pair) for pair in tail.partition("#")[0].split("&"))


def _publish(match: re.Match[str]) -> str:
    address = match[0].rstrip(_PUNCTUATION)
    return public_address(address) + match[0][len(address) :]


def _scrub_argument(argument: str) -> str:
    scheme = re.search(r"[A-Za-z][A-Za-z0-9+.-]*://", argument)
    if scheme is None:
        return scrub(argument)
    return argument[: scheme.start()] + public_address(argument[scheme.start() :])


def _is_secret_flag(flag: str) -> bool:
    return flag.startswith("--") and bool(_SECRET_OPTION.search(flag))


def _is_secret_pair(pair: str) -> bool:
    name, equals, value = pair.partition("=")
    is_named = bool(_SECRET_PARAMETER.search(unquote(name)))
    return is_named or (not equals and bool(_AT.search(pair))) or hide_secrets(value) != value


def _scrubbed(value: Any) -> Any:
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, Mapping):
        return public_options(value)
    return [_scrubbed(item) for item in value] if isinstance(value, list | tuple) else value


def _replace(text: str, secrets: Iterable[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):  # one may be part of another
        text = text.replace(secret, HIDDEN)
    return text


def _spellings(secret: str) -> set[str]:
    """A secret as it may stand in a URL, in JSON or in HTML."""
    written = {secret, unquote(secret), unquote_plus(secret), json.dumps(secret)[1:-1], html.escape(secret)}
    # Arguments may hold bytes that are not UTF-8.
    written |= {quote(secret, safe=safe, errors="replace") for safe in ("/", "")} | {
        quote_plus(secret, errors="replace")
    }
    return {spelling for spelling in written if len(spelling) >= SHORTEST_SECRET}
