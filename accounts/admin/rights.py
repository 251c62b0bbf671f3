"""What every act of an operator on a person's account begins and ends with."""

from typing import Any

from django.http import HttpRequest

from accounts.activity.recording import By, record
from accounts.models import Account
from accounts.roles import may_administer
from devportal.lib.admin.actions import ActionRefused


def target_of(account: Account) -> str:
    """Return the audit target of a person: their key, not the address, so that deletion leaves no address behind."""
    return f"account:{account.pk}"


def ask_anew(request: HttpRequest, account: Account) -> Account:
    """Lock operator and account, in the order of their keys, and check permission again; return the operator.

    Raises ActionRefused.
    """
    people = Account.objects.select_for_update(no_key=True).filter(pk__in={request.user.pk, account.pk})
    now = {row.pk: row for row in people.order_by("pk")}
    actor, row = now.get(request.user.pk or 0), now.get(account.pk)
    if actor is None or row is None or not actor.is_active or not actor.is_staff or not may_administer(actor, row):
        raise ActionRefused("This changed in the meantime; the page shows the current state.")
    return actor


def is_somebody_else(request: HttpRequest, account: Account) -> bool:
    """Whether the account is not the operator's own: nobody may lock themselves out."""
    return account.pk != request.user.pk


def tell(account: Account, kind: str, *, tells: bool = True, **details: Any) -> None:
    """Record what an operator did. A mail tells of it if the address is proven to be the person's."""
    record(account, kind, by=By.OPERATOR, tells=tells and account.email_verified, **details)
