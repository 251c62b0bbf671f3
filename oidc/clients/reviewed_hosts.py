"""The hosts at which an app counts as reviewed (docs/review.md#hosts), and how each redirect URI counts.

`Client.approved_hosts` and `Client.approved_domains` are what the last approval covers. `Client.reviewed_hosts` and
`Client.home_unproven_since` follow from them, from the redirect URIs and from the proofs of the project's domains. They
are computed again whenever one of these changes, so that a sign-in only compares strings.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from core import clock
from oidc.clients.domain_names import domains_of, hosts_of, is_covered, is_loopback, is_lost, proven_domains
from oidc.models import Client, ProjectDomain
from oidc.values.reasons import Facts, Reason
from oidc.values.redirect_uris import playground_redirect_uri


class HostReason(StrEnum):
    """Why a redirect URI counts as reviewed, or does not."""

    DOMAIN = "domain"  # counts: it is on a proven domain that the last approval covers
    APPROVED = "approved"  # counts: the last approval covers the host itself
    HOME = "home"  # does not count: the domain of the home page is no longer proven
    LATER = "later"  # does not count: it is on a proven domain that the last approval does not cover
    LOST = "lost"  # does not count: it was approved, but its domain has lost its proof
    LOOPBACK = "loopback"  # does not count: nobody can prove it, so only an approval can cover it
    OUTSIDE = "outside"  # does not count for none of the reasons above


@dataclass(frozen=True)
class HostStanding:
    """How one redirect URI counts. `domain` is the project's proven domain that covers its host, "" for none."""

    host: str
    reason: HostReason
    domain: str = ""

    @property
    def counts(self) -> bool:
        """Whether people see the app as reviewed when a request uses this redirect URI."""
        return self.reason in (HostReason.DOMAIN, HostReason.APPROVED)


def host_standing(client: Client, redirect_uri: str, domains: Sequence[ProjectDomain]) -> HostStanding | None:
    """Return how a redirect URI counts, whether or not it is registered yet. `domains` are the project's domains.

    The result is None for apps that are not reviewed, the service's own apps, the playground's URL and invalid URLs.
    """
    host = next(iter(hosts_of([redirect_uri])), "")
    if not host or not client.is_verified or client.first_party or redirect_uri == playground_redirect_uri():
        return None
    covering = _covering(host, approved_among(client, domains))
    is_saved = redirect_uri in client.redirect_uris.split()
    if not client.carries_badge or (outside_host(client, redirect_uri) and (is_saved or not covering)):
        return HostStanding(host, _why_not(client, host, domains), _covering(host, domains))
    return HostStanding(host, HostReason.DOMAIN if covering else HostReason.APPROVED, covering)


def _covering(host: str, domains: Iterable[ProjectDomain]) -> str:
    return next((row.name for row in domains if row.is_proven and row.covers(host)), "")


def _why_not(client: Client, host: str, domains: Sequence[ProjectDomain]) -> HostReason:
    if not client.carries_badge:
        return HostReason.HOME
    if is_loopback(host):
        return HostReason.LOOPBACK
    if is_covered(host, domains):
        return HostReason.LATER
    was_approved = host in client.approved_hosts.split()
    return HostReason.LOST if was_approved and is_lost(host, domains) else HostReason.OUTSIDE


def new_host_standings(client: Client, before: Sequence[str], domains: Sequence[ProjectDomain]) -> list[HostStanding]:
    """Return how the client's new hosts count, which are the hosts of none of the redirect URIs in `before`."""
    known, found = set(hosts_of(before)), dict[str, HostStanding]()
    for uri in client.redirect_uris.split():
        standing = host_standing(client, uri, domains)
        if standing is not None and standing.host not in known:
            found.setdefault(standing.host, standing)
    return list(found.values())


# The columns that this module computes, for `save` and `bulk_update`.
REVIEWED_COLUMNS = ("approved_hosts", "approved_domains", "reviewed_hosts", "home_unproven_since")


