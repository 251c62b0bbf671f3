"""Which hosts lie on a project's proven domains."""

from collections.abc import Iterable

from oidc.clients.redirect_uris import playground_redirect_uri
from oidc.clients.uris import LOOPBACK_HOSTS, split_web_address
from oidc.models import Project, ProjectDomain


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
