"""Addresses of readers and videos, which hold no credentials: docs/security.md says what is rejected.

An address is "scheme://host:port/path?query#model". Keys of servers come from environment variables.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from framesift.errors import InputError

LOCAL = "local:"
SIMILARITY = "similarity"
KEY_VARIABLE = "FRAMESIFT_API_KEY"

# A user before a host of HTTP, or a password in any URL; abfs://CONTAINER@ACCOUNT and sftp://USER@HOST hold none.
_LOGIN = re.compile(r"https?://[^/?#\s]*@|://[^/?#@\s]*:(?!\d*/)[^?#\s]*@", re.I)
# In a reader's address anywhere before the model, in any scheme or none: "@" is ordinary only behind a "/".
_READER_LOGIN = re.compile(r"[^/](?:@|%40)", re.I)
_PARAMETER = re.compile(r"[?&]([^=&#]*)")
_ALLOWED_PARAMETERS = {"api-version", "version"}
# Parameters of signed URLs; the others may be what identifies a video.
_SIGNATURE = re.compile(
    r"key$|token$|secret|passw|pwd$|sig$|signature|auth|credential|policy$|^expires$|^x-(?:amz|goog|ms|oss|cos)-"
    r"|^(?:awsaccesskeyid|googleaccessid|pass|code|jwt|sas|se|sp|spr|sr|st|sv)$",
    re.I,
)


@dataclass(frozen=True)
class Address:
    """The parts of a server's address. url: without query and model; server: scheme, host and port."""

    url: str
    server: str
    model: str
    query: Mapping[str, str]


def parse_address(address: str) -> Address | None:
    """Split "http://host:8000/v1?api-version=1#model"; None if it is malformed or not HTTP."""
    check_reader_address(address)
    try:
        parts = urlsplit(address.strip())
        is_server = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    server = f"{parts.scheme}://{parts.netloc.lower()}"
    query = dict(parse_qsl(parts.query))
    return Address((server + parts.path).rstrip("/"), server, parts.fragment, query) if is_server else None


def check_reader_address(address: str) -> None:
    """Reject a reader's address with credentials. The sentence repeats nothing of it."""
    if address.startswith(LOCAL) and "://" not in address:
        return
    is_login = _LOGIN.search(address) or _READER_LOGIN.search(address.partition("#")[0])
    if is_login or not _ALLOWED_PARAMETERS.issuperset(_PARAMETER.findall(address)):
        raise InputError(
            "the reader's address contains a user, a password or query parameters, which are shown and stored; "
            f"remove them, and set the key as the environment variable {KEY_VARIABLE}"
        )


def reject_login(text: str) -> None:
    """Reject a URL, or a command line's argument, with a user and password. The sentence repeats nothing of it."""
    if _LOGIN.search(text):
        raise InputError(
            "an address contains a user or a password, which are shown and stored; remove them: the key of a reader "
            f"is set as the environment variable {KEY_VARIABLE}, a video may have a signed URL"
        )


def public_url(url: str) -> str:
    """The URL of a video without the parameters of a signature; a path comes back unchanged."""
    start, mark, rest = url.partition("?")
    if not mark or "://" not in start:
        return url
    query, hash_sign, fragment = rest.partition("#")
    kept = "&".join(pair for pair in query.split("&") if not _SIGNATURE.search(unquote(pair.partition("=")[0])))
    return f"{start}{'?' * bool(kept)}{kept}{hash_sign}{fragment}"
