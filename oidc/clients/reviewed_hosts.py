"""The hosts at which people see an app as reviewed (docs/review.md#hosts).

`Client.approved_hosts` and `Client.approved_domains` are what the last approval covers. `Client.reviewed_hosts` and
`Client.home_unproven_since` follow from them, from the redirect URIs and from the proofs of the project's domains. They
are computed again whenever one of these changes, so that a sign-in only compares texts.
"""

from collections.abc import Iterable, Sequence

from devportal.lib import clock
from oidc.clients.redirect_uris import playground_redirect_uri
from oidc.domains.coverage import domains_of, hosts_of, is_covered, is_lost
from oidc.models import Client, ProjectDomain
from oidc.reasons import Facts, Reason

# The columns that this module computes, for `save` and `bulk_update`.
REVIEWED_COLUMNS = ("approved_hosts", "approved_domains", "reviewed_hosts", "home_unproven_since")


def counts_as_reviewed(client: Client, redirect_uri: str) -> bool:
    """Return whether people see a verified app as reviewed when it asks to return to this registered URI."""
    if not client.carries_badge:
        return False
    if redirect_uri == playground_redirect_uri():
        return True
    hosts = hosts_of([redirect_uri])
    return bool(hosts) and set(hosts) <= set(client.reviewed_hosts.split())


def outside_host(client: Client, redirect_uri: str) -> str:
    """Return the host of a redirect URI that a reviewed app's review does not cover, "" for any other URI and app.

    Where it is not "", the request that names the URI is one of an app that nobody reviewed. The service's own apps
    are exempt, as from the cap.
    """
    if not client.is_verified or client.first_party or counts_as_reviewed(client, redirect_uri):
        return ""
    return next(iter(hosts_of([redirect_uri])), redirect_uri)


def outside_hosts(client: Client) -> list[str]:
    """Return the hosts of the registered redirect URIs of a reviewed app that its review does not cover."""
    found = (outside_host(client, uri) for uri in client.redirect_uris.split())
    return list(dict.fromkeys(host for host in found if host))


def reason_outside(client: Client, host: str, outside: Reason, home_unproven: Reason) -> tuple[Reason, Facts]:
    """Return which of two reasons makes a request at an outside host one of an unreviewed app, and its parameters.

    `outside`: the review did not take in the host. `home_unproven`: the domain of the home page has lost its proof.
    """
    if client.is_verified and not client.carries_badge:
        return home_unproven, {"host": host, "home": home_host(client)}
    return outside, {"host": host}


def is_trusted_at(client: Client, redirect_uri: str) -> bool:
    """Return whether people see an app as reviewed, and any number of them may use it, at this redirect URI."""
    return client.first_party or counts_as_reviewed(client, redirect_uri)


def home_host(client: Client) -> str:
    """Return the host of the app's home page, which the badge names; "" without a home page."""
    return next(iter(hosts_of([client.home_page_url])), "")


def set_approved_hosts(client: Client, redirect_uris: Iterable[str], other_addresses: Iterable[str] = ()) -> None:
    """Write down what an approval covers; the caller saves the client, whose row is locked.

    These are the hosts of the redirect URIs, and the proven domains that one of them or of the other addresses (pages
    and sign-out URLs) is on.
    """
    hosts, known = hosts_of(redirect_uris), domains_of(client.project)
    seen = [*hosts, *hosts_of(other_addresses)]
    client.approved_hosts = " ".join(hosts)
    client.approved_domains = " ".join(row.name for row in known if row.is_proven and any(map(row.covers, seen)))
    set_reviewed_hosts(client, known)


def approved_among(client: Client, domains: Iterable[ProjectDomain]) -> list[ProjectDomain]:
    """Return the domains that the last approval of an app covers."""
    approved = set(client.approved_domains.split())
    return [row for row in domains if row.name in approved]


def set_reviewed_hosts(client: Client, domains: Sequence[ProjectDomain] | None = None) -> None:
    """Compute where the app counts as reviewed; the caller saves the client, whose row is locked.

    `domains` are its project's. A home page that no domain has ever spoken for keeps the badge: such an app was
    approved without a proof, by an operator or before domains were proven.
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
