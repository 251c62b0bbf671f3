"""A person's own data: taking it along, and having it deleted.

Floors above hold data about people too; they add theirs, and say what stands in the way, by signal.
"""

from typing import Any

from allauth.account.models import EmailAddress
from allauth.usersessions.models import UserSession

from accounts.models import Account, Outbox
from accounts.plans import overview
from accounts.signals import exporting


def export_account(account: Account) -> dict[str, Any]:
    """Return everything that the service keeps about a person and that is theirs to have."""
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
        "sessions": [
            {"ip": session.ip, "browser": session.user_agent, "created_at": session.created_at.isoformat()}
            for session in UserSession.objects.filter(user=account)
        ],
        "plan": overview.export_plans(account),
        "mails": _mails(account),
    }
    sections: list[tuple[Any, Any]] = list(exporting.send(sender=Account, account=account))
    for _, section in sections:
        document |= section
    return document


def _mails(account: Account) -> list[dict[str, Any]]:
    """Return what was mailed to the person, as long as it is kept; to whom an unproven address belongs is not known."""
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
    """Return every address that the person has here, proven or not."""
    more = EmailAddress.objects.filter(user=account).values_list("email", flat=True)
    return {account.email, *(address.lower() for address in more)}
