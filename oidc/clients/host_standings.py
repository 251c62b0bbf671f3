"""How each redirect URI of a reviewed app counts, and why, for developers and reviewers (docs/review.md#hosts)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from oidc.clients.redirect_uris import playground_redirect_uri
from oidc.clients.reviewed_hosts import approved_among, outside_host
from oidc.domains.coverage import hosts_of, is_covered, is_loopback, is_lost
from oidc.models import Client, ProjectDomain


class Reason(StrEnum):
    """Why a redirect URI counts as reviewed, or does not."""

    DOMAIN = "domain"  # counts: on a proven domain that the last approval covers
    APPROVED = "approved"  # counts: the last approval covers the host itself
    HOME = "home"  # does not: the domain of the home page is no longer proven
    LATER = "later"  # does not: on a proven domain that the last approval does not cover
    LOST = "lost"  # does not: approved, and the domain has lost its proof since
    LOOPBACK = "loopback"  # does not: nobody can prove it, so only an approval can cover it
    OUTSIDE = "outside"  # does not


@dataclass(frozen=True)
class HostStanding:
    """How one redirect URI counts; `domain` is the project's proven domain that its host is on, "" for none."""

    host: str
    reason: Reason
    domain: str = ""

    @property
    def counts(self) -> bool:
        """Whether people who return to it see the app as reviewed."""
        return self.reason in (Reason.DOMAIN, Reason.APPROVED)


def host_standing(client: Client, redirect_uri: str, domains: Sequence[ProjectDomain]) -> HostStanding | None:
    """Return how a redirect URI counts, registered or to be; `domains` are those of the client's project.

    None where the question does not arise: of apps that are not reviewed, of the service's own, of the playground's
    address, and of what is no address.
    """
    host = next(iter(hosts_of([redirect_uri])), "")
    if not host or not client.is_verified or client.first_party or redirect_uri == playground_redirect_uri():
        return None
    covering = _covering(host, approved_among(client, domains))
    is_saved = redirect_uri in client.redirect_uris.split()
    if not client.carries_badge or (outside_host(client, redirect_uri) and (is_saved or not covering)):
        return HostStanding(host, _why_not(client, host, domains), _covering(host, domains))
    return HostStanding(host, Reason.DOMAIN if covering else Reason.APPROVED, covering)


def _covering(host: str, domains: Iterable[ProjectDomain]) -> str:
    return next((row.name for row in domains if row.is_proven and row.covers(host)), "")


def _why_not(client: Client, host: str, domains: Sequence[ProjectDomain]) -> Reason:
    if not client.carries_badge:
        return Reason.HOME
    if is_loopback(host):
        return Reason.LOOPBACK
    if is_covered(host, domains):
        return Reason.LATER
    was_approved = host in client.approved_hosts.split()
    return Reason.LOST if was_approved and is_lost(host, domains) else Reason.OUTSIDE


def new_host_standings(client: Client, before: Sequence[str], domains: Sequence[ProjectDomain]) -> list[HostStanding]:
    """Return how the hosts count that the client has now and that none of the redirect URIs `before` was at."""
    known, found = set(hosts_of(before)), dict[str, HostStanding]()
    for uri in client.redirect_uris.split():
        standing = host_standing(client, uri, domains)
        if standing is not None and standing.host not in known:
            found.setdefault(standing.host, standing)
    return list(found.values())
