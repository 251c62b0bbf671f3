"""Cases of reviewed apps on a domain that the project has lost or removed (docs/review.md#cases)."""

from typing import Any

from django.dispatch import receiver

from devportal.console.models import ReviewCase
from devportal.console.reviews.cases import Noted, open_case, open_case_of
from oidc.domains.claims import apps_on
from oidc.domains.effects import snapshot
from oidc.domains.results import Change
from oidc.models import Project, ProjectDomain
from oidc.signals import domain_changed

DOMAIN_LOST = ReviewCase.Kind.DOMAIN_LOST
Event = ReviewCase.Event
_EVENTS = {
    Change.LOST: Event.DOMAIN_LOST,
    Change.NARROWED: Event.DOMAIN_NARROWED,
    Change.REMOVED: Event.DOMAIN_REMOVED,
    Change.PROVEN: Event.DOMAIN_PROVEN,
    Change.REGAINED: Event.DOMAIN_PROVEN,
    Change.WIDENED: Event.DOMAIN_WIDENED,
}
_OPENS = (Change.LOST, Change.NARROWED, Change.REMOVED)


@receiver(domain_changed)
def note_change(sender: Any, project: Project, domain: ProjectDomain, change: Change, **kwargs: Any) -> None:
    """Open a case for each reviewed app on a domain that lost its proof or was removed, or add to the open one.

    A later proof of the domain is added to a case that is still open. In the transaction of the change, with the
    project locked.
    """
    if change not in _EVENTS or domain.proven_at is None:
        return
    noted = Noted(_EVENTS[change], {"domain": domain.name})
    before = snapshot(domain)
    if change == Change.NARROWED:
        before.method = ProjectDomain.Method.DNS  # what it was, when it spoke for its subdomains as well
    for client in apps_on(before):
        if change in _OPENS or open_case_of(DOMAIN_LOST, project, client) is not None:
            open_case(DOMAIN_LOST, project, client, noted=noted)
