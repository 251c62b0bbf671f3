"""Removing factors that someone else added, and rejecting factors of sessions that have ended."""

from collections.abc import Collection
from datetime import datetime

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.models import Authenticator
from django.db import transaction
from django.db.models import Max, Q
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse

from accounts.activity.recording import By, record
from accounts.factors import factor_events
from accounts.models import Account
from accounts.sessions.browser_sessions import has_changed
from accounts.sessions.keys import signs_in_alone

Type = Authenticator.Type


def added_since(account: Account, moment: datetime, newest: int | None = None) -> list[Authenticator]:
    """Lock and return the person's factors that were added at `moment` or later.

    With `newest`, the result of `newest_factor` at that time, this does not rely on clocks alone.
    """
    later = Q(created_at__gte=moment)
    if newest is not None:
        later |= Q(pk__gt=newest)
    return list(Authenticator.objects.select_for_update().filter(later, user=account))


def newest_factor(account: Account) -> int:
    """Return the primary key of the person's newest factor, 0 if there is none."""
    newest: int = Authenticator.objects.filter(user=account).aggregate(newest=Max("pk"))["newest"] or 0
    return newest


def remove_factors(
    account: Account,
    factors: Collection[Authenticator],
    request: HttpRequest | None = None,
    *,
    by: By = By.PERSON,
    notify: bool = False,
    also_to: Collection[str] = (),
) -> None:
    """Delete these factors, and recovery codes that would be left alone; the account's row is locked.

    Each removal is recorded in the activity. With `notify`, each one is also mailed to the account's email address and
    to `also_to`; otherwise the caller has to send an email about it.
    """
    gone = {row.pk: row for row in [*factors, *_codes_left_alone(account, factors)]}
    Authenticator.objects.filter(pk__in=gone).delete()
    types = {row.type for row in gone.values()}
    ends_codes = Type.RECOVERY_CODES in types and len(types) > 1  # mentioned in the email about the other factor
    for row in gone.values():
        kind, is_mailed = (
            factor_events.removed_kind(row),
            notify and not (ends_codes and row.type == Type.RECOVERY_CODES),
        )
        details = factor_events.removed_details(row, ends_codes=ends_codes)
        record(account, kind, request, by=by, notify=is_mailed, also_to=also_to, **details)


def is_last_way_in(account: Account, factor: Authenticator) -> bool:
    """Return whether this key is the person's only way to sign in, without a password or another passkey."""
    if account.has_usable_password() or not _is_passkey(factor):
        return False
    others = Authenticator.objects.filter(user=account, type=Type.WEBAUTHN).exclude(pk=factor.pk)
    return not any(_is_passkey(row) for row in others)


def _is_passkey(factor: Authenticator) -> bool:
    return factor.type == Type.WEBAUTHN and signs_in_alone(factor)


def ends_recovery_codes(account: Account, factor: Authenticator) -> bool:
    """Return whether removing this factor also removes the recovery codes, because no other factor is left."""
    return bool(_codes_left_alone(account, [factor]))


def _codes_left_alone(account: Account, factors: Collection[Authenticator]) -> list[Authenticator]:
    """Return the recovery codes that would be the only factor left without these factors."""
    left = Authenticator.objects.filter(user=account).exclude(pk__in=[row.pk for row in factors])
    rows = list(left)
    return rows if all(row.type == Type.RECOVERY_CODES for row in rows) else []


def refuse_if_session_ended(request: HttpRequest, factor: Authenticator) -> None:
    """Remove a new factor again if its session has ended since the request began.

    Otherwise a thief's request that runs while the owner takes the account back would leave a factor behind.
    """
    if not isinstance(request.user, Account):
        return  # at sign-up nobody is signed in yet
    with transaction.atomic():
        account = Account.objects.select_for_update(no_key=True).filter(pk=request.user.pk).first()
        if account is None or not has_changed(request.user, account):
            return
        gone = [factor, *_codes_left_alone(account, [factor])]
        Authenticator.objects.filter(pk__in=[row.pk for row in gone]).delete()
    raise ImmediateHttpResponse(HttpResponseRedirect(reverse("account_login")))
