"""At which hosts a reviewed app is one: those that were approved, and those on proven domains (docs/review.md#hosts).

`Client.approved_hosts` is what the last approval took in. `Client.reviewed_hosts` is what follows from it, from the
redirect URIs and from the project's domains; each change of one of these computes it anew, so that a sign-in compares
two texts.
"""

from collections.abc import Iterable, Sequence

from oidc.clients.redirect_uris import playground_redirect_uri
from oidc.domains.coverage import domains_of, hosts_of, is_covered, is_loopback, is_lost
from oidc.models import Client, ProjectDomain


def counts_as_reviewed(client: Client, redirect_uri: str) -> bool:
    """Return whether people see a verified app as reviewed when it asks to return to this registered URI."""
    if not client.is_verified:
        return False
    if redirect_uri == playground_redirect_uri():
        return True
    hosts = hosts_of([redirect_uri])
    if client.type == Client.Type.NATIVE and hosts and all(map(is_loopback, hosts)):
        return True  # the person's own machine, where the app is installed (RFC 8252 §7.3)
    return bool(hosts) and set(hosts) <= set(client.reviewed_hosts.split())


def outside_host(client: Client, redirect_uri: str) -> str:
    """Return the host of a redirect URI that a reviewed app's review did not take in, "" for any other URI and app.

    Where it is not "", the request that names the URI is one of an app that nobody reviewed. The service's own apps
    are exempt, as from the cap.
    """
    if not client.is_verified or client.first_party or counts_as_reviewed(client, redirect_uri):
        return ""
    return next(iter(hosts_of([redirect_uri])), redirect_uri)


def outside_hosts(client: Client) -> list[str]:
    """Return the hosts of the registered redirect URIs of a reviewed app that its review did not take in."""
    found = (outside_host(client, uri) for uri in client.redirect_uris.split())
    return list(dict.fromkeys(host for host in found if host))


def is_trusted_at(client: Client, redirect_uri: str) -> bool:
    """Return whether people see an app as reviewed, and any number of them may use it, at this redirect URI."""
    return client.first_party or counts_as_reviewed(client, redirect_uri)


def set_approved_hosts(client: Client, redirect_uris: Iterable[str]) -> None:
    """Note the hosts that an approval takes in; the caller saves the client, whose row is locked."""
    client.approved_hosts = " ".join(hosts_of(redirect_uris))
    set_reviewed_hosts(client)


def set_reviewed_hosts(client: Client, domains: Sequence[ProjectDomain] | None = None) -> None:
    """Compute `reviewed_hosts` anew; the caller saves the client, whose row is locked. `domains` are its project's."""
    if not client.is_verified:
        client.approved_hosts = client.reviewed_hosts = ""
        return
    known = domains_of(client.project) if domains is None else domains
    approved = [host for host in client.approved_hosts.split() if not is_lost(host, known)]
    covered = [host for host in hosts_of(client.redirect_uris.split()) if is_covered(host, known)]
    client.reviewed_hosts = " ".join(dict.fromkeys([*approved, *covered]))
