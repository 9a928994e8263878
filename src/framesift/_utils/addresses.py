"""Network addresses that this process may connect to on somebody's behalf: those on the public internet, or more."""

import ipaddress
import socket
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from framesift.errors import InputError

NAT64 = ipaddress.ip_network("64:ff9b::/96")
IpRule = Callable[[str], bool]


class RefusedAddress(InputError):
    """A host resolves to an address that is not allowed."""


def allowed_addresses(host: str, port: int, is_allowed: IpRule, refusal: str) -> list[str]:
    """The IP addresses of a host; RefusedAddress, which says that it is `refusal`, if any of them is not allowed.

    Connect to one of these, not to the host, whose name may resolve to another address the next time.
    """
    try:
        rows: list[Any] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise InputError(f"{host[:200]} can't be found ({getattr(error, 'strerror', None) or error})") from None
    addresses = list(dict.fromkeys(str(row[4][0]) for row in rows))
    if not all(map(is_allowed, addresses)):
        raise RefusedAddress(f"{host[:200]} is {refusal}")
    return addresses


def http_library() -> Any:
    """The HTTP library that the package openai uses: httpx, or httpx2."""
    import openai

    base: Any = openai.DefaultHttpxClient.__base__
    return import_module(base.__module__.partition(".")[0])


class CheckedTransport:
    """A transport of httpx that connects only to allowed addresses: those that were checked, also after a redirect.

    Else RefusedAddress, which says that the host is `refusal`.
    """

    def __init__(self, is_allowed: IpRule, refusal: str) -> None:
        library = http_library()
        self._inner, self._is_allowed, self._refusal = library.HTTPTransport(), is_allowed, refusal
        self._connect_errors = library.ConnectError, library.ConnectTimeout

    def handle_request(self, request: Any) -> Any:
        url, host = request.url, request.url.raw_host.decode("ascii")
        port = url.port or (443 if url.scheme == "https" else 80)
        *others, last = allowed_addresses(host, port, self._is_allowed, self._refusal)
        request.extensions = {**request.extensions, "sni_hostname": host}
        try:
            for address in others:
                with suppress(*self._connect_errors):
                    return self._send(request, address)
            return self._send(request, last)
        finally:
            request.url = url

    def _send(self, request: Any, address: str) -> Any:
        request.url = request.url.copy_with(host=address)
        return self._inner.handle_request(request)

    def close(self) -> None:
        self._inner.close()


def is_public(address: str) -> bool:
    """Whether an IP address is on the public internet, also the IPv4 address inside an IPv6 one."""
    forms = _forms(address)
    return bool(forms) and all(each.is_global and not each.is_multicast for each in forms)


def is_routable(address: str) -> bool:
    """Whether an IP address is not link-local, as those of a cloud's metadata are, nor multicast."""
    forms = _forms(address)
    return bool(forms) and not any(each.is_link_local or each.is_multicast for each in forms)


def _forms(address: str) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """An IP address and the IPv4 addresses inside it; empty for any other text."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return []
    forms: list[ipaddress.IPv4Address | ipaddress.IPv6Address | None] = [parsed]
    if isinstance(parsed, ipaddress.IPv6Address):
        forms += [parsed.ipv4_mapped, parsed.sixtofour, *(parsed.teredo or ())]
        if parsed in NAT64:
            forms.append(ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF))
    return [each for each in forms if each is not None]
