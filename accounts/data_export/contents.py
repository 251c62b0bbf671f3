"""The contents of a person's export, section by section (docs/accounts.md#export).

Packages on higher layers hold personal data as well; they add sections with the signal `exporting`. A section is a
dict, a list, or for long sections an iterator of rows, which is read while the file is written.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.db.models import QuerySet

from accounts.activity import recording
from accounts.activity.places import browser_name
from accounts.models import Account, AccountRecovery, AddressChange, DataExport, Outbox, SecurityEvent
from accounts.plans import overview
from accounts.roles import roles_of
from accounts.signals import exporting

ROWS_AT_ONCE = 500


def sections_of(account: Account) -> list[tuple[str, Any]]:
    """Return the name and content of each section of the person's export."""
    sections: list[tuple[str, Any]] = [
        ("profile", _profile(account)),
        ("addresses", _addresses(account)),
        ("address_changes", _address_changes(account)),
        ("sign_in_methods", _factors(account)),
        ("sessions", _sessions(account)),
        ("recoveries", _recoveries(account)),
        ("security_activity", _activity(account)),
        ("plan", overview.export_plans(account)),
        ("mails", _mails(account)),
        ("exports", _exports(account)),
    ]
    answers: list[tuple[Any, Any]] = list(exporting.send(sender=Account, account=account))
    for _, added in answers:
        sections += added.items()
    return sections


def rows_of(queryset: "QuerySet[Any]") -> Iterator[Any]:
    """Yield the rows of a queryset in the order of their keys, read a few at a time."""
    last = 0
    while batch := list(queryset.filter(pk__gt=last).order_by("pk")[:ROWS_AT_ONCE]):
        yield from batch
        last = batch[-1].pk


def moment(at: datetime | None) -> str | None:
    """Return a time in the format of exports."""
    return at.isoformat() if at else None


def _profile(account: Account) -> dict[str, Any]:
    return {
        "email": account.email,
        "email_verified": account.email_verified,
        "given_name": account.given_name,
        "family_name": account.family_name,
        "has_picture": bool(account.picture),
        "has_password": account.has_usable_password(),
        "created_at": moment(account.created_at),
        "last_login": moment(account.last_login),
        "roles": ["superuser"] if account.is_superuser else sorted(roles_of(account)),
    }


def _addresses(account: Account) -> list[dict[str, Any]]:
    return [
        {"email": address.email, "verified": address.verified, "primary": address.primary}
        for address in EmailAddress.objects.filter(user=account).order_by("pk")
    ]


def _address_changes(account: Account) -> list[dict[str, Any]]:
    return [
        {"from": row.old_email, "to": row.new_email, "at": moment(row.at)}
        for row in AddressChange.objects.filter(account=account).order_by("pk")
    ]


def _recoveries(account: Account) -> list[dict[str, Any]]:
    """Return the account recoveries that operators started (docs/accounts.md#recovery-by-an-operator)."""
    return [
        {
            "taken_over_at": moment(row.taken_over_at),
            "started_at": moment(row.started_at),
            "due_at": moment(row.due_at),
            "ended_at": moment(row.ended_at),
        }
        for row in AccountRecovery.objects.filter(account=account).order_by("pk")
    ]


def _factors(account: Account) -> list[dict[str, Any]]:
    """Return passkeys, authenticator apps and recovery codes by name, never their secrets."""
    return [
        {
            "kind": row.get_type_display(),
            "name": row.data.get("name") if row.type == Authenticator.Type.WEBAUTHN else None,
            "created_at": moment(row.created_at),
            "last_used_at": moment(row.last_used_at),
        }
        for row in Authenticator.objects.filter(user=account).order_by("pk")
    ]


def _sessions(account: Account) -> list[dict[str, Any]]:
    return [
        {
            "browser": browser_name(row.user_agent),
            "user_agent": row.user_agent,
            "ip": row.ip,
            "created_at": moment(row.created_at),
        }
        for row in UserSession.objects.filter(user=account).order_by("pk")
    ]


def _activity(account: Account) -> Iterator[dict[str, Any]]:
    for event in rows_of(SecurityEvent.objects.filter(account=account)):
        yield {
            "at": moment(event.at),
            "what": recording.sentence(event),
            "by": event.get_by_display(),
            "browser": event.browser,
            "ip": event.ip,
            "place": event.place,
        }


def _mails(account: Account) -> Iterator[dict[str, Any]]:
    """Yield the mails in the outbox to the person's verified addresses; an unverified one may be somebody else's."""
    for mail in rows_of(Outbox.objects.filter(to__in=verified_addresses_of(account))):
        yield {
            "to": mail.to,
            "subject": mail.subject,
            "queued_at": moment(mail.created_at),
            "sent_at": moment(mail.sent_at),
        }


def _exports(account: Account) -> list[dict[str, Any]]:
    rows = DataExport.objects.filter(account=account).order_by("pk")
    return [{"asked_at": moment(row.asked_at), "ready_at": moment(row.ready_at)} for row in rows]


def addresses_of(account: Account) -> set[str]:
    """Return all email addresses of the account, verified or not, and its recent former ones."""
    more = EmailAddress.objects.filter(user=account).values_list("email", flat=True)
    left = AddressChange.objects.filter(account=account).values_list("old_email", flat=True)
    somebody_elses = Account.objects.filter(email__in=left).exclude(pk=account.pk).values_list("email", flat=True)
    return {account.email, *(address.lower() for address in more), *left} - set(somebody_elses)


def verified_addresses_of(account: Account) -> list[str]:
    """Return the verified email addresses of the person, the primary one first."""
    rows: Iterable[str] = EmailAddress.objects.filter(user=account, verified=True).values_list("email", flat=True)
    proven = [account.email] if account.email_verified else []
    return list(dict.fromkeys(proven + [address.lower() for address in rows]))
