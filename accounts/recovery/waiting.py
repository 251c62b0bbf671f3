"""Account recovery: the factors of people who have lost them are removed, after a waiting time.

An operator starts it, or the person at sign-in (accounts/recovery/own_recovery.py). The waiting time makes up for what
nobody can verify: everyone who reads mail of the account, or is signed in to it, is notified immediately and can stop
it (docs/accounts.md#second-factors-and-recovery). Each step locks the account, then the recovery, and checks its state
again.
"""

import contextlib
from datetime import datetime, timedelta
from typing import Any

from allauth.account.authentication import get_authentication_records
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_reset, authenticator_used
from django.conf import settings
from django.core import signing
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.dispatch import receiver
from django.http import HttpRequest
from django.urls import reverse

from accounts.activity.recording import By, record
from accounts.data_export.archive import verified_addresses_of
from accounts.deletion.deleting import Blocker
from accounts.entrance import guesses
from accounts.factors import removal
from accounts.mail import outbox
from accounts.mail.rendering import render_mail
from accounts.models import Account, AccountRecovery, AddressChange, SecurityEvent
from accounts.recovery import address_changes
from accounts.roles import may_administer
from accounts.sessions import authentication
from accounts.sessions.browser_sessions import end_all_sessions
from accounts.signals import blocking_deletion
from core import clock
from core.audit import Event, report
from core.http import split_hosts
from core.tasks import sum_of_each

Outcome = AccountRecovery.Outcome
Lapse = AccountRecovery.Lapse
PERMISSION = "accounts.change_account"
# The reminder is sent this long before the end, or halfway if the whole time is shorter than twice that.
REMINDER_HOURS = 24
_SIGNER_SALT = "accounts.recovery.stop"


class RecoveryRefused(Exception):
    """The recovery can't be started; the text of an operator's recovery is for the operator."""


def hours() -> int:
    """Return the waiting time in hours."""
    waiting: int = settings.ACCOUNT_RECOVERY_HOURS
    return waiting


def hours_by_mail() -> int:
    """Return the waiting time in hours if the person has proven only that they can read the email of the account."""
    return max(hours(), settings.ACCOUNT_RECOVERY_BY_MAIL_HOURS)


def open_recovery(account: Account) -> AccountRecovery | None:
    """Return the open recovery of a person."""
    return AccountRecovery.objects.open().filter(account=account).first()


def addresses_of(account: Account) -> list[str]:
    """Return all email addresses to notify: verified ones, and former ones that can take the account back."""
    former = address_changes.addresses_left(account)
    return list(dict.fromkeys((account.email, *verified_addresses_of(account), *former)))


def stop_code(recovery: AccountRecovery) -> str:
    """Return the code in the emails: it stops this recovery, and grants no access."""
    return signing.Signer(salt=_SIGNER_SALT).sign(str(recovery.pk))


def recovery_by_code(code: str) -> AccountRecovery | None:
    """Return the open recovery that a code stops; None if there is none, or it is over."""
    try:
        pk = signing.Signer(salt=_SIGNER_SALT).unsign(code)
    except signing.BadSignature:
        return None
    return AccountRecovery.objects.open().filter(pk=pk).first()


@transaction.atomic
def start(
    account: Account,
    operator: Account,
    reason: str,
    checked: str,
    new_email: str = "",
    taken_over_at: datetime | None = None,
) -> AccountRecovery:
    """Start a recovery and tell the person at every email address. Raises RecoveryRefused.

    `new_email` replaces the account's email addresses, for people who lost their mailbox as well; they have to verify
    it before they can sign in. With `taken_over_at`, the time when someone else took over the account, nothing newer
    than that time can stop the recovery, and only what is newer is removed.
    """
    if operator.pk == account.pk:  # AccountRecovery.is_own
        raise RecoveryRefused("You can't start a recovery of your own account here.")
    locked = address_changes.lock_for_address(account.pk, new_email)
    if locked is None:
        raise RecoveryRefused("The account has been deleted.")
    account = locked
    if not account.is_active:
        raise RecoveryRefused("The account is turned off. Activate it first.")
    if address_changes.is_taken(new_email, account):
        raise RecoveryRefused(Lapse.ADDRESS_TAKEN.label)
    if not new_email and not taken_over_at and not Authenticator.objects.filter(user=account).exists():
        raise RecoveryRefused("There is nothing to remove. The person can ask for a new password.")
    if open_recovery(account):
        raise RecoveryRefused("A recovery has already been started.")
    record(account, "recovery_started", by=By.OPERATOR)
    taken_over = {"taken_over_at": taken_over_at.isoformat()} if taken_over_at else {}
    details = {"reason": reason, "checked": checked, "changes_address": bool(new_email), **taken_over}
    stored = {"reason": reason, "checked": checked, "new_email": new_email, "taken_over_at": taken_over_at}
    return create(account, operator, details, wait_hours=hours(), **stored)


