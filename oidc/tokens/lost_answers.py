"""Answers to a refresh that got lost on their way, while REFRESH_GRACE_SECONDS is set (docs/sign-in.md#lost-answers).

A superseded refresh token remembers the answer that superseded it. As long as nobody used either token of that answer,
the superseded token may have another answer, and the tokens of the first die. Any use tells that the answer arrived.
"""

from django.conf import settings
from django.db.models import Exists

from devportal.lib import clock
from oidc.models import AccessToken, RefreshToken


def may_be_answered_again(row: RefreshToken) -> bool:
    """Return whether the answer that superseded `row` is young enough, and was not used."""
    if row.revoked is None or row.next_checksum is None:
        return False
    age = (clock.now() - row.revoked).total_seconds()
    # An age below 0 is another worker's clock, and no grace. Another answer does not make it younger.
    return 0 <= age < settings.REFRESH_GRACE_SECONDS and _is_unheard(row)


def _is_unheard(row: RefreshToken) -> bool:
    access = AccessToken.objects.filter(token_checksum=row.next_access_checksum, used=False)
    following = RefreshToken.objects.filter(token_checksum=row.next_checksum, revoked=None)
    return following.filter(Exists(access)).exists()


def end_answer(row: RefreshToken, next_checksum: str | None, next_access_checksum: str) -> bool:
    """End both tokens of the answer that superseded `row`, and note the one that takes its place, by its checksums.

    Return False if the answer was used by now, or another request has replaced it. Call it in a transaction that is
    rolled back then. The row of the superseded token is the lock: of many at once, one wins.
    """
    now = clock.now()
    replaced = RefreshToken.objects.filter(pk=row.pk, next_checksum=row.next_checksum).update(
        next_checksum=next_checksum, next_access_checksum=next_access_checksum
    )
    # It stays, as a superseded token whose reuse is noticed.
    following = RefreshToken.objects.filter(token_checksum=row.next_checksum, revoked=None)
    access = AccessToken.objects.filter(token_checksum=row.next_access_checksum, used=False)
    return bool(replaced and following.update(revoked=now) and access.update(expires=now))


def note_use(row: AccessToken) -> None:
    """Note the first use of a valid access token: whoever sends it has the answer that brought it."""
    if settings.REFRESH_GRACE_SECONDS and row.used is False:
        AccessToken.objects.filter(pk=row.pk, used=False).update(used=True)
