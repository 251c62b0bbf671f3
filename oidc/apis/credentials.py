"""Credentials of the company's own APIs, for the introspection endpoint (docs/sign-in.md#introspection)."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import QuerySet, Subquery

from accounts.models import Account
from core.credentials import matches, random_text
from core.database.prepared_queries import PreparedQuery, RowMapper
from oidc.models import Api, ApiCredential
from oidc.projects.credentials import NO_DIGEST, CredentialKind, new_secret
from oidc.projects.lifecycle import QuotaExceeded

PUBLIC_ID_PREFIX = "api_"
PUBLIC_ID_LENGTH = 16
MAX_LIVE_CREDENTIALS = 10  # of one API
_LONGEST_PUBLIC_ID = 40
_MAPPER = RowMapper({"": (ApiCredential, ("api_id", "digest", "expires_at", "last_used_at"))})


class _ApiCredentials(CredentialKind[ApiCredential]):
    model = ApiCredential
    name = "api_credential"
    related = ("api",)

    def lock(self, row: ApiCredential) -> Api | None:
        return Api.objects.select_for_update(no_key=True).filter(pk=row.api_id).first()

    def create_like(self, old: ApiCredential, actor: Account | None) -> tuple[ApiCredential, str]:
        return _insert(old.api, actor)

    def belongs_to(self, row: ApiCredential) -> tuple[None, None, str]:
        return None, None, row.public_id

    def names(self, row: ApiCredential) -> dict[str, Any]:
        return {"api": row.api.slug, "last_four": row.last_four}


API_CREDENTIALS = _ApiCredentials()


@transaction.atomic
def create_credential(api: Api, created_by: Account | None = None) -> tuple[ApiCredential, str]:
    """Create a credential; return its row and the raw secret, which is shown only once. Raises QuotaExceeded."""
    row, raw = _insert(Api.objects.select_for_update(no_key=True).get(pk=api.pk), created_by)
    API_CREDENTIALS.report("created", row, created_by, after=API_CREDENTIALS.shown(row))
    return row, raw


def _insert(api: Api, created_by: Account | None) -> tuple[ApiCredential, str]:
    """Create a credential. The API is locked, so that the count is exact."""
    if api.credentials.all().live().count() >= MAX_LIVE_CREDENTIALS:
        raise QuotaExceeded(
            f"This API has {MAX_LIVE_CREDENTIALS} live credentials, which is the maximum. Revoke one of them first."
        )
    public_id = f"{PUBLIC_ID_PREFIX}{random_text(PUBLIC_ID_LENGTH)}"
    return API_CREDENTIALS.store(new_secret(), api=api, public_id=public_id, created_by=created_by)


@transaction.atomic
def replace_credentials(api: Api, actor: Account | None = None) -> tuple[ApiCredential, str]:
    """Revoke all live credentials of an API and create one; return its row and the raw secret."""
    for row in ApiCredential.objects.live().filter(api=api).order_by("pk"):
        API_CREDENTIALS.revoke(row, actor)
    return create_credential(api, actor)


def possible_public_id(public_id: str | None) -> str:
    """Return a public id, or one that no credential has if it is malformed: both are looked up."""
    text = public_id or ""
    is_possible = text.isascii() and text.isprintable() and len(text) <= _LONGEST_PUBLIC_ID
    return text if is_possible else PUBLIC_ID_PREFIX


def credential_columns(public_id: str) -> dict[str, Subquery]:
    """Return annotations that add a credential to the look-up of a token. They come last in a row (`credential_in`)."""
    found = ApiCredential.objects.filter(public_id=public_id, revoked_at=None)
    return {f"credential_{name}": Subquery(found.values(name)) for name in _MAPPER.paths}


def credential_in(row: Sequence[Any]) -> ApiCredential | None:
    """Return the credential in the last columns of a row, or None if there is none with that public id."""
    found: ApiCredential | None = _MAPPER.build(row[-len(_MAPPER.paths) :])[""]
    return found


def _credential(public_id: str) -> "QuerySet[Any, Any]":
    return ApiCredential.objects.filter(public_id=public_id, revoked_at=None).values_list(*_MAPPER.paths)


_READ_CREDENTIAL = PreparedQuery(["public_id"], _credential)


def look_up_credential(public_id: str) -> ApiCredential | None:
    """Return the credential with this public id, or None if there is none or it is revoked."""
    rows = _READ_CREDENTIAL.rows(public_id)
    return credential_in(rows[0]) if rows else None


def is_valid(found: ApiCredential | None, secret: str) -> bool:
    """Return whether a secret is that of a credential that has not expired. Known and unknown ones take as long."""
    is_secret = matches(secret, NO_DIGEST if found is None else found.digest)
    return is_secret and found is not None and not found.is_expired
