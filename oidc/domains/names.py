"""Names of domains in one spelling, and the hosts that the proven domains of a project cover."""

import re
from collections.abc import Iterable

import idna
from django.conf import settings
from django.core.exceptions import ValidationError

from core.http import hosts, split_hosts
from core.http.hosts import is_public_suffix
from oidc.clients.redirect_uris import LOOPBACK_HOSTS, playground_redirect_uri, split_web_address
from oidc.domains.proofs import CHALLENGE_LABEL
from oidc.models import Project, ProjectDomain

LONGEST_TYPED = 2000  # characters: an address with its path
LONGEST_NAME = hosts.LONGEST_HOST - len(CHALLENGE_LABEL) - 1  # the record's name has to fit as well
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|//")
_PORT = re.compile(r":[0-9]{0,5}\Z")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


def clean_domain_name(typed: str, *, by_operator: bool = False) -> str:
    """Return the domain that somebody typed, in lower case and ASCII (RFC 5890 A-labels), without a dot at its end.

    Whole addresses are read too: what is not their host is dropped. A domain that this service's own hosts lie below is
    accepted from operators alone. Raises ValidationError with what is wrong.
    """
    name = _ascii(_host(typed.strip()))
    for is_wrong, message in hosts.HOST_RULES:
        if is_wrong(name):
            raise ValidationError(message)
    _check_kind(name)
    if is_public_suffix(name):
        raise ValidationError(
            f"Anybody can register a domain below {name}, so it can't be proven as yours. Enter your own domain there,"
            f" such as example.{name}."
        )
    _check_own(name, by_operator)
    return name


def _host(typed: str) -> str:
    """Return the host of an address, or of what stands where one could."""
    if not typed:
        raise ValidationError("Enter a domain.")
    if len(typed) > LONGEST_TYPED:
        raise ValidationError("This is too long for a domain.")
    scheme = _SCHEME.match(typed)
    authority = re.split(r"[/?#\\]", typed[scheme.end() :] if scheme else typed, maxsplit=1)[0].strip()
    if "@" in authority:
        raise ValidationError("Enter the domain alone, without what stands before @.")
    if "[" in authority:
        raise ValidationError("An IP address can't be proven; enter a domain.")
    name = _PORT.sub("", authority).removesuffix(".")
    if ":" in name:
        raise ValidationError("Enter the domain alone, such as example.com.")
    if name.startswith("*."):
        raise ValidationError("Leave out the *. in front: a DNS record speaks for subdomains as well.")
    if not name:
        raise ValidationError("Enter a domain.")
    return name


def _ascii(name: str) -> str:
    """Return a name in lower case, its international labels as A-labels (UTS #46, as browsers read what is typed)."""
    if name.isascii():
        return name.lower()
    try:
        return idna.encode(name, uts46=True, std3_rules=True).decode("ascii").removesuffix(".")
    except (idna.IDNAError, UnicodeError) as error:
        raise ValidationError("This is not a domain: a character in it stands in no domain name.") from error


def _check_kind(name: str) -> None:
    """Refuse what is no registered domain: addresses, names without a dot, and names that never leave a machine."""
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        raise ValidationError("An IP address can't be proven; enter a domain.")
    if hosts.is_loopback(name):
        raise ValidationError("localhost is everybody's own machine: it needs no proof, and has none.")
    if "." not in name:
        raise ValidationError("Enter the whole domain, such as example.com.")
    if len(name) > LONGEST_NAME:
        raise ValidationError(f"A domain has at most {LONGEST_NAME} characters here.")


def _check_own(name: str, by_operator: bool) -> None:
    for own in split_hosts.current().parts:
        if name == own or name.endswith(f".{own}"):
            raise ValidationError(f"This is a domain of {settings.SERVICE_NAME} itself.")
        if own.endswith(f".{name}") and not by_operator:
            message = f"{settings.SERVICE_NAME} itself lies below this domain: those who run it can declare it."
            raise ValidationError(message)


def hosts_of(addresses: Iterable[str]) -> list[str]:
    """Return the hosts of web addresses, each once, in their order; without the playground's, which is ours."""
    own = playground_redirect_uri()
    parts = (split_web_address(address) for address in addresses if address != own)
    return list(dict.fromkeys(part.hostname or "" for part in parts if part))


def is_loopback(host: str) -> bool:
    """Return whether a host is the machine of whoever opens it: fine for native apps, and while developing."""
    return host in LOOPBACK_HOSTS


def domains_of(project: Project) -> list[ProjectDomain]:
    """Return the domains that a project claims, proven or not."""
    return list(ProjectDomain.objects.filter(project=project).order_by("name"))


def is_covered(host: str, domains: Iterable[ProjectDomain]) -> bool:
    """Return whether one of `domains` is proven and covers the host."""
    return any(domain.is_proven and domain.covers(host) for domain in domains)


def is_lost(host: str, domains: Iterable[ProjectDomain]) -> bool:
    """Return whether a domain that covered the host has lost its proof, and no other covers it."""
    known = list(domains)
    gone = any(domain.lost_at is not None and domain.covers(host) for domain in known)
    return gone and not is_covered(host, known)


def unproven_hosts(project: Project, addresses: Iterable[str]) -> list[str]:
    """Return the hosts of `addresses` that lie on no proven domain; loopback hosts are nobody's, and left out."""
    domains = domains_of(project)
    return [host for host in hosts_of(addresses) if not is_loopback(host) and not is_covered(host, domains)]