def create(
    account: Account, started_by: Account, details: dict[str, Any], *, wait_hours: int, **stored: Any
) -> AccountRecovery:
    """Store a recovery of an account whose row is locked, report it with `details`, and mail every email address."""
    now = clock.now()
    wait = timedelta(hours=wait_hours)
    recovery = AccountRecovery.objects.create(
        account=account,
        started_by=started_by,
        started_at=now,
        remind_at=now + max(wait - timedelta(hours=REMINDER_HOURS), wait / 2),
        due_at=now + wait,
        **stored,
    )
    _report("started", recovery, started_by.pk, **details)
    _mail(recovery, "recovery_started")
    return recovery


@transaction.atomic
def stop(recovery: AccountRecovery, request: HttpRequest, *, by_code: bool = True) -> bool:
    """Stop a recovery for the person, who has the code from an email or is signed in.

    Return False if it was over, or if this session may not stop it.
    """
    locked = _lock(recovery.pk)
    if locked is None or not (by_code or may_stop(locked, request)):
        return False
    _end(locked, Outcome.STOPPED)
    actor = request.user.pk if request.user.is_authenticated and request.user.pk == locked.account_id else None
    _report("stopped", locked, actor)
    record(locked.account, "recovery_stopped", request, also_to=addresses_of(locked.account))
    return True


@transaction.atomic
def cancel(recovery: AccountRecovery, operator: Account, reason: str) -> bool:
    """Cancel a recovery for an operator; return False if it was over, or if it is of the operator's own account.

    After a takeover, the person who is signed in as the operator may be the thief (`may_stop`).
    """
    locked = _lock(recovery.pk)
    if locked is None or locked.account_id == operator.pk:
        return False
    _end(locked, Outcome.CANCELLED)
    _report("cancelled", locked, operator.pk, reason=reason)
    record(locked.account, "recovery_cancelled", by=By.OPERATOR, also_to=addresses_of(locked.account))
    return True


@receiver([authenticator_added, authenticator_reset])
def give_up(sender: Any, user: Account, **kwargs: Any) -> None:
    """End the open recovery of a person who adds or replaces a factor, because they have not lost access.

    After a takeover this may be the thief, so it ends nothing.
    """
    found = open_recovery(user)
    if found is None or found.taken_over_at is not None:
        return
    with transaction.atomic():
        if locked := _lock(found.pk):
            _give_up(locked, Lapse.FACTOR_ADDED)


@receiver(authenticator_used)
def end_if_used(sender: Any, user: Account, **kwargs: Any) -> None:
    """End the open recovery that a person started, because one of their factors was used after all."""
    end_own(user, Lapse.FACTOR_USED)


def end_own(account: Account, lapse: AccountRecovery.Lapse, *, by_mail: bool = True) -> None:
    """End the open recovery that a person started, if there is one; recoveries of operators go on.

    With `by_mail=False`, one that was started with the mailbox alone goes on as well.
    """
    found = open_recovery(account)
    if found is None or not found.is_own or (found.by_mail and not by_mail):
        return
    with transaction.atomic():
        if locked := _lock(found.pk):
            _give_up(locked, lapse)


def advance() -> int:
    """Send reminders and complete due recoveries; return how many recoveries changed."""
    now = clock.now()
    to_remind = AccountRecovery.objects.open().filter(remind_at__lte=now, due_at__gt=now)
    due = AccountRecovery.objects.open().filter(due_at__lte=now)
    failed = "Recovery %d could not be moved ahead. This is tried again."
    moved = sum_of_each(list(to_remind.values_list("pk", flat=True)), _remind, failed)
    return moved + sum_of_each(list(due.values_list("pk", flat=True)), _complete, failed)


@transaction.atomic
def _remind(pk: int) -> bool:
    recovery = _lock(pk)
    if recovery is None or recovery.remind_at is None:
        return False
    recovery.remind_at = None
    recovery.save(update_fields=["remind_at"])
    _report("reminded", recovery, None)
    _mail(recovery, "recovery_reminder")
    return True


@transaction.atomic
def _complete(pk: int) -> bool:
    due = AccountRecovery.objects.open().select_related("account").filter(pk=pk).first()
    if due is not None:  # first, because `_lock` locks the account
        address_changes.lock_for_address(due.account_id, _address_then(due))
    recovery = _lock(pk)
    if recovery is None:
        return False
    factors = list(Authenticator.objects.select_for_update().filter(user=recovery.account_id))
    if (lapse := _lapse_of(recovery, factors)) is not None:
        _give_up(recovery, lapse)
        return True
    account, address = recovery.account, _address_then(recovery)
    addresses = [*addresses_of(account), address]
    if recovery.taken_over_at:
        removal.remove_factors(account, removal.added_since(account, recovery.taken_over_at), by=By.SERVICE)
        EmailAddress.objects.filter(user=account, email__in=addresses_since(recovery)).delete()
        address_changes.end_changes_since(account, recovery.taken_over_at)
    else:
        Authenticator.objects.filter(pk__in=[row.pk for row in factors]).delete()
    if address:
        _replace_addresses(account, address)
    if address or recovery.taken_over_at or not Authenticator.objects.filter(user=account).exists():
        # A password alone would protect less than the person chose: they confirm their email, and set a new password.
        account.set_unusable_password()
        Account.objects.filter(pk=account.pk).update(password=account.password)
    guesses.forget_wrong_codes(account)
    end_all_sessions(account)
    _end(recovery, Outcome.DONE)
    _report("done", recovery, None)
    kind = "takeover_undone" if recovery.taken_over_at else "second_factors_removed"
    record(account, kind, by=By.SERVICE, new_email=bool(address))
    for address in filter(None, dict.fromkeys(addresses)):
        with contextlib.suppress(ValidationError):
            outbox.queue_mail(address, "recovery_done", {"recovery": recovery, "zone": recovery.account.time_zone})
    return True