def counts_as_reviewed(client: Client, redirect_uri: str) -> bool:
    """Return whether people see the app as reviewed when a request uses this registered redirect URI."""
    if not client.carries_badge:
        return False
    if redirect_uri == playground_redirect_uri():
        return True
    hosts = hosts_of([redirect_uri])
    return bool(hosts) and set(hosts) <= set(client.reviewed_hosts.split())


def outside_host(client: Client, redirect_uri: str) -> str:
    """Return the host of a redirect URI if the app is reviewed but its review does not cover the host, otherwise "".

    A request with such a redirect URI is treated like one from an app without a review. The service's apps are exempt,
    as they are from the user limit.
    """
    if not client.is_verified or client.first_party or counts_as_reviewed(client, redirect_uri):
        return ""
    return next(iter(hosts_of([redirect_uri])), redirect_uri)


def outside_hosts(client: Client) -> list[str]:
    """Return the hosts of the registered redirect URIs of a reviewed app that its review does not cover."""
    found = (outside_host(client, uri) for uri in client.redirect_uris.split())
    return list(dict.fromkeys(host for host in found if host))


def reason_outside(client: Client, host: str, outside: Reason, home_unproven: Reason) -> tuple[Reason, Facts]:
    """Return why a reviewed app counts as not reviewed at a host: one of two reasons, and its parameters.

    `outside` is returned if the review does not cover the host, `home_unproven` if the domain of the home page has lost
    its proof.
    """
    if client.is_verified and not client.carries_badge:
        return home_unproven, {"host": host, "home": home_host(client)}
    return outside, {"host": host}


def is_trusted_at(client: Client, redirect_uri: str) -> bool:
    """Return whether people see an app as reviewed at this redirect URI, and the user limit does not apply."""
    return client.first_party or counts_as_reviewed(client, redirect_uri)


def home_host(client: Client) -> str:
    """Return the host of the app's home page, which the badge names; "" without a home page."""
    return next(iter(hosts_of([client.home_page_url])), "")


def set_approved_hosts(
    client: Client,
    redirect_uris: Iterable[str],
    other_addresses: Iterable[str] = (),
    among: Collection[str] | None = None,
) -> None:
    """Set what an approval covers. The caller has locked the client's row, and saves it.

    An approval covers the hosts of the redirect URIs, and the proven domains of these and of the other URLs (pages and
    sign-out URLs). `among` are the names of the domains that it may cover, None for all.
    """
    hosts, known = hosts_of(redirect_uris), domains_of(client.project)
    covered = proven_domains([*hosts, *hosts_of(other_addresses)], known)
    client.approved_hosts = " ".join(hosts)
    client.approved_domains = " ".join(name for name in covered if among is None or name in among)
    set_reviewed_hosts(client, known)


def approved_among(client: Client, domains: Iterable[ProjectDomain]) -> list[ProjectDomain]:
    """Return the domains that the last approval of an app covers."""
    approved = set(client.approved_domains.split())
    return [row for row in domains if row.name in approved]


def set_reviewed_hosts(client: Client, domains: Sequence[ProjectDomain] | None = None) -> None:
    """Compute where the app counts as reviewed. The caller has locked the client's row, and saves it.

    `domains` are the domains of its project. An app keeps its badge if its home page was never on a proven domain: it
    was approved without a proof, by an operator or before domains were proven.
    """
    if not client.is_verified:
        client.approved_hosts = client.approved_domains = client.reviewed_hosts = ""
        client.home_unproven_since = None
        return
    known = domains_of(client.project) if domains is None else domains
    approved = [host for host in client.approved_hosts.split() if not is_lost(host, known)]
    counting = approved_among(client, known)
    covered = [host for host in hosts_of(client.redirect_uris.split()) if is_covered(host, counting)]
    client.reviewed_hosts = " ".join(dict.fromkeys([*approved, *covered]))
    home = home_host(client)
    if not home or is_covered(home, known):
        client.home_unproven_since = None
    elif is_lost(home, known):
        client.home_unproven_since = client.home_unproven_since or clock.now()
