"""Credentials of the company's own APIs, for the introspection endpoint (docs/sign-in.md#introspection)."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet, Subquery

from accounts.models import Account
from core import clock
from core.audit import Event, report
from core.credentials import digest, matches, random_text
from core.database.prepared_queries import PreparedQuery
from oidc.credential_rotation import CredentialEnded, end_replaced
from oidc.models import Api, ApiCredential

PUBLIC_ID_PREFIX = "api_"
PUBLIC_ID_LENGTH = 16
SECRET_LENGTH = 43  # 256 random bits
MAX_LIVE_CREDENTIALS = 10  # of one API
LAST_USED_INTERVAL = timedelta(hours=1)
_LONGEST_PUBLIC_ID = 40
# Compared with if a credential is unknown, so that the response time does not reveal which ones exist.
_NO_DIGEST = digest(random_text(SECRET_LENGTH))
_COLUMNS = ("pk", "api_id", "digest", "expires_at", "last_used_at")


class StoredCredential(NamedTuple):
    """The columns of a credential that is not revoked, but may be expired."""

    pk: int
    api_id: int
    digest: str
    expires_at: datetime | None
    last_used_at: datetime | None


class TooManyCredentials(Exception):
    """The API already has MAX_LIVE_CREDENTIALS live credentials. Revoke one first."""


def create_credential(api: Api, created_by: Account | None = None) -> tuple[ApiCredential, str]:
    """Create a credential; return its row and the raw secret, which is shown only once. Raises TooManyCredentials."""
    with transaction.atomic():
        row, raw = _insert(api.pk, created_by)
        _report("api_credential.created", row, created_by, after=_shown(row))
    return row, raw


def _insert(api_pk: int, created_by: Account | None) -> tuple[ApiCredential, str]:
    """Create a credential. The API is locked, so that the count is exact."""
    api = Api.objects.select_for_update(no_key=True).get(pk=api_pk)
    if api.credentials.all().live().count() >= MAX_LIVE_CREDENTIALS:
        raise TooManyCredentials
    raw = f"{settings.CLIENT_SECRET_PREFIX}{random_text(SECRET_LENGTH)}"
    row = ApiCredential.objects.create(
        api=api,
        public_id=f"{PUBLIC_ID_PREFIX}{random_text(PUBLIC_ID_LENGTH)}",
        digest=digest(raw),
        last_four=raw[-4:],
        created_by=created_by,
    )
    return row, raw


def rotate_credential(
    credential: ApiCredential, expires_at: datetime, actor: Account | None = None
) -> tuple[ApiCredential, str]:
    """Create a credential that replaces `credential`; return the new row and the raw secret.

    The old one is accepted until `expires_at`, or until its own expiry if that is sooner. If `expires_at` is not in the
    future, it is revoked immediately. Raises CredentialEnded, TooManyCredentials, ValueError if `expires_at` is further
    ahead than MAX_OVERLAP.
    """
    with transaction.atomic():
        Api.objects.select_for_update(no_key=True).filter(pk=credential.api_id).first()
        old = ApiCredential.objects.live().filter(pk=credential.pk).first()
        if old is None:
            raise CredentialEnded
        end = end_replaced(ApiCredential.objects.filter(pk=old.pk), old.expires_at, expires_at, "revoked_at")
        row, raw = _insert(old.api_id, actor)
        after = _shown(row) | {"replaced_by": row.public_id, "old_expires_at": end.isoformat()}
        _report("api_credential.rotated", old, actor, before=_shown(old), after=after)
    return row, raw


def revoke_credential(credential: ApiCredential, actor: Account | None = None) -> bool:
    """Revoke a credential: the next request with it is rejected. Return False if it was revoked before."""
    with transaction.atomic():
        if not ApiCredential.objects.filter(pk=credential.pk, revoked_at=None).update(revoked_at=clock.now()):
            return False
        _report("api_credential.revoked", credential, actor, before=_shown(credential))
    return True


def replace_credentials(api: Api, actor: Account | None = None) -> tuple[ApiCredential, str]:
    """Revoke all live credentials of an API and create one; return its row and the raw secret."""
    with transaction.atomic():
        for row in ApiCredential.objects.live().filter(api=api).order_by("pk"):
            revoke_credential(row, actor)
        return create_credential(api, actor)


def _shown(row: ApiCredential) -> dict[str, str]:
    """Return what the audit trail has of a credential."""
    return {"api": row.api.slug, "last_four": row.last_four}


def _report(
    action: str,
    row: ApiCredential,
    actor: Account | None,
    *,
    before: dict[str, str] | None = None,
    after: dict[str, str] | None = None,
) -> None:
    report(Event(action, actor.pk if actor else None, target=row.public_id, before=before or {}, after=after or {}))


def possible_public_id(public_id: str | None) -> str:
    """Return a public id, or one that no credential has if it is malformed: both are looked up."""
    text = public_id or ""
    is_possible = text.isascii() and text.isprintable() and len(text) <= _LONGEST_PUBLIC_ID
    return text if is_possible else PUBLIC_ID_PREFIX


def credential_columns(public_id: str) -> dict[str, Subquery]:
    """Return annotations that add a credential to the look-up of a token. They come last in a row (`credential_in`)."""
    found = ApiCredential.objects.filter(public_id=public_id, revoked_at=None)
    return {f"credential_{name}": Subquery(found.values(name)) for name in _COLUMNS}


def credential_in(row: Sequence[Any]) -> StoredCredential | None:
    """Return the credential in the last columns of a row, or None if there is none with that public id."""
    columns = row[-len(_COLUMNS) :]
    return None if columns[0] is None else StoredCredential(*columns)


def _credential(public_id: str) -> "QuerySet[Any, Any]":
    return ApiCredential.objects.filter(public_id=public_id, revoked_at=None).values_list(*_COLUMNS)


_READ_CREDENTIAL = PreparedQuery(["public_id"], _credential)


def look_up_credential(public_id: str) -> StoredCredential | None:
    """Return the credential with this public id, or None if there is none or it is revoked."""
    rows = _READ_CREDENTIAL.rows(public_id)
    return credential_in(rows[0]) if rows else None


def is_valid(found: StoredCredential | None, secret: str) -> bool:
    """Return whether a secret is that of a credential that has not expired. Known and unknown ones take as long."""
    is_secret = matches(secret, _NO_DIGEST if found is None else found.digest)
    return is_secret and found is not None and (found.expires_at is None or found.expires_at > clock.now())


def note_use(found: StoredCredential, address: str) -> None:
    """Store when and from which IP address a credential was used, at most once an hour."""
    moment = clock.now()
    if found.last_used_at is None or found.last_used_at < moment - LAST_USED_INTERVAL:
        ApiCredential.objects.filter(pk=found.pk).update(last_used_at=moment, last_used_address=address or None)
