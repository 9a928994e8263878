"""Reader addresses without user, password and query: the only form that is stored, logged or printed.

An address is "scheme://user:password@host:port/path?query#model". The model stays. A name that is not an address, such
as "similarity" or "local:MODEL", stays as it is.
"""

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, unquote_plus

LOCAL = "local:"
SIMILARITY = "similarity"
HIDDEN = "…"
SHORTEST_SECRET = 3  # characters; shorter ones would be replaced inside ordinary words

_SCHEME = re.compile(r"\s*(?:[A-Za-z][A-Za-z0-9+.-]*:)?/+")
_HTTP = re.compile(r"\s*https?://(?!/)", re.I)
_AT = re.compile(r"@|%40", re.I)
_QUERY = re.compile(r"\?|%3f", re.I)
_TAIL = re.compile(r"\?|%3f|#", re.I)
_PORT = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(?::([0-9]*))?")
_SECRET_OPTION = re.compile(r"(?:^|_)(?:key|token|password|secret)$", re.I)
# Before a comma that separates two addresses, each possibly with NAME= in front.
_NEXT_ADDRESS = r",(?:[^,\s/:=]*=)?[A-Za-z][A-Za-z0-9+.-]*://"
_SEPARATOR = re.compile(rf"(?={_NEXT_ADDRESS})")
_ADDRESS_IN_TEXT = re.compile(
    rf"[A-Za-z][A-Za-z0-9+.-]*://(?:(?:(?!{_NEXT_ADDRESS})\S)*@)?(?:(?!{_NEXT_ADDRESS})[^\s\"'<>`])*"
    r"|[^\s\"'<>`/\\@,=:]{2,}:(?!/)[^\s@\\]+@[^\s\"'<>`]*"
)
_PUNCTUATION = ".,;:!?)]}"


@dataclass(frozen=True)
class Address:
    """The parts of a server's address. url: without credentials, query and model, for the client library."""

    url: str
    server: str  # scheme, host and port
    model: str
    user: str = field(repr=False)
    password: str = field(repr=False)
    query: Mapping[str, str] = field(repr=False)

    def redact(self, text: str, *more: str) -> str:
        """Remove this address's secrets, and any others given, from a text such as a server's error message."""
        secrets = [self.user, self.password, *self.query.values(), *more]
        spellings = {spelling for secret in secrets for spelling in _spellings(secret)}
        for secret in sorted(spellings, key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return scrub(text)


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
    if tail[:1] == "%" or userinfo[-1:] not in ("", "@") or (_AT.search(tail) and not folder):
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
    if _AT.search(tail) and not folder:  # a "?" or "#" inside a password that is not percent-encoded
        return address[:start] + HIDDEN
    if not _PORT.fullmatch(host):
        host = f"{host.partition(':')[0]}:{HIDDEN}"
    model = _split(tail.partition("#")[2], _QUERY)[0]
    return address[:start] + host + folder + (f"#{model}" if "#" in tail else "")


def public_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """A reader's options as they may be stored: no addresses with credentials, no value of a key or password."""
    return {name: HIDDEN if _SECRET_OPTION.search(name) else _scrubbed(value) for name, value in options.items()}


def scrub(text: str) -> str:
    """Replace every address in a text by its public form."""
    return _ADDRESS_IN_TEXT.sub(_publish, text)


def scrub_arguments(arguments: Iterable[str]) -> list[str]:
    """Replace every address in a command line's arguments by its public form."""
    return ["".join(_scrub_argument(part) for part in _SEPARATOR.split(argument)) for argument in arguments]


class CredentialFilter(logging.Filter):
    """Removes credentials from the requests that a client library logs."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = scrub(record.getMessage()), ()
        return True


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


def _publish(match: re.Match[str]) -> str:
    address = match[0].rstrip(_PUNCTUATION)
    return public_address(address) + match[0][len(address) :]


def _scrub_argument(argument: str) -> str:
    scheme = re.search(r"[A-Za-z][A-Za-z0-9+.-]*://", argument)
    if scheme is None:
        return scrub(argument)
    return argument[: scheme.start()] + public_address(argument[scheme.start() :])


def _scrubbed(value: Any) -> Any:
    return scrub(value) if isinstance(value, str) else value


def _spellings(secret: str) -> set[str]:
    written = {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), unquote(secret), unquote_plus(secret)}
    return {spelling for spelling in written if len(spelling) >= SHORTEST_SECRET}
