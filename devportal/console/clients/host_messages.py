"""What a developer is told of the hosts that they have just added to a reviewed app (docs/review.md#hosts)."""

from collections.abc import Iterable, Sequence

from django.contrib import messages
from django.http import HttpRequest

from oidc.clients.host_standings import HostStanding, new_host_standings
from oidc.domains.coverage import domains_of
from oidc.models import Client

MOST_NAMED = 5


def tell_of_new_hosts(request: HttpRequest, client: Client, before: Sequence[str]) -> None:
    """Say of each new host whether it counts; `before` are the redirect URIs that the client had."""
    if not client.is_verified or client.first_party:
        return
    new = new_host_standings(client, before, domains_of(client.project))
    if counting := _named(standing for standing in new if standing.counts):
        messages.success(request, f"People who come from {counting} see the app as reviewed at once.")
    if outside := _named(standing for standing in new if not standing.counts):
        text = f"Not reviewed: {outside}. People who come from there see the app as one that nobody reviewed."
        messages.warning(request, text)


def _named(standings: Iterable[HostStanding]) -> str:
    """Return the first hosts, and how many more there are; "" for none."""
    hosts = [standing.host for standing in standings]
    more = len(hosts) - MOST_NAMED
    return ", ".join(hosts[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
