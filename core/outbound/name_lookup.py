"""DNS queries to the servers in DNS_SERVERS, else to the system's (docs/settings.md#requests-that-leave).

Names are looked up unchanged: search lists and the hosts file are ignored, so that no short name of the operator's
network is found. Only for apps in development, the hosts file may say that a name is this machine.
"""

import ipaddress
import re
from pathlib import Path

import dns.exception
import dns.name
import dns.nameserver
import dns.rdata
import dns.resolver
from django.conf import settings
from dns.rdtypes.txtbase import TXTBase

from core.http.hosts import LONGEST_HOST, LONGEST_LABEL, is_loopback
from core.outbound.limits import MAX_TXT_CHARACTERS, MAX_TXT_RECORDS, Deadline
from core.outbound.targets import Code, IPAddress, OutboundRefused, is_public

DNS_PORT = 53
HOSTS_FILE = Path("/etc/hosts")
LOOPBACK = ipaddress.IPv4Address("127.0.0.1")
# In names that hold records but are not hosts, a label may begin with an underscore (RFC 8552).
_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+")


def read_server(text: str) -> tuple[str, int]:
    """Return address and port of an entry of DNS_SERVERS: `192.0.2.1:53`, `[2001:db8::1]:53`; the port is optional.

    Raises ValueError if the address is invalid, or the port is not from 1 to 65535.
    """
    found = re.fullmatch(r"(?:\[(?P<six>[^\]]+)\]|(?P<four>[^:\[\]]+))(?::(?P<port>[0-9]{1,5}))?", text)
    if found is None:
        raise ValueError(text)
    address = ipaddress.IPv6Address(found["six"]) if found["six"] else ipaddress.IPv4Address(found["four"])
    port = int(found["port"] or DNS_PORT)
    if not 1 <= port <= 65_535:
        raise ValueError(text)
    return str(address), port


def find_addresses(host: str, deadline: Deadline, *, loopback: bool = False) -> tuple[IPAddress, ...]:
    """Return the IP addresses of a host, all of them public; queries A and AAAA records once each.

    With `loopback` or OUTBOUND_LOOPBACK_PORT, the result may instead consist of loopback addresses only, and
    `localhost` and names below it are 127.0.0.1 without a query. With `loopback`, so are names for which the hosts file
    says so. Raises OutboundRefused: `no_address`, `private_address`, `dns_failed`, `dns_timeout`.
    """
    if loopback and _is_loopback_in_hosts_file(host):
        return (LOOPBACK,)
    loopback = loopback or bool(settings.OUTBOUND_LOOPBACK_PORT)
    if loopback and is_loopback(host):
        return (LOOPBACK,)
    records = [*_look_up(host, "A", deadline), *_look_up(host, "AAAA", deadline)]
    addresses = tuple(ipaddress.ip_address(record.to_text()) for record in records)
    if not addresses:
        raise OutboundRefused(Code.NO_ADDRESS)
    if loopback and all(address.is_loopback for address in addresses):
        return addresses
    # All must be public: if there is also a private one, the sender's side would choose which one is used.
    if not all(map(is_public, addresses)):
        raise OutboundRefused(Code.PRIVATE_ADDRESS)
    return addresses


def _is_loopback_in_hosts_file(host: str) -> bool:
    """Return whether the hosts file maps a name to this machine, as some set-ups for development do."""
    try:
        lines = HOSTS_FILE.read_text("utf-8", "replace").splitlines()
    except OSError:
        return False
    entries = (line.partition("#")[0].split() for line in lines)
    return any(is_loopback(address) and host in names for address, *names in filter(None, entries))


def txt_records(name: str) -> list[str]:
    """Return the TXT records of a name, each with its strings joined; invalid UTF-8 is replaced.

    Records of more than MAX_TXT_CHARACTERS are ignored. If the name or the records don't exist, the list is empty.
    Raises OutboundRefused: `host`, `dns_failed`, `dns_timeout`, `too_many_records`.
    """
    labels = name.split(".")
    if len(name) > LONGEST_HOST or max(map(len, labels)) > LONGEST_LABEL or not _NAME.fullmatch(name):
        raise OutboundRefused(Code.HOST)
    records = _look_up(name, "TXT", Deadline())
    if len(records) > MAX_TXT_RECORDS:
        raise OutboundRefused(Code.TOO_MANY_RECORDS)
    texts = [b"".join(record.strings).decode("utf-8", "replace") for record in records if isinstance(record, TXTBase)]
    return [text for text in texts if len(text) <= MAX_TXT_CHARACTERS]


def _look_up(name: str, kind: str, deadline: Deadline) -> list[dns.rdata.Rdata]:
    """Return the records of one type; dnspython follows at most 16 CNAME records, within one response only."""
    if not deadline.left():
        raise OutboundRefused(Code.DNS_TIMEOUT)
    try:
        return list(_resolver().resolve(dns.name.from_text(name), kind, lifetime=deadline.left(), search=False))
    except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
        return []
    except dns.exception.Timeout as error:
        raise OutboundRefused(Code.DNS_TIMEOUT) from error
    except dns.exception.DNSException as error:
        raise OutboundRefused(Code.DNS_FAILED) from error


def _resolver() -> dns.resolver.Resolver:
    """Return a resolver without a cache; it reads the system's configuration each time, since that may change."""
    if not settings.DNS_SERVERS:
        return dns.resolver.Resolver()
    resolver = dns.resolver.Resolver(configure=False)
    servers = map(read_server, settings.DNS_SERVERS)
    resolver.nameservers = [dns.nameserver.Do53Nameserver(address, port) for address, port in servers]
    return resolver
