"""Delete expired codes and tokens, and end all authorizations of a period (docs/operations.md)."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import Exists, Max, Min, OuterRef, Q, QuerySet

from core import clock
from oidc.models import AccessToken, AuthorizationCode, EventReceiver, RefreshToken, TokenFamily
from oidc.values.reasons import Reason

BATCH = 2000
# How long a used or expired code is kept, to detect replay.
KEEP_CODES = timedelta(days=1)
# A family is deleted together with its last code or token. Strays are families whose last row was deleted otherwise.
# They are found by their age, in one part of the table per run.
KEEP_STRAYS = timedelta(days=1)
STRAYS_A_RUN = 50_000
_RUN_SECONDS = 600


def delete_expired(everything: bool = False) -> int:
    """Delete expired codes, tokens and families; return the number of deleted rows.

    With `everything`, strays are deleted in the whole table instead of one part of it.
    """
    now = clock.now()
    gone = _delete_rows(AccessToken, now) + _delete_rows(RefreshToken, now)
    gone += _delete_rows(AuthorizationCode, now - KEEP_CODES)
    return gone + _delete_strays(now, everything)


def _delete_rows(model: Any, before: datetime) -> int:
    """Delete rows that expired before a time, and families that have no other row."""
    gone, since = 0, None
    referring = [(to.related_model, to.field.name) for to in model._meta.related_objects]
    assert all(to.on_delete is models.SET_NULL for to in model._meta.related_objects), "must not skip a cascade"
    while True:
        # Start where the last batch ended: deleted rows stay in the index until a vacuum, and would be read again.
        rows = model.objects.filter(expires__lt=before, **({"expires__gte": since} if since else {}))
        batch = list(rows.order_by("expires").values_list("pk", "family_id", "expires")[:BATCH])
        if not batch:
            return gone
        keys, since = [key for key, _, _ in batch], batch[-1][2]
        with transaction.atomic():
            for other, name in referring:
                other.objects.filter(**{f"{name}__in": keys}).update(**{name: None})
            gone += _delete(model, keys)
            families = TokenFamily.objects.filter(pk__in=sorted({family for _, family, _ in batch}))
            gone += _delete(TokenFamily, _bare(families))


def _delete_strays(now: datetime, everything: bool) -> int:
    """Delete old families without codes and tokens, in one part of the table. Each run takes another part."""
    ends = TokenFamily.objects.aggregate(first=Min("pk"), last=Max("pk"))
    if ends["first"] is None:
        return 0
    first, beyond = ends["first"], ends["last"] + 1
    if not everything:
        parts = math.ceil((beyond - first) / STRAYS_A_RUN)
        first += int(now.timestamp() // _RUN_SECONDS) % parts * STRAYS_A_RUN
        beyond = min(beyond, first + STRAYS_A_RUN)
    gone = 0
    for start in range(first, beyond, BATCH):
        rows = TokenFamily.objects.filter(pk__gte=start, pk__lt=min(start + BATCH, beyond))
        with transaction.atomic():
            gone += _delete(TokenFamily, _bare(rows.filter(created_at__lt=now - KEEP_STRAYS)))
    return gone


def _bare(families: "QuerySet[TokenFamily]") -> list[int]:
    """Return the primary keys of the families that have neither code nor token."""
    for model in (AuthorizationCode, AccessToken, RefreshToken):
        families = families.filter(~Exists(model.objects.filter(family=OuterRef("pk"))))
    # While the browser session may last, its end is reported to apps that receive events (oidc/events/queueing.py).
    # The newest family of a session and connection is enough: an app that authorizes often makes no sign-out slow.
    receivers = EventReceiver.objects.filter(client=OuterRef("connection__client")).exclude(url="")
    started = clock.now() - timedelta(seconds=settings.SESSION_COOKIE_AGE)
    newer = TokenFamily.objects.exclude(session_tag="").filter(
        session_tag=OuterRef("session_tag"), connection=OuterRef("connection"), pk__gt=OuterRef("pk")
    )
    kept = ~Q(session_tag="") & Q(created_at__gt=started) & Exists(receivers) & ~Exists(newer)
    families = families.exclude(kept)
    return list(families.values_list("pk", flat=True))


def _delete(model: type[models.Model], keys: Sequence[int]) -> int:
    if not keys:
        return 0
    table, places = connection.ops.quote_name(model._meta.db_table), ", ".join(["%s"] * len(keys))
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {table} WHERE id IN ({places})", list(keys))  # noqa: S608  (a model's own table)
        return int(cursor.rowcount)


REVOCATION_BATCH = 5000  # families per statement, about 100 ms, so that no request waits long for a lock


def live_families(since: datetime | None = None, before: datetime | None = None) -> "QuerySet[TokenFamily]":
    """Return the live families that were created within a period. None leaves that end of the period open."""
    families = TokenFamily.objects.filter(revoked_at=None)
    families = families.filter(created_at__gte=since) if since else families
    return families.filter(created_at__lt=before) if before else families


def end_families(families: "QuerySet[TokenFamily]", note: str) -> int:
    """Revoke families with their codes and tokens, in batches; return how many. Consents stay.

    `note` is the operator's note to the apps' developers.
    """
    ended, last = 0, 0
    while True:
        ahead = families.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)
        upto = ahead[REVOCATION_BATCH - 1 : REVOCATION_BATCH].first() or ahead.last()
        if upto is None:
            return ended
        batch = families.filter(pk__gt=last, pk__lte=upto)
        ended += batch.update(revoked_at=clock.now(), revocation_reason=Reason.ENDED_BY_OPERATOR, revocation_note=note)
        last = upto
