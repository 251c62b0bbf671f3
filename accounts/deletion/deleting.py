"""Deleting a person: what stands in the way, and what ends with them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from accounts import files
from accounts.models import Account, Family
from accounts.signals import blocking_deletion
from core.database.postgres.limits import allow_long_statements
from core.messages import fill_in

# What has to be done, by its code. Higher layers add the codes of their own receivers.
BLOCKER_TEXTS: dict[str, str] = {
    "recovery": "The team of this service is recovering your account, because somebody said that it was taken "
    "over. You can delete it after the recovery is done or stopped.",
}


@dataclass(frozen=True)
class Blocker:
    """What has to be done before an account can be deleted, and the public id of the project where, if it is one."""

    code: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    project: str = ""

    @property
    def text(self) -> str:
        """The sentence for the account's owner."""
        return fill_in(BLOCKER_TEXTS[self.code], self.parameters)


def deletion_blockers(account: Account) -> list[Blocker]:
    """Return what has to be done before the account can be deleted; empty if nothing blocks it."""
    answers: list[tuple[Any, Any]] = list(blocking_deletion.send(sender=Account, account=account))
    return [blocker for _, blockers in answers for blocker in blockers]


class DeletionBlocked(Exception):
    """Something has to be done before the account can be deleted."""


def delete_account(account: Account) -> None:
    """Delete an account and, by receivers of pre_delete, all credentials issued for it.

    Raises DeletionBlocked if something blocks the deletion by now (`deletion_blockers` is checked again).
    """
    picture = account.picture.name
    with transaction.atomic():
        # Who is joining the person's family just now comes before this, and is counted in, or finds it gone.
        list(Family.objects.select_for_update().filter(owner=account))
        # Who takes the address back just now comes before this, too, or finds the account gone.
        list(Account.objects.select_for_update().filter(pk=account.pk))
        if deletion_blockers(account):
            raise DeletionBlocked
        allow_long_statements()  # all mails that are kept are read
        account.delete()
        if picture:
            files.delete_on_commit(picture)
