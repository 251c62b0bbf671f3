"""Change the email address of an account, and take it back (docs/accounts.md#changing-the-email-address)."""

import hmac
from datetime import datetime, timedelta

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from accounts.activity.recording import record
from accounts.data_export.archive import verified_addresses_of
from accounts.deletion.deleting import delete_account, deletion_blockers, lock_blockers
from accounts.factors import removal
from accounts.mail import outbox
from accounts.mail.rendering import render_mail
from accounts.models import Account, AddressChange, SecurityEvent
from accounts.recovery import questioned
from accounts.sessions.browser_sessions import end_all_sessions
from core import clock
from core.audit import Event, report
from core.http.client_ip import client_ip
from core.http.places import known_browser_name, user_agent
from core.typed_codes import as_typed, random_code

# For this long, sending the email with the code is retried; the code itself is valid for longer.
MAIL_TRIED = timedelta(days=1)


class TakeBackRefused(ValidationError):
    """The email address can't be taken back; the message is for the page."""


def _standing() -> "QuerySet[AddressChange]":
    """Return the changes that can still be taken back, the oldest first."""
    recent = clock.now() - timedelta(days=settings.ADDRESS_REVERSAL_DAYS)
    return AddressChange.objects.filter(ended_at=None, at__gt=recent).order_by("pk")


def addresses_left(account: Account) -> list[str]:
    """Return the former email addresses that can still take the account back."""
    return list(_standing().filter(account=account).values_list("old_email", flat=True))


def reachable_addresses(account: Account) -> list[str]:
    """Return the verified email addresses, and the former ones that can still take the account back."""
    return list(dict.fromkeys((*verified_addresses_of(account), *addresses_left(account))))


def record_change(request: HttpRequest, account: Account, old: str, new: str) -> None:
    """Store a change of a verified email address, and mail the code to the old one; the account's row is locked.

    Going back to a recent former email address counts as an action of its owner: the addresses in between get no code,
    and their earlier codes no longer work. Otherwise a thief's email address could take the account a second time.
    """
    standing = _standing().filter(account=account)
    left = standing.filter(old_email=new).first()
    if left is not None:
        standing.filter(pk__gt=left.pk).update(ended_at=clock.now())
        return
    code = random_code()
    AddressChange.objects.create(
        account=account,
        old_email=old,
        new_email=new,
        newest_factor=removal.newest_factor(account),
        code_mac=_mac(old, code),
        at=clock.now(),
    )
    context = {
        "email": old,
        "code": code,
        "days": settings.ADDRESS_REVERSAL_DAYS,
        "at": clock.now(),
        "browser": known_browser_name(user_agent(request)),
        "ip": client_ip(request),
        "zone": account.time_zone,
    }
    try:
        outbox.store_mail(old, render_mail("address_changed", context), expires_at=clock.now() + MAIL_TRIED)
    except ValidationError:  # no mail server accepts this email address
        return


def take_back(request: HttpRequest, email: str, code: str) -> tuple[Account, questioned.Question]:
    """Restore the old email address of a change, and remove all access that a thief could still have.

    All sessions end, the password is removed, and every factor that was added since the change is removed. Older
    factors stay; the page that follows asks about recent ones. This change and all later ones can no longer be taken
    back, earlier ones can. Raises TakeBackRefused.
    """
    with transaction.atomic():
        change = _find(email, code)
        # Lock the account before its changes, in the same order as account deletion and changes of email address.
        account = lock_for_address(change.account_id, change.old_email)
        standing = _standing().filter(account=account)
        if account is None or not standing.filter(pk=change.pk).exists():
            raise TakeBackRefused("This code has already been used, or the account has been deleted.")
        if is_taken(change.old_email, account):
            raise TakeBackRefused("This email address now belongs to another account, so you can't take it back.")
        removed = [account.email, *verified_addresses_of(account)]
        _give_address(account, change.old_email)
        standing.filter(pk__gte=change.pk).update(ended_at=clock.now())
        removal.remove_factors(account, removal.added_since(account, change.at, change.newest_factor), request)
        question = questioned.ask(account, change.at)
        end_all_sessions(account)
        record(account, "address_taken_back", request, also_to=removed, email=account.email)
        report(Event("account.address_taken_back", target=f"account:{account.pk}", person=account.pk))
    return account, question


