"""Recent use of client secrets."""

from datetime import timedelta

from core import clock
from oidc.models import ClientSecret

RECENTLY = timedelta(hours=24)


def was_used_lately(secret: ClientSecret) -> bool:
    """Return whether the secret was used in the last 24 hours."""
    return secret.last_used_at is not None and secret.last_used_at > clock.now() - RECENTLY
