"""Receivers: sign-in metrics, and what follows from saving, deactivating and deleting accounts."""

from typing import Any

from allauth.account.models import EmailAddress
from allauth.account.signals import email_changed, email_confirmed
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.db.models.signals import post_delete, post_save, pre_delete
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.data_export import archive
from accounts.mail import outbox
from accounts.models import Account, Feature, Invitation, Plan, PlanEntitlement
from accounts.plans import catalogue, invitations
from accounts.profile import files
from accounts.roles import roles_changed
from accounts.sessions import browser_sessions
from accounts.signals import access_ended, account_disabled, account_enabled
from core import time_zones
from core.telemetry import metrics


@receiver(user_logged_in)
def count_sign_in(sender: Any, **kwargs: Any) -> None:
    """Count a completed sign-in, including two-step verification."""
    metrics.SIGN_INS.count("succeeded")


@receiver(user_logged_in)
def store_time_zone(sender: Any, request: HttpRequest, user: Account, **kwargs: Any) -> None:
    """Store the browser's time zone, for mails; the cookie may be missing."""
    zone = time_zones.zone_of_browser(request)
    if zone is not None and zone.key != user.time_zone:
        user.time_zone = zone.key
        Account.objects.filter(pk=user.pk).update(time_zone=zone.key)


@receiver(user_login_failed)
def count_failed_sign_in(sender: Any, **kwargs: Any) -> None:
    """Count a wrong password, or one for an unknown account."""
    metrics.SIGN_INS.count("wrong_password")


def _sync(account_id: int) -> None:
    """Set `email_verified` from allauth's record of the account's email address."""
    account = Account.objects.filter(pk=account_id).first()
    if account is None:
        return
    verified = EmailAddress.objects.filter(user_id=account_id, email=account.email, verified=True).exists()
    Account.objects.filter(pk=account_id).exclude(email_verified=verified).update(email_verified=verified)


@receiver([post_save, post_delete], sender=EmailAddress)
def address_saved(sender: type[EmailAddress], instance: EmailAddress, **kwargs: Any) -> None:
    _sync(instance.user_id)


@receiver([email_confirmed, email_changed])
def address_proven(sender: Any, **kwargs: Any) -> None:
    # allauth makes some changes with queryset updates, which send no save signal.
    address = kwargs.get("email_address") or kwargs.get("to_email_address")
    if address is not None:
        _sync(address.user_id)


@receiver(access_ended)
def end_sessions(sender: Any, account: Account, **kwargs: Any) -> None:
    """End all sessions, so that none is valid when the account is reactivated."""
    browser_sessions.end_all_sessions(account)


@receiver(pre_delete, sender=Account)
def delete_sessions(sender: type[Account], instance: Account, **kwargs: Any) -> None:
    """Delete the sessions of a deleted person; the cascade deletes allauth's list entries."""
    browser_sessions.end_all_sessions(instance)


@receiver(access_ended)
def end_picture_addresses(sender: Any, account: Account, **kwargs: Any) -> None:
    """Replace the URLs of the picture, so that a reactivated account gets new ones."""
    files.rotate_picture_keys(account)


@receiver([access_ended, roles_changed])
def end_invitations(sender: Any, account: Account, **kwargs: Any) -> None:
    """End the open invitations that the person has sent."""
    invitations.end_of(account)


@receiver(pre_delete, sender=Account)
def end_invitations_of_who_goes(sender: type[Account], instance: Account, **kwargs: Any) -> None:
    invitations.end_of(instance, is_going=True)


@receiver(pre_delete, sender=Account)
def delete_mail_and_invitations(sender: type[Account], instance: Account, **kwargs: Any) -> None:
    """Remove the email addresses of a deleted person from mails and from invitations that have ended.

    An open invitation belongs to its sender: it stays, for the next person who verifies the email address.
    """
    addresses = archive.addresses_of(instance)
    outbox.delete_mail_to(addresses)
    for address, until in archive.earlier_addresses_of(instance).items():
        outbox.delete_mail_to([address], until)
    still_open = Invitation.objects.open().values("pk")
    Invitation.objects.filter(email__in=addresses).exclude(pk__in=still_open).delete()


@receiver(post_save, sender=Account)
def account_saved(sender: type[Account], instance: Account, created: bool, **kwargs: Any) -> None:
    if created:
        return
    if not instance.is_active:
        access_ended.send(sender=Account, account=instance)
    was_active, instance.was_active = instance.was_active, instance.is_active
    if was_active is not None and was_active != instance.is_active:
        changed = account_enabled if instance.is_active else account_disabled
        changed.send(sender=Account, account=instance)


@receiver([post_save, post_delete], sender=Plan)
@receiver([post_save, post_delete], sender=Feature)
@receiver([post_save, post_delete], sender=PlanEntitlement)
def catalogue_changed(sender: Any, **kwargs: Any) -> None:
    catalogue.bump_version()
