"""Domain names in canonical form, and the hosts that a project's proven domains cover."""

import re
from collections.abc import Collection, Iterable

import idna
from django.conf import settings
from django.core.exceptions import ValidationError

from core.http import hosts, split_hosts
from core.http.hosts import is_public_suffix
from oidc.models import Client, Project, ProjectDomain
from oidc.values.redirect_uris import LOOPBACK_HOSTS, playground_redirect_uri, split_web_address

# Fixed forever: renaming the service must not invalidate existing proofs.
CHALLENGE_LABEL = "_openport-challenge"
LONGEST_TYPED = 2000  # characters: people may paste a whole URL
LONGEST_NAME = hosts.LONGEST_HOST - len(CHALLENGE_LABEL) - 1  # the record's name has to fit as well
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|//")
_PORT = re.compile(r":[0-9]{0,5}\Z")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


def clean_domain_name(typed: str, *, by_operator: bool = False) -> str:
    """Return the typed domain in lowercase ASCII (RFC 5890 A-labels), without a dot at its end.

    The host is taken from a whole URL. A parent domain of this service's own hosts is accepted only from operators.
    Raises ValidationError with a message for the person who typed it.
    """
    name = _ascii(_host(typed.strip()))
    for is_wrong, message in hosts.HOST_RULES:
        if is_wrong(name):
            raise ValidationError(message)
    _check_kind(name)
    if is_public_suffix(name):
        raise ValidationError(
            f"Anyone can register a domain below {name}, so it can't be proven as yours. Enter your own domain there,"
            f" such as example.{name}."
        )
    _check_own(name, by_operator)
    return name


def _host(typed: str) -> str:
    """Return the host of a URL, or of a text without a scheme."""
    if not typed:
        raise ValidationError("Enter a domain.")
    if len(typed) > LONGEST_TYPED:
        raise ValidationError("This is too long. Enter a domain, such as example.com.")
    scheme = _SCHEME.match(typed)
    authority = re.split(r"[/?#\\]", typed[scheme.end() :] if scheme else typed, maxsplit=1)[0].strip()
    if "@" in authority:
        raise ValidationError("Enter the domain alone, without the part before @.")
    if "[" in authority:
        raise ValidationError("An IP address can't be proven. Enter a domain.")
    name = _PORT.sub("", authority).removesuffix(".")
    if ":" in name:
        raise ValidationError("Enter the domain alone, such as example.com.")
    if name.startswith("*."):
        raise ValidationError("Remove the *. at the beginning: a DNS record covers subdomains as well.")
    if not name:
        raise ValidationError("Enter a domain.")
    return name


def _ascii(name: str) -> str:
    """Return a name in lowercase, with international labels as A-labels (UTS #46, which browsers use for input)."""
    if name.isascii():
        return name.lower()
    try:
        return idna.encode(name, uts46=True, std3_rules=True).decode("ascii").removesuffix(".")
    except (idna.IDNAError, UnicodeError) as error:
        raise ValidationError("This is not a domain: it contains a character that no domain may have.") from error


def _check_kind(name: str) -> None:
    """Raise ValidationError for IP addresses, loopback names, and names without a dot or with too many characters."""
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        raise ValidationError("An IP address can't be proven. Enter a domain.")
    if hosts.is_loopback(name):
        raise ValidationError("localhost can't be proven and needs no proof: it is each person's own machine.")
    if "." not in name:
        raise ValidationError("Enter the whole domain, such as example.com.")
    if len(name) > LONGEST_NAME:
        raise ValidationError(f"A domain can have at most {LONGEST_NAME} characters.")


def _check_own(name: str, by_operator: bool) -> None:
    for own in split_hosts.current().parts:
        if name == own or name.endswith(f".{own}"):
            raise ValidationError(f"This domain belongs to {settings.SERVICE_NAME} itself.")
        if own.endswith(f".{name}") and not by_operator:
            message = f"{settings.SERVICE_NAME} itself is on this domain. Only its operators can add it."
            raise ValidationError(message)


def hosts_of(addresses: Iterable[str]) -> list[str]:
    """Return the hosts of web URLs in their order, without repetitions and without the playground's URL."""
    own = playground_redirect_uri()
    parts = (split_web_address(address) for address in addresses if address != own)
    return list(dict.fromkeys(part.hostname or "" for part in parts if part))


def is_loopback(host: str) -> bool:
    """Return whether a host is the person's own machine, which native apps and apps in development use."""
    return host in LOOPBACK_HOSTS


def domains_of(project: Project) -> list[ProjectDomain]:
    """Return the domains that a project claims, proven or not."""
    return list(ProjectDomain.objects.filter(project=project).order_by("name"))


def is_covered(host: str, domains: Iterable[ProjectDomain]) -> bool:
    """Return whether one of `domains` is proven and covers the host."""
    return any(domain.is_proven and domain.covers(host) for domain in domains)


def proven_domains(hosts: Collection[str], domains: Iterable[ProjectDomain]) -> list[str]:
    """Return the names of the proven ones of `domains` that cover one of the hosts."""
    return [domain.name for domain in domains if domain.is_proven and any(map(domain.covers, hosts))]


def is_lost(host: str, domains: Iterable[ProjectDomain]) -> bool:
    """Return whether a domain that covered the host has lost its proof, and no other covers it."""
    known = list(domains)
    gone = any(domain.lost_at is not None and domain.covers(host) for domain in known)
    return gone and not is_covered(host, known)


def unproven_hosts(project: Project, addresses: Iterable[str]) -> list[str]:
    """Return the hosts of `addresses` that no proven domain covers. Loopback hosts are left out."""
    domains = domains_of(project)
    return [host for host in hosts_of(addresses) if not is_loopback(host) and not is_covered(host, domains)]


def on_unknown_hosts(client: Client, urls: Iterable[str], domains: Collection[ProjectDomain]) -> set[str]:
    """Return the ones of valid URLs whose hosts nothing shows to be the developer's, never the playground's URL.

    A host is known if one of `domains` is proven and covers it, or if a registered or branding URL of the client has
    the host or its registrable domain. A loopback host is known if the client uses another one.
    """
    branding = (client.home_page_url, client.privacy_policy_url, client.terms_url)
    own = hosts_of((*client.registered_redirect_uris, *client.registered_post_logout_redirect_uris, *branding))
    known = set(map(_site, own))
    return {
        url for url in urls for host in hosts_of([url]) if _site(host) not in known and not is_covered(host, domains)
    }


def _site(host: str) -> str:
    """Return what hosts with the same owner seem to share (see `hosts.is_same_site`)."""
    return LOOPBACK_HOSTS[0] if is_loopback(host) else hosts.registrable_domain(host) or host
