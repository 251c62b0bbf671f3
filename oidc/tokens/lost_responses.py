"""Responses to a refresh that were lost on their way (docs/sign-in.md#lost-responses).

They are forgiven to clients that have the switch on, and to all clients while REFRESH_GRACE_SECONDS is set. A
superseded refresh token remembers the response that superseded it. As long as nobody has used either token of that
response, the superseded token may get another one, which ends the tokens of the first. Any use shows that it arrived.
"""

from django.conf import settings
from django.db.models import Exists

from devportal.lib import clock
from oidc.models import AccessToken, Client, RefreshToken


def grace_seconds(client: Client) -> int:
    """Return for how many seconds after its rotation a refresh token of this client may be repeated; 0 for never."""
    own: int = settings.LOST_RESPONSE_SECONDS if client.forgive_lost_responses else 0
    return max(own, settings.REFRESH_GRACE_SECONDS)


def may_be_repeated(row: RefreshToken) -> bool:
    """Return whether the response that superseded `row` is recent enough, and nobody has used its tokens."""
    if row.revoked is None or row.next_checksum is None:
        return False
    age = (clock.now() - row.revoked).total_seconds()
    # An age below 0 comes from another worker's clock and is not accepted. Another response does not restart the time.
    return 0 <= age < grace_seconds(row.family.connection.client) and _is_unused(row)


def _is_unused(row: RefreshToken) -> bool:
    access = AccessToken.objects.filter(token_checksum=row.next_access_checksum, used=False)
    following = RefreshToken.objects.filter(token_checksum=row.next_checksum, revoked=None)
    return following.filter(Exists(access)).exists()


def end_response(row: RefreshToken, next_checksum: str | None, next_access_checksum: str) -> bool:
    """End both tokens of the response that superseded `row`, and store the checksums of the one that replaces it.

    Return False if the response has been used meanwhile, or another request has replaced it. Call it in a transaction
    that is then rolled back. The row of the superseded token is the lock: of many requests at once, one wins.
    """
    now = clock.now()
    replaced = RefreshToken.objects.filter(pk=row.pk, next_checksum=row.next_checksum).update(
        next_checksum=next_checksum, next_access_checksum=next_access_checksum
    )
    # The replaced refresh token stays as a superseded one, so that its reuse is noticed.
    following = RefreshToken.objects.filter(token_checksum=row.next_checksum, revoked=None)
    access = AccessToken.objects.filter(token_checksum=row.next_access_checksum, used=False)
    return bool(replaced and following.update(revoked=now) and access.update(expires=now))


def note_use(row: AccessToken) -> None:
    """Store the first use of a valid access token: it shows that the response with it arrived."""
    if row.used is False:
        AccessToken.objects.filter(pk=row.pk, used=False).update(used=True)