def _address_then(recovery: AccountRecovery) -> str:
    """Return the email address that replaces the account's, "" if it stays.

    An email address that the account got after a takeover never stays.
    """
    before = address_before(recovery)
    return recovery.new_email or (before if before != recovery.account.email else "")


def _replace_addresses(account: Account, address: str) -> None:
    """Give the account one email address, which is unverified until a code from there was entered."""
    address_changes.make_way(address, account)
    EmailAddress.objects.filter(user=account).delete()
    EmailAddress.objects.create(user=account, email=address, verified=False, primary=True)
    account.email, account.email_verified = address, False
    Account.objects.filter(pk=account.pk).update(email=address, email_verified=False)


def _lapse_of(recovery: AccountRecovery, factors: list[Authenticator]) -> AccountRecovery.Lapse | None:
    """Return why a recovery that is due may not be completed now; None if it may."""
    account, operator = recovery.account, recovery.started_by
    if not account.is_active:
        return Lapse.ACCOUNT_OFF
    if address_changes.is_taken(_address_then(recovery), account):
        return Lapse.ADDRESS_TAKEN
    if not recovery.taken_over_at:
        if not factors and not recovery.new_email:
            return Lapse.NOTHING_LEFT
        if any(row.created_at > recovery.started_at for row in factors):
            return Lapse.FACTOR_ADDED
    if recovery.is_own:
        return Lapse.STAFF if is_staff(account) else None
    # The recovery lapses if the operator has lost the permission since.
    may = operator and operator.is_active and operator.is_staff and operator.has_perm(PERMISSION)
    return None if operator and may and may_administer(operator, account) else Lapse.OPERATOR_LOST_RIGHT


def is_staff(account: Account) -> bool:
    """Return whether only an operator may start a recovery of this account."""
    return account.is_staff or account.is_superuser


def lock_account(pk: int) -> Account:
    return Account.objects.select_for_update(no_key=True).get(pk=pk)


def _lock(pk: int) -> AccountRecovery | None:
    """Lock a recovery's account and then the recovery; return None if it is over or was deleted."""
    owner = Account.objects.select_for_update(no_key=True, of=("self",)).filter(recoveries__pk=pk)
    if not list(owner.values_list("pk", flat=True)):
        return None
    rows = AccountRecovery.objects.open().select_for_update(of=("self",)).filter(pk=pk)
    return rows.select_related("account", "started_by").first()


def _end(recovery: AccountRecovery, outcome: AccountRecovery.Outcome) -> None:
    recovery.ended_at, recovery.outcome = clock.now(), outcome
    recovery.save(update_fields=["ended_at", "outcome"])


def _give_up(recovery: AccountRecovery, lapse: AccountRecovery.Lapse) -> None:
    _end(recovery, Outcome.LAPSED)
    _report("lapsed", recovery, None, reason=lapse.value)
    addresses = addresses_of(recovery.account)
    record(recovery.account, "recovery_lapsed", by=By.SERVICE, also_to=addresses, reason=lapse.value)


def _report(step: str, recovery: AccountRecovery, actor: int | None, **details: str | bool) -> None:
    report(Event(f"account.recovery_{step}", actor, target=f"account:{recovery.account_id}", details=details))


def _mail(recovery: AccountRecovery, template: str) -> None:
    """Queue an email to every email address; it is stored encrypted, and at most as long as its code is valid.

    Email addresses that the account got after a takeover get the email too, but without a code.
    """
    link = f"{split_hosts.address_of(reverse('account_recovery'))}?code={stop_code(recovery)}"
    since = addresses_since(recovery)
    for address in addresses_of(recovery.account):
        context = {"recovery": recovery, "link": "" if address in since else link}
        mail = render_mail(template, context | {"zone": recovery.account.time_zone})
        with contextlib.suppress(ValidationError):  # no mail server accepts this email address
            outbox.store_mail(address, mail, expires_at=recovery.due_at)


# The operator enters the time of the takeover. No session, factor or email address from after that time can stop the
# recovery, and nothing from before it is removed.


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