def _find(email: str, code: str) -> AddressChange:
    for change in _standing().filter(old_email=email):
        if _fits(change, code):
            return change
    raise TakeBackRefused("This code does not belong to this email address, or it has expired.")


def end_changes_since(account: Account, moment: datetime) -> None:
    """End the changes of a thief: the email addresses since `moment` can no longer take the account back."""
    _standing().filter(account=account, at__gte=moment).update(ended_at=clock.now())


def lock_for_address(pk: int, email: str) -> Account | None:
    """Lock an account that is about to get an email address, and the sign-ups that make way for it.

    Call it first in a transaction: their projects are locked before the accounts (docs/architecture.md#locking). If
    someone verifies such a sign-up at this moment, that either succeeds first, so that `is_taken` sees it, or waits.
    """
    for sign_up in _unverified_sign_ups(email).exclude(pk=pk):
        lock_blockers(sign_up)
    rows = Account.objects.select_for_update(no_key=True).filter(Q(pk=pk) | _is_unverified_sign_up(email))
    return next((row for row in rows.order_by("pk") if row.pk == pk), None)


def is_taken(email: str, account: Account) -> bool:
    """Return whether an email address belongs to someone else.

    Unverified sign-ups do not count: with one, strangers could keep people from using their email address, and a thief
    the owner from taking the account back. If an operator has made one the only owner of a project, it can't be
    deleted, so it does count.
    """
    if not email:
        return False
    others = Account.objects.filter(email=email).exclude(pk=account.pk)
    proven = EmailAddress.objects.filter(email=email, verified=True).exclude(user=account)
    sign_ups = _unverified_sign_ups(email)
    if proven.exists() or others.exclude(pk__in=sign_ups).exists():
        return True
    return any(deletion_blockers(each) for each in sign_ups.exclude(pk=account.pk))


def make_way(email: str, account: Account) -> None:
    """Delete an unverified sign-up that uses an email address which the account is about to get.

    Raises DeletionBlocked. Call `lock_for_address` before.
    """
    for other in _unverified_sign_ups(email).exclude(pk=account.pk):
        other.passes_on = email
        delete_account(other)
    EmailAddress.objects.filter(email=email, verified=False).exclude(user=account).delete()


def _unverified_sign_ups(email: str) -> "QuerySet[Account]":
    """Return the accounts that signed up with an email address, but never verified it or signed in."""
    return Account.objects.filter(_is_unverified_sign_up(email))


def _is_unverified_sign_up(email: str) -> Q:
    signed_up = SecurityEvent.objects.filter(kind="signed_up").values("account")
    return Q(email=email, email_verified=False, last_login=None, is_staff=False, pk__in=signed_up)


def _give_address(account: Account, email: str) -> None:
    """Make this the only email address, verified, and remove the password."""
    make_way(email, account)
    account.email, account.email_verified = email, True
    account.set_unusable_password()
    account.save(update_fields=["email", "email_verified", "password"])
    EmailAddress.objects.filter(user=account).delete()
    EmailAddress.objects.create(user=account, email=email, verified=True, primary=True)


def _mac(email: str, code: str, secret: str | None = None) -> str:
    letters = as_typed(code).decode()
    return salted_hmac(
        "accounts.recovery.address_changes", f"{email} {letters}", secret, algorithm="sha256"
    ).hexdigest()


def _fits(change: AddressChange, code: str) -> bool:
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return any(hmac.compare_digest(change.code_mac, _mac(change.old_email, code, secret)) for secret in secrets)
