"""What an export says of the account's security activity."""

from typing import Any

from accounts.activity.recording import sentence
from accounts.models import Account, SecurityEvent


def export_events(account: Account) -> list[dict[str, Any]]:
    """Return everything that is kept of what happened to the account, newest first."""
    return [
        {
            "at": event.at.isoformat(),
            "what": sentence(event),
            "by": event.get_by_display(),
            "browser": event.browser,
            "place": event.place,
            "ip": event.ip,
        }
        for event in SecurityEvent.objects.filter(account=account).order_by("-pk")
    ]
