"""Queue events when signals of the accounts layer cause them (docs/events.md#event-types)."""

from collections.abc import Mapping
from typing import Any

from django.dispatch import receiver

from accounts.models import Account, SecurityEvent
from accounts.signals import account_disabled, account_enabled, activity_recorded, sessions_ended
from oidc.events.queueing import end_app_sessions, queue_event, queue_for_account, sessions_of
from oidc.models import Connection, TokenFamily
from oidc.values.event_types import EMAIL_SCOPE, EventType

# Kinds of security events (accounts/activity/kinds.py) that change how someone signs in: `credential_type` and
# `change_type` of CAEP 1.0, 3.3.1.
CREDENTIAL_CHANGES: Mapping[str, tuple[str, str]] = {
    "password_changed": ("password", "update"),
    "password_set": ("password", "create"),
    "password_reset": ("password", "update"),
    "passkey_added": ("fido2-platform", "create"),
    "passkey_removed": ("fido2-platform", "delete"),
    "key_added": ("fido2-roaming", "create"),
    "key_removed": ("fido2-roaming", "delete"),
    "authenticator_on": ("app", "create"),
    "authenticator_off": ("app", "delete"),
    # After these, the password no longer works.
    "address_taken_back": ("password", "revoke"),
    "second_factors_removed": ("password", "revoke"),
    "takeover_undone": ("password", "revoke"),
}
NEW_EMAIL = ("address_changed", "address_taken_back")


@receiver(sessions_ended)
def tell_session_ends(sender: Any, account: Account | None, tags: list[str] | None, kept: str, **kwargs: Any) -> None:
    """Queue logout tokens and events about browser sessions that end."""
    end_app_sessions(sessions_of(account, tags, kept))
    # Saving or deleting an account that was not active before ends its sessions again, although it has none.
    if account is not None and not kept and (account.is_active or account.was_active):
        queue_for_account(EventType.SESSIONS_REVOKED, account)


@receiver(account_disabled)
def tell_disabled(sender: Any, account: Account, **kwargs: Any) -> None:
    queue_for_account(EventType.ACCOUNT_DISABLED, account)


@receiver(account_enabled)
def tell_enabled(sender: Any, account: Account, **kwargs: Any) -> None:
    queue_for_account(EventType.ACCOUNT_ENABLED, account)


@receiver(activity_recorded)
def tell_activity(sender: Any, event: SecurityEvent, **kwargs: Any) -> None:
    """Queue the event that follows from an entry of the person's activity, if any."""
    if event.kind in CREDENTIAL_CHANGES:
        credential_type, change_type = CREDENTIAL_CHANGES[event.kind]
        queue_for_account(
            EventType.CREDENTIAL_CHANGE,
            event.account,
            credential_type=credential_type,
            change_type=change_type,
        )
    if event.kind in NEW_EMAIL or event.details.get("new_email"):
        queue_for_account(EventType.IDENTIFIER_CHANGED, event.account, scope=EMAIL_SCOPE)


def tell_purged(account: Account) -> None:
    """Queue the event about an account that is about to be deleted; call it before its consents are removed."""
    queue_for_account(EventType.ACCOUNT_PURGED, account)


def tell_removed(connection: Connection) -> None:
    """Queue what an app gets when a person removes it; call it before the consent is removed."""
    end_app_sessions(TokenFamily.objects.filter(connection=connection), tells_events=False)
    queue_event(EventType.TOKENS_REVOKED, Connection.objects.filter(pk=connection.pk))
