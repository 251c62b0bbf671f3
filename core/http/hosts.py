"""Hosts in URLs: validation, public suffixes, and the host that passkeys belong to."""

import functools
import ipaddress
import re
import socket
from collections.abc import Callable
from urllib.parse import urlsplit

import idna
from django.http import HttpRequest
from publicsuffixlist import PublicSuffixList

from core.http import split_hosts

LONGEST_HOST = 253  # RFC 1035 §2.3.4, without the root's dot
LONGEST_LABEL = 63
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")  # RFC 1123 §2.1
_PORT = re.compile(r"[1-9][0-9]{0,4}")
# A label that browsers read as part of an IPv4 address, valid or not (WHATWG URL, "ends in a number").
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")


def authority_of(url: str) -> str:
    """Return the authority of a URL (between `//` and the path), unchanged."""
    return re.split(r"[/?#\\]", url.partition("://")[2], maxsplit=1)[0]


def _host(authority: str) -> str:
    return authority.partition(":")[0]


def _port_is_wrong(authority: str) -> bool:
    _, colon, port = authority.partition(":")
    return bool(colon) and (_PORT.fullmatch(port) is None or int(port) > 65535)


def ends_in_a_number(host: str) -> bool:
    """Return whether browsers read a host as an IPv4 address: its last label is a decimal, octal or hex number."""
    return _NUMBER.fullmatch(host.rpartition(".")[2]) is not None


def _is_ipv4(host: str) -> bool:
    try:
        return str(ipaddress.IPv4Address(host)) == host
    except ValueError:
        return False


def _is_label(label: str) -> bool:
    return len(label) <= LONGEST_LABEL and _LABEL.fullmatch(label) is not None


def _is_name_of_idna(label: str) -> bool:
    """Return whether an `xn--` label is valid IDNA 2008 (RFC 5891 §5.4)."""
    try:
        return bool(idna.alabel(idna.ulabel(label)) == label.encode())
    except (idna.IDNAError, UnicodeError):
        return False


def _labels(authority: str) -> list[str]:
    return _host(authority).split(".")


# Checks of an authority, with their messages; the message of the first check that matches is shown.
HOST_RULES: tuple[tuple[Callable[[str], object], str], ...] = (
    (lambda authority: "[" in authority, "Give a host name; IPv6 addresses are not accepted."),
    (
        lambda authority: authority != authority.lower(),
        "Write the host in lower case: URLs are compared character by character.",
    ),
    (
        _port_is_wrong,
        "The port must be a number from 1 to 65535 without leading zeros. Without a port, leave out the colon.",
    ),
    (lambda authority: _host(authority).endswith("."), "Remove the dot at the end of the host."),
    (
        lambda authority: ends_in_a_number(_host(authority)) and not _is_ipv4(_host(authority)),
        "Write an IP address as four numbers, like 192.0.2.1.",
    ),
    (lambda authority: len(_host(authority)) > LONGEST_HOST, f"A host has at most {LONGEST_HOST} characters."),
    (
        lambda authority: not all(map(_is_label, _labels(authority))),
        "A host name consists of letters, digits and hyphens, in parts of at most 63 characters separated by dots.",
    ),
    (
        lambda authority: not all(_is_name_of_idna(label) for label in _labels(authority) if label.startswith("xn--")),
        "A part of the host begins with xn-- but is not a valid international name.",
    ),
)


def is_loopback(host: str) -> bool:
    """Return whether a host is a loopback host, in any spelling that browsers or systems understand."""
    bare = host.lower().rstrip(".").strip("[]")
    if bare == "localhost" or bare.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        try:  # 127.1, 0x7f000001, 2130706433; this sends no DNS query
            address = ipaddress.IPv4Address(socket.inet_aton(bare))
        except (OSError, UnicodeError, ValueError):
            return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def host_and_port(url: str, default_port: int | None) -> tuple[str, int | None]:
    """Return the host and port of a URL; every spelling of a loopback host becomes "localhost"."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    return "localhost" if is_loopback(host) else host, parts.port or default_port


# The list is part of the package `publicsuffixlist`, private section included, and is read at first use. Nothing is
# downloaded; a new version of the package brings a new list.


@functools.cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList(only_icann=False)


@functools.lru_cache(maxsize=4096)
def public_suffix(host: str) -> str:
    """Return the public suffix of a host (lower case ASCII); its last label if the list has no rule for it."""
    return str(_suffixes().publicsuffix(host) or "")


def is_public_suffix(host: str) -> bool:
    """Return whether anyone can register names below this host."""
    return public_suffix(host) == host


def registrable_domain(host: str) -> str:
    """Return the public suffix of a host plus one label, which has one owner; "" if the host has no such label."""
    return "" if ends_in_a_number(host) else str(_suffixes().privatesuffix(host) or "")


def is_same_site(one: str, other: str) -> bool:
    """Return whether two hosts seem to have the same owner: they are equal, or share a registrable domain.

    This is a hint for developers and reviewers, not a proof.
    """
    return one == other or (registrable_domain(one) or one) == (registrable_domain(other) or other)


def rp_id(request: HttpRequest) -> str:
    """Return the RP ID: the request's host, but on an admin host below AUTH_URL's host, AUTH_URL's host."""
    name = split_hosts.name_of(request)
    people = split_hosts.people_host()
    return people if split_hosts.serves_only(request, split_hosts.ADMIN) and name.endswith(f".{people}") else name


def work_on(request: HttpRequest) -> bool:
    """Return whether people's passkeys work on the request's host; they don't on an admin host in another domain."""
    return not split_hosts.serves_only(request, split_hosts.ADMIN) or rp_id(request) == split_hosts.people_host()
