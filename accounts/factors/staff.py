"""The second factor of staff: the admin opens to nobody without one that they used in this session.

A factor counts that was used at sign-in or asked for since, and the first one that was set up in this session: whoever
has just enrolled has shown it. A further one does not: a session that knew only the password could add its own.
"""

from typing import Any

from allauth.account.authentication import get_authentication_records
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.models import Account

# In the session: the page of the admin that was asked for, and whose first factor was set up here.
WANTED, ENROLLED = "staff_wanted", "first_factor_of"
Type = Authenticator.Type


def is_second_factor_missing(request: HttpRequest) -> bool:
    """Return whether this session has still to show a second factor before the admin opens.

    A passkey that signed in alone counts as two, for the device asked for a finger, a face or a PIN.
    """
    records = get_authentication_records(request, request.user)
    is_shown = any(record["method"] == "mfa" for record in records) or request.session.get(ENROLLED) == request.user.pk
    return not is_shown or not _factors_of(request.user.pk).exists()  # it may have been removed since


@receiver(authenticator_added)
def note_first_factor(sender: Any, request: HttpRequest, user: Account, authenticator: Any, **kwargs: Any) -> None:
    """Note that the person set up their first factor in this session."""
    if authenticator.type == Type.RECOVERY_CODES or request.user.pk != user.pk:
        return
    if not _factors_of(user.pk).exclude(pk=authenticator.pk).exists():
        request.session[ENROLLED] = user.pk


def _factors_of(account_pk: int | None) -> Any:
    return Authenticator.objects.filter(user_id=account_pk).exclude(type=Type.RECOVERY_CODES)
