"""What ends when a person's account does: everything that was given out in their name (security rule 17)."""

from typing import Any

from django.db import transaction
from django.db.models.signals import pre_delete
from django.dispatch import receiver

from accounts.models import Account
from accounts.signals import access_ended
from devportal.lib import clock
from oidc.models import Connection, Family


@receiver(access_ended)
def end_everything(sender: Any, account: Account, **kwargs: Any) -> None:
    """End codes and tokens of a person who was deactivated or is about to be deleted."""
    live = Family.objects.filter(connection__account=account, revoked_at=None)
    live.update(revoked_at=clock.now(), revoked_why="account ended")


@receiver(pre_delete, sender=Account)
def forget_person(sender: Any, instance: Account, **kwargs: Any) -> None:
    """Before an account goes: nothing stays alive, and the connections that the cap counts name nobody."""
    with transaction.atomic():
        end_everything(sender, instance)
        Connection.objects.filter(account=instance).update(scopes="", removed_at=clock.now())
