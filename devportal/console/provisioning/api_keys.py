"""`[[projects.api_keys]]`: keys, known by their name in the project."""

from typing import Any

from django.db.models import QuerySet

from api import keys
from api.models import ApiKey
from devportal.console.provisioning.account_lookup import AccountField
from devportal.console.provisioning.toml_tables import NameField, Table
from devportal.lib.strict_fields import StrictChoiceField, StrictDateTimeField, StrictListField
from oidc.models import Project


class KeyTable(Table):
    name = NameField()
    owner = AccountField()
    permissions = StrictListField(child=StrictChoiceField(keys.PERMISSIONS), unique=True, required=False)
    expires = StrictDateTimeField(required=False)


def live_keys(project: Project, name: str) -> QuerySet[ApiKey]:
    return ApiKey.objects.filter(project=project, name=name, revoked_at=None)


def apply_api_key(values: dict[str, Any], project: Project, rotate: bool) -> dict[str, Any]:
    """Create or update one key. The raw key appears only if it was made just now: new, or rotated."""
    name, owner = values["name"], values["owner"]
    existing = live_keys(project, name).first()
    permissions: list[str] = values.get("permissions", existing.permissions.split() if existing else [])
    expires_at = values.get("expires", existing.expires_at if existing else None)
    raw = None
    if existing is None or rotate or existing.owner_id != owner.pk:
        if existing is not None:
            keys.revoke_key(existing)
        _, raw = keys.create_key(project, owner, name, permissions, expires_at)
    else:
        existing.permissions, existing.expires_at = " ".join(permissions), expires_at
        existing.save(update_fields=["permissions", "expires_at"])
    return {"name": name, "key": raw, "owner": owner.email}
