"""Deleting a person's account: what blocks it, and what ends with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from accounts.models import Account, DataExport, Family
from accounts.profile import files
from accounts.signals import blocking_deletion
from core.database.postgres.limits import allow_long_statements
from core.messages import fill_in

# Texts of the actions that are needed first, by code. Apps of higher layers add the codes of their receivers.
BLOCKER_TEXTS: dict[str, str] = {
    "recovery": "We are recovering your account, because we were told that someone else took it over. You can delete "
    "it after the recovery is done or stopped.",
}


@dataclass(frozen=True)
class Blocker:
    """An action that is needed before an account can be deleted, with the public id of its project, if it has one."""

    code: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    project: str = ""

    @property
    def text(self) -> str:
        """The sentence for the account's owner."""
        return fill_in(BLOCKER_TEXTS[self.code], self.parameters)


def deletion_blockers(account: Account) -> list[Blocker]:
    """Return what must be done before the account can be deleted; empty if nothing blocks it."""
    answers: list[tuple[Any, Any]] = list(blocking_deletion.send(sender=Account, account=account))
    return [blocker for _, blockers in answers for blocker in blockers]


def lock_blockers(account: Account) -> None:
    """Lock the rows on which `deletion_blockers` depends. Call it before locking the account.

    They include the person's projects, and projects are locked before accounts (docs/architecture.md#locking).
    """
    deletion_blockers(account)


class DeletionBlocked(Exception):
    """Something must be done before the account can be deleted."""


def delete_account(account: Account) -> None:
    """Delete an account and, by receivers of pre_delete, all credentials issued for it.

    Raises DeletionBlocked if something blocks the deletion now (`deletion_blockers` is checked again).
    """
    with transaction.atomic():
        lock_blockers(account)
        # People who are joining the person's family finish first and are included, or find it deleted.
        list(Family.objects.select_for_update().filter(owner=account))
        # Taking the email address back, or a new picture, also finishes first, or finds the account deleted.
        pictures = list(Account.objects.select_for_update().filter(pk=account.pk).values_list("picture", flat=True))
        if deletion_blockers(account):
            raise DeletionBlocked
        # An export that is being finished does so first, or finds its row deleted. The newest first, as in creating.py.
        list(DataExport.objects.select_for_update().filter(account=account).order_by("-pk"))
        allow_long_statements()  # all stored emails are read
        account.delete()
        for picture in filter(None, pictures):
            files.delete_on_commit(picture)
