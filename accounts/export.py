"""Data export and account deletion.

Packages on higher floors also hold personal data: by these signals they add it to an export, or block a deletion.
"""

from typing import Any

from allauth.account.models import EmailAddress
from allauth.usersessions.models import UserSession

from accounts.activity.export import export_events
from accounts.models import Account, AddressChange, Outbox
from accounts.plans import overview
from accounts.signals import exporting


def export_account(account: Account) -> dict[str, Any]:
    """Return the person's data export, by section."""
    document: dict[str, Any] = {
        "profile": {
            "email": account.email,
            "email_verified": account.email_verified,
            "given_name": account.given_name,
            "family_name": account.family_name,
            "has_picture": bool(account.picture),
            "created_at": account.created_at.isoformat(),
        },
        "addresses": [
            {"email": address.email, "verified": address.verified, "primary": address.primary}
            for address in EmailAddress.objects.filter(user=account)
        ],
        "address_changes": [
            {"from": change.old_email, "to": change.new_email, "at": change.at.isoformat()}
            for change in AddressChange.objects.filter(account=account).order_by("pk")
        ],
        "sessions": [
            {"ip": session.ip, "browser": session.user_agent, "created_at": session.created_at.isoformat()}
            for session in UserSession.objects.filter(user=account)
        ],
        "security_activity": export_events(account),
        "plan": overview.export_plans(account),
        "mails": _mails(account),
    }
    sections: list[tuple[Any, Any]] = list(exporting.send(sender=Account, account=account))
    for _, section in sections:
        document |= section
    return document


def _mails(account: Account) -> list[dict[str, Any]]:
    """Return the mails in the outbox to the person's verified addresses; an unverified one may be somebody else's."""
    if not account.email_verified:
        return []
    return [
        {
            "subject": mail.subject,
            "queued_at": mail.created_at.isoformat(),
            "sent_at": mail.sent_at.isoformat() if mail.sent_at else None,
        }
        for mail in Outbox.objects.filter(to=account.email).order_by("pk")
    ]


def addresses_of(account: Account) -> set[str]:
    """Return all e-mail addresses of the account, verified or not, and those that it left lately."""
    more = EmailAddress.objects.filter(user=account).values_list("email", flat=True)
    left = AddressChange.objects.filter(account=account).values_list("old_email", flat=True)
    somebody_elses = Account.objects.filter(email__in=left).exclude(pk=account.pk).values_list("email", flat=True)
    return {account.email, *(address.lower() for address in more), *left} - set(somebody_elses)
