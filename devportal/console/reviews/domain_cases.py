"""Cases at the desk for reviewed apps that stand on a domain which the project has lost (docs/review.md#cases)."""

from typing import Any

from django.dispatch import receiver

from devportal.console.models import ReviewCase
from devportal.lib import clock
from oidc.domains.claims import apps_on
from oidc.domains.verdicts import Change
from oidc.models import Project, ProjectDomain
from oidc.signals import domain_changed

_SENTENCES = {
    Change.LOST: "{name} is no longer proven: the project's proof of it was not found for too long.",
    Change.REGAINED: "{name} is proven again.",
    Change.REMOVED: "{name} was removed by the project.",
}


@receiver(domain_changed)
def note_change(sender: Any, project: Project, domain: ProjectDomain, change: Change, **kwargs: Any) -> None:
    """Open a case for each reviewed app on a lost domain, or add to the open one what became of the domain.

    In the transaction of the change, with the project locked: nobody else opens cases of this kind.
    """
    if change not in _SENTENCES:
        return
    sentence = _SENTENCES[change].format(name=domain.name)
    for client in apps_on(domain):
        about = {"client": client, "kind": ReviewCase.Kind.DOMAIN_LOST}
        case = ReviewCase.objects.select_for_update().filter(**about, closed_at=None).first()
        if case is not None:
            case.text = f"{case.text}\n{sentence}"
            case.save(update_fields=["text"])
        elif change == Change.LOST:
            ReviewCase.objects.create(project=project, text=sentence, opened_at=clock.now(), **about)
