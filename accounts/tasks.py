"""Periodic tasks of accounts."""

from datetime import timedelta

from allauth.usersessions.models import UserSession
from celery import shared_task
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef, Q

from accounts.mail import delivery
from accounts.models import AccountRecovery, AddressChange, BillingEvent, SecurityEvent
from accounts.plans import lifecycle, members
from accounts.profile import files
from core import clock
from core.database.batches import delete_in_batches, delete_oldest
from core.http.sessions import SessionStore
from core.tasks import periodic_task


@periodic_task(60)
def advance_subscriptions() -> int:
    """Store subscription transitions that are due; return how many changed. Responses are correct without this."""
    return lifecycle.apply_due_transitions()


@periodic_task(60)
def delete_files() -> int:
    """Delete the files that the store could not delete before; return how many were deleted."""
    return files.delete_waiting()


@periodic_task(3600)
def clear_sessions() -> int:
    """Delete expired sessions and their entries in allauth's list; return how many entries were deleted."""
    SessionStore.clear_expired()
    alive = Session.objects.filter(session_key=OuterRef("session_key"))
    gone, _ = UserSession.objects.exclude(Exists(alive)).delete()
    return int(gone)


# Seconds for a task that sends mail. The time for the mail server is limited before (MAIL_DELIVERY_SECONDS for each
# step, RUN_SECONDS for a run); these limits are for everything else, such as the look-up of its name. The row of a mail
# says whether it was sent, so its task may run again.
_MAILING = {"acks_late": True, "reject_on_worker_lost": True, "soft_time_limit": 100, "time_limit": 110}


@shared_task(**_MAILING)
def send_mail(pk: int) -> bool:
    """Send one email that has just been queued; return whether it was sent."""
    return delivery.send_queued(pk)


@periodic_task(10, **_MAILING)
def send_waiting_mail() -> int:
    """Send the emails that are due, for retries and lost tasks; return how many were sent."""
    return delivery.send_due()


@periodic_task(3600)
def clear_outbox() -> int:
    """Delete old mails and old invitations; return how many rows were deleted."""
    return delivery.clear_old_mail() + members.clear_expired_invitations()


@periodic_task(3600)
def clear_billing_events() -> int:
    """Delete the ids of billing events older than BILLING_EVENT_DAYS; return how many were deleted."""
    if not settings.BILLING_EVENT_DAYS:
        return 0
    old = clock.now() - timedelta(days=settings.BILLING_EVENT_DAYS)
    return delete_oldest(BillingEvent.objects.all(), "received_at", old)


@periodic_task(3600)
def clear_security_events() -> int:
    """Delete security events and ended recoveries after SECURITY_EVENT_DAYS; return how many rows were deleted.

    Events are kept for as long as they are needed: to undo a new factor; while a recovery is open, whose end restores
    the email address from before a takeover; and of sign-ups that nobody has verified, which make way for the owner of
    the email address (accounts/recovery/address_changes.py).
    """
    if not settings.SECURITY_EVENT_DAYS:
        return 0
    now, kept = clock.now(), timedelta(days=settings.SECURITY_EVENT_DAYS)
    recovering = AccountRecovery.objects.open().values("account")
    unverified = Q(kind="signed_up", account__email_verified=False, account__last_login=None)
    events = SecurityEvent.objects.exclude(unverified).exclude(account__in=recovering)
    gone = delete_oldest(events, "at", now - max(kept, timedelta(days=settings.ADDRESS_REVERSAL_DAYS)))
    return gone + delete_in_batches(AccountRecovery.objects.filter(ended_at__lt=now - kept))


@periodic_task(3600)
def clear_address_changes() -> int:
    """Delete changes of email address that can no longer be taken back; return how many were deleted."""
    old = clock.now() - timedelta(days=settings.ADDRESS_REVERSAL_DAYS)
    return delete_oldest(AddressChange.objects.all(), "at", old)
