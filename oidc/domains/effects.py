"""What follows from a change of a domain's proof: the hosts at which apps count as reviewed, and who is told."""

import copy
from collections.abc import Sequence

from devportal.lib import clock
from oidc.clients.reviewed_hosts import REVIEWED_COLUMNS, home_host, set_reviewed_hosts
from oidc.domains.coverage import domains_of
from oidc.domains.results import Change
from oidc.models import Client, Project, ProjectDomain
from oidc.signals import domain_changed


def announce_change(project: Project, domain: ProjectDomain, change: Change) -> None:
    """Have everything follow a change of proof that was just written; the project is locked.

    Receivers of `oidc.signals.domain_changed` on higher floors take part in the transaction.
    """
    domain_changed.send(sender=ProjectDomain, project=project, domain=domain, change=change)


def snapshot(domain: ProjectDomain) -> ProjectDomain:
    """Return a domain as it is now, for `refresh_reviewed_hosts` after it was changed."""
    return copy.copy(domain)


def refresh_reviewed_hosts(project: Project, before: ProjectDomain | None = None) -> None:
    """Compute again where the project's verified clients count as reviewed; the project is locked.

    `before` is the domain as it was. Hosts that only it spoke for are no longer approved: until they are proven again,
    or a review covers them, apps count there as unreviewed. If the home page is on one of them, the app carries no
    badge anywhere. Three statements, however many clients there are.
    """
    known = domains_of(project)
    # All of them, so that an approval at this moment comes before, or sees what the domains are now.
    rows = Client.objects.select_for_update(no_key=True, of=("self",)).filter(project=project).order_by("pk")
    changed = []
    for client in rows:
        was = [getattr(client, column) for column in REVIEWED_COLUMNS]
        client.project = project
        if before is not None:
            client.approved_hosts = " ".join(_still_known(client.approved_hosts.split(), before, known))
            home = home_host(client)
            if home and not _still_known([home], before, known):
                client.home_unproven_since = client.home_unproven_since or clock.now()
        set_reviewed_hosts(client, known)
        if [getattr(client, column) for column in REVIEWED_COLUMNS] != was:
            changed.append(client)
    if changed:
        Client.objects.bulk_update(changed, REVIEWED_COLUMNS)


def _still_known(hosts: Sequence[str], before: ProjectDomain, known: Sequence[ProjectDomain]) -> list[str]:
    """Return the hosts but those that `before` spoke for and no domain does any more, proven or lost."""

    def speaks(domain: ProjectDomain, host: str) -> bool:
        return domain.proven_at is not None and domain.covers(host)

    return [host for host in hosts if not speaks(before, host) or any(speaks(domain, host) for domain in known)]
