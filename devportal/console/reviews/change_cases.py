"""Cases of reviewed apps whose type or owners changed after the approval (docs/review.md#cases)."""

from typing import Any

from django.dispatch import receiver

from accounts.models import Account
from devportal.console.models import ReviewCase
from devportal.console.reviews.cases import open_case
from oidc.models import Client, Project
from oidc.signals import client_type_changed, owner_added

CHANGED = ReviewCase.Kind.CHANGED


@receiver(client_type_changed)
def note_type_change(sender: Any, client: Client, before: str, actor: Account | None, **kwargs: Any) -> None:
    """Open a case when the type of a reviewed app changes; what an operator's file declares needs none."""
    if actor is None or not client.is_verified or client.first_party:
        return
    was, now = Client.Type(before).label, Client.Type(client.type).label
    open_case(CHANGED, client.project, client, text=f"The type was changed from “{was}” to “{now}”.")


@receiver(owner_added)
def note_new_owner(sender: Any, project: Project, transferred: bool, **kwargs: Any) -> None:
    """Open a case of the project when it gets another owner and has a reviewed app. The text names nobody."""
    if not Client.objects.filter(project=project, first_party=False).exclude(verified_at=None).exists():
        return
    open_case(CHANGED, project, text="The project was transferred." if transferred else "The project has a new owner.")
