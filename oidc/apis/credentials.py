"""Credentials of the company's own APIs, for the introspection endpoint (docs/sign-in.md#introspection)."""

from django.conf import settings
from django.db import transaction

from accounts.models import Account
from core.audit import Event, report
from core.credentials import digest, random_text
from oidc.models import Api, ApiCredential

PUBLIC_ID_PREFIX = "api_"
PUBLIC_ID_LENGTH = 16
SECRET_LENGTH = 43  # 256 random bits


def create_credential(api: Api, created_by: Account | None = None) -> tuple[ApiCredential, str]:
    """Create a credential; return its row and the raw secret, which is shown only once."""
    raw = f"{settings.CLIENT_SECRET_PREFIX}{random_text(SECRET_LENGTH)}"
    with transaction.atomic():
        row = ApiCredential.objects.create(
            api=api,
            public_id=f"{PUBLIC_ID_PREFIX}{random_text(PUBLIC_ID_LENGTH)}",
            digest=digest(raw),
            last_four=raw[-4:],
            created_by=created_by,
        )
        report(Event("api_credential.created", created_by.pk if created_by else None, target=row.public_id))
    return row, raw
