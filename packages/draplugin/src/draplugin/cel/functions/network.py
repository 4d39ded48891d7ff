"""IP addresses, networks and URLs (k8s.io/apiserver/pkg/cel/library ip.go, cidr.go, urls.go)."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address
from urllib.parse import SplitResult, unquote, urlsplit

from ..errors import EvaluationError
from ..values import Address, Map, Network, Url, Value

_PREFIX = re.compile(r"(?:0|[1-9][0-9]{0,2})\Z", re.ASCII)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:", re.ASCII)
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_HOST_PORT = re.compile(r"(?:\[[^\[\]]*\]|[^:\[\]]*)(?::[0-9]*)?\Z", re.ASCII)
_LINK_LOCAL_MULTICAST = (range(0xE0000000, 0xE0000100), 0xFF02)


def _address(text: str) -> Address:
    try:
        found = ip_address(text)
    except (AddressValueError, ValueError):
        raise EvaluationError(f"{text!r} is no IP address") from None
    if isinstance(found, IPv6Address) and (found.scope_id or found.ipv4_mapped):
        raise EvaluationError(f"{text!r}: zones and IPv4 inside IPv6 are not allowed")
    return Address(found)


def _network(text: str) -> Network:
    address, _, prefix = text.rpartition("/")
    found = _address(address).address
    if not _PREFIX.match(prefix) or int(prefix) > found.max_prefixlen:
        raise EvaluationError(f"{text!r} is no network")
    return Network(found, int(prefix))


def _is(parse: Callable[[str], Value]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except EvaluationError:
            return False
        return True

    return check


def _is_link_local_multicast(value: Address) -> bool:
    number = int(value.address)
    if isinstance(value.address, IPv4Address):
        return number in _LINK_LOCAL_MULTICAST[0]
    # ff02::/16 with any flags: Go looks at the scope alone.
    return number >> 120 == 0xFF and (number >> 112) & 0x0F == 2


def _is_global_unicast(value: Address) -> bool:
    address = value.address
    special = address.is_unspecified or address.is_loopback or address.is_multicast
    return not (special or address.is_link_local or int(address) == 2**32 - 1)


def _contains_ip(network: Network, other: Address | str) -> bool:
    address = (_address(other) if isinstance(other, str) else other).address
    return address.version == network.address.version and address in network.network


def _contains_cidr(network: Network, other: Network | str) -> bool:
    inner = _network(other) if isinstance(other, str) else other
    if inner.address.version != network.address.version or network.prefix > inner.prefix:
        return False
    return inner.address in network.network


def _masked(network: Network) -> Network:
    return Network(network.network.network_address, network.prefix)


def _url(text: str) -> Url:
    """Absolute, or a path from `/`: what Go's ParseRequestURI accepts."""
    bad = not text or any(ord(char) < 0x21 or ord(char) == 0x7F for char in text)
    if bad or not (text.startswith("/") or _SCHEME.match(text)):
        raise EvaluationError(f"{text!r} is no absolute URL")
    if _BAD_ESCAPE.search(text):
        raise EvaluationError(f"{text!r} has an incomplete % escape")
    try:
        parts = urlsplit(text)
    except ValueError:
        raise EvaluationError(f"{text!r} is no URL") from None
    _check_rest(text, parts)
    return Url(parts)


def _check_rest(text: str, parts: SplitResult) -> None:
    rest = text.partition(":")[2] if _SCHEME.match(text) else text
    if not rest.startswith("/"):
        raise EvaluationError(f"{text!r} is no absolute URL")
    host = parts.netloc.rpartition("@")[2]
    if not _HOST_PORT.match(host):
        raise EvaluationError(f"{text!r} has an invalid host or port")


def _host(url: Url) -> str:
    return unquote(url.parts.netloc.rpartition("@")[2])


def _hostname(url: Url) -> str:
    host = _host(url)
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _port(url: Url) -> str:
    host = _host(url)
    return host.rpartition("]")[2].rpartition(":")[2] if ":" in host.rpartition("]")[2] else ""


def _query(url: Url) -> Map:
    found: dict[str, list[str]] = {}
    for pair in url.parts.query.split("&"):
        if not pair or ";" in pair:
            continue
        name, _, value = pair.partition("=")
        found.setdefault(_plus(name), []).append(_plus(value))
    return Map((name, tuple(values)) for name, values in found.items())


def _plus(text: str) -> str:
    return unquote(text.replace("+", " "))


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "string_to_ip": _address,
    "cidr_ip": lambda network: Address(network.address),
    "family": lambda value: value.address.version,
    "ip.isCanonical": lambda text: str(_address(text).address) == text,
    "isUnspecified": lambda value: value.address.is_unspecified,
    "isLoopback": lambda value: value.address.is_loopback,
    "isLinkLocalMulticast": _is_link_local_multicast,
    "isLinkLocalUnicast": lambda value: value.address.is_link_local,
    "isGlobalUnicast": _is_global_unicast,
    "isIP": _is(_address),
    "cidr": _network,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "prefixLength": lambda network: network.prefix,
    "masked": _masked,
    "isCIDR": _is(_network),
    "url": _url,
    "isURL": _is(_url),
    "getScheme": lambda url: url.parts.scheme,
    "getHost": _host,
    "getHostname": _hostname,
    "getPort": _port,
    "getEscapedPath": lambda url: url.parts.path,
    "getQuery": _query,
}
