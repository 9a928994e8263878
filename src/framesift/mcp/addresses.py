"""Network addresses: only those on the public internet are fetched from, unless the user allows others."""

import ipaddress
import socket
from typing import Any

from framesift.errors import InputError

NAT64 = ipaddress.ip_network("64:ff9b::/96")


class PrivateAddress(InputError):
    """A host resolves to an address inside this machine or network."""


def public_addresses(host: str, port: int, *, allow_private: bool = False) -> list[str]:
    """The addresses of a host; PrivateAddress if any of them is not on the public internet."""
    try:
        rows: list[Any] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise InputError(f"{host[:200]} can't be found ({getattr(error, 'strerror', None) or error})") from None
    addresses = list(dict.fromkeys(str(row[4][0]) for row in rows))
    if not allow_private and not all(map(is_public, addresses)):
        raise PrivateAddress(
            f"{host[:200]} is an address inside this machine's network, which this server does not fetch from; "
            "its user can allow that with --allow-private"
        )
    return addresses


def is_public(address: str) -> bool:
    """Whether an IP address is on the public internet, also the IPv4 address inside an IPv6 one."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    inner: list[ipaddress.IPv4Address | ipaddress.IPv6Address | None] = [parsed]
    if isinstance(parsed, ipaddress.IPv6Address):
        inner += [parsed.ipv4_mapped, parsed.sixtofour, *(parsed.teredo or ())]
        if parsed in NAT64:
            inner.append(ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF))
    return all(each.is_global and not each.is_multicast for each in inner if each is not None)
