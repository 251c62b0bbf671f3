"""Changing the address of an account, and taking it back from the old one (docs/accounts.md#changing-the-address)."""

import hmac
from datetime import timedelta

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from accounts.activity.browsers import known_browser_name, user_agent
from accounts.activity.recording import record
from accounts.mail import outbox
from accounts.mail.rendering import render_mail
from accounts.models import Account, AddressChange
from accounts.sessions import end_all_sessions
from devportal.lib import clock
from devportal.lib.audit import Event, report
from devportal.lib.client_ip import client_ip
from devportal.lib.typed_codes import as_typed, random_code

# How long the mail with the code is tried; the code itself works for longer.
MAIL_TRIED = timedelta(days=1)


class TakeBackRefused(Exception):
    """The address can't be taken back; the message is for the page."""


def _standing() -> "QuerySet[AddressChange]":
    """Return the changes that can still be taken back, the oldest first."""
    recent = clock.now() - timedelta(days=settings.ADDRESS_REVERSAL_DAYS)
    return AddressChange.objects.filter(ended_at=None, at__gt=recent).order_by("pk")


def addresses_left(account: Account) -> list[str]:
    """Return the former addresses that can still take the account back."""
    return list(_standing().filter(account=account).values_list("old_email", flat=True))


def record_change(request: HttpRequest, account: Account, old: str, new: str) -> None:
    """Keep a change of a proven address, and mail the code to the old one; the account's row is locked.

    Back to an address that was left lately, it is that address's owner who goes back: those in between get no code, and
    theirs of before work no more. Else a thief's address could take the account a second time.
    """
    standing = _standing().filter(account=account)
    left = standing.filter(old_email=new).first()
    if left is not None:
        standing.filter(pk__gt=left.pk).update(ended_at=clock.now())
        return
    code = random_code()
    AddressChange.objects.create(
        account=account, old_email=old, new_email=new, code_mac=_mac(old, code), at=clock.now()
    )
    context = {
        "email": old,
        "code": code,
        "days": settings.ADDRESS_REVERSAL_DAYS,
        "at": clock.now(),
        "browser": known_browser_name(user_agent(request)),
        "ip": client_ip(request),
    }
    try:
        outbox.store_mail(old, render_mail("address_changed", context), expires_at=clock.now() + MAIL_TRIED)
    except ValidationError:  # no mail server takes the address
        return


def take_back(request: HttpRequest, email: str, code: str) -> Account:
    """Make the old address of a change the account's own again, and end what whoever changed it could still use.

    All sessions end, and the password; second factors stay. This change and all later ones end with it, earlier ones
    can still be taken back. Raises TakeBackRefused.
    """
    with transaction.atomic():
        change = _find(email.lower(), code)
        # The account's row before its changes', as a deletion and a change of address do.
        account = Account.objects.select_for_update(no_key=True).filter(pk=change.account_id).first()
        standing = _standing().filter(account=account)
        if account is None or not standing.filter(pk=change.pk).exists():
            raise TakeBackRefused("This code has been used, or the account is gone.")
        if _is_somebody_elses(change.old_email, account):
            raise TakeBackRefused(
                "This address belongs to another account by now, so it can't be the address of this one again."
            )
        replaced = account.email
        _give_address(account, change.old_email)
        standing.filter(pk__gte=change.pk).update(ended_at=clock.now())
        end_all_sessions(account)
        record(account, "address_taken_back", request, also_to=[replaced], email=account.email)
        report(Event("account.address_taken_back", target=f"account:{account.pk}", person=account.pk))
    return account


def _find(email: str, code: str) -> AddressChange:
    for change in _standing().filter(old_email=email):
        if _fits(change, code):
            return change
    raise TakeBackRefused("That code does not fit this address, or its time is over.")


def _is_somebody_elses(email: str, account: Account) -> bool:
    others = Account.objects.filter(email=email).exclude(pk=account.pk)
    proven = EmailAddress.objects.filter(email__iexact=email, verified=True).exclude(user=account)
    return others.exists() or proven.exists()


def _give_address(account: Account, email: str) -> None:
    """Make it the only address, proven, and end the password."""
    account.email, account.email_verified = email, True
    account.set_unusable_password()
    account.save(update_fields=["email", "email_verified", "password"])
    EmailAddress.objects.filter(user=account).delete()
    EmailAddress.objects.create(user=account, email=email, verified=True, primary=True)


def _mac(email: str, code: str, secret: str | None = None) -> str:
    letters = as_typed(code).decode()
    return salted_hmac("accounts.address_changes", f"{email} {letters}", secret, algorithm="sha256").hexdigest()


def _fits(change: AddressChange, code: str) -> bool:
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return any(hmac.compare_digest(change.code_mac, _mac(change.old_email, code, secret)) for secret in secrets)
