"""Cases of reviewed apps whose type or owners changed after the approval (docs/review.md#cases)."""

from typing import Any

from django.dispatch import receiver

from accounts.models import Account
from devportal.console.models import ReviewCase
from devportal.console.reviews.cases import Noted, open_case
from oidc.models import Client, Project
from oidc.signals import client_type_changed, owner_added

CHANGED = ReviewCase.Kind.CHANGED
Event = ReviewCase.Event


@receiver(client_type_changed)
def note_type_change(sender: Any, client: Client, before: str, actor: Account | None, **kwargs: Any) -> None:
    """Open a case when the type of a reviewed app changes; what an operator's file declares needs none."""
    if actor is None or not client.is_verified or client.first_party:
        return
    noted = Noted(Event.TYPE_CHANGED, {"before": before, "after": client.type})
    open_case(CHANGED, client.project, client, noted=noted)


@receiver(owner_added)
def note_new_owner(sender: Any, project: Project, transferred: bool, **kwargs: Any) -> None:
    """Open a case of the project when it gets another owner and has a reviewed app. The text names nobody."""
    if not Client.objects.filter(project=project, first_party=False).exclude(verified_at=None).exists():
        return
    open_case(CHANGED, project, noted=Noted(Event.PROJECT_TRANSFERRED if transferred else Event.OWNER_ADDED))
