"""The rules for the recovery of an account that was taken over (docs/accounts.md#an-account-that-was-taken-over).

The operator enters the time of the takeover. No session, factor or email address from after that time can stop the
recovery, and nothing from before it is removed.
"""

from typing import Any

from allauth.account.authentication import get_authentication_records
from allauth.mfa.models import Authenticator
from django.db.models import Q
from django.dispatch import receiver
from django.http import HttpRequest

from accounts import authentication
from accounts.deletion.deleting import Blocker
from accounts.models import Account, AccountRecovery, AddressChange, SecurityEvent
from accounts.signals import blocking_deletion


def may_stop(recovery: AccountRecovery, request: HttpRequest) -> bool:
    """Return whether a signed-in person may stop the recovery.

    After a takeover, only a session that began before it may, or one in which a factor from before it was used.
    """
    moment = recovery.taken_over_at
    if moment is None:
        return True
    signed_in_at = request.session.get(authentication.SESSION_KEY, {}).get("at", 0)
    if 0 < signed_in_at < moment.timestamp():
        return True
    used = [record.get("id") for record in get_authentication_records(request, request.user)]
    older = Authenticator.objects.filter(user=recovery.account_id, created_at__lt=moment)
    return bool(older.filter(pk__in=[pk for pk in used if pk]).exists())


def addresses_since(recovery: AccountRecovery) -> set[str]:
    """Return the email addresses that the account got since it was taken over; empty without a takeover."""
    return {new for _, new in _changes_since(recovery)} - {address_before(recovery)}


def address_before(recovery: AccountRecovery) -> str:
    """Return the email address that the account had when it was taken over, "" if it has not changed since."""
    changes = _changes_since(recovery)
    return changes[0][0] if changes else ""


def _changes_since(recovery: AccountRecovery) -> list[tuple[str, str]]:
    """Return the former and the new email address of each change since the takeover, the oldest first.

    Changes that can be taken back are deleted after some days, so the activity is read as well.
    """
    if recovery.taken_over_at is None:
        return []
    since = {"account": recovery.account_id, "at__gte": recovery.taken_over_at}
    rows = AddressChange.objects.filter(**since).values_list("at", "old_email", "new_email")
    events = SecurityEvent.objects.filter(**since, kind="address_changed").values_list("at", "details")
    changes = [*rows, *((at, details.get("old", ""), details.get("new", "")) for at, details in events)]
    return [(old.lower(), new.lower()) for _, old, new in sorted(changes)]


@receiver(blocking_deletion)
def keep_while_recovering(sender: Any, account: Account, **kwargs: Any) -> list[Blocker]:
    """Block deletion of an account that is being recovered from a takeover: it could be used to stop the recovery."""
    found = AccountRecovery.objects.open().filter(~Q(taken_over_at=None), account=account)
    return [Blocker("recovery")] if found.exists() else []
