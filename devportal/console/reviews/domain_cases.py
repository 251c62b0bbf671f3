"""Cases at the desk for reviewed apps that stand on a domain which the project has lost (docs/review.md#cases)."""

from typing import Any

from django.dispatch import receiver

from devportal.console.models import ReviewCase
from devportal.console.reviews.cases import open_case, open_case_of
from oidc.domains.claims import apps_on
from oidc.domains.verdicts import Change
from oidc.models import Project, ProjectDomain
from oidc.signals import domain_changed

DOMAIN_LOST = ReviewCase.Kind.DOMAIN_LOST
_SENTENCES = {
    Change.LOST: "{name} is no longer proven: the project's proof of it was not found for too long.",
    Change.REGAINED: "{name} is proven again.",
    Change.REMOVED: "{name} was removed by the project.",
}


@receiver(domain_changed)
def note_change(sender: Any, project: Project, domain: ProjectDomain, change: Change, **kwargs: Any) -> None:
    """Open a case for each reviewed app on a lost domain, or add to the open one what became of the domain.

    In the transaction of the change, with the project locked.
    """
    if change not in _SENTENCES:
        return
    sentence = _SENTENCES[change].format(name=domain.name)
    for client in apps_on(domain):
        if change == Change.LOST or open_case_of(DOMAIN_LOST, project, client) is not None:
            open_case(DOMAIN_LOST, project, client, text=sentence)
