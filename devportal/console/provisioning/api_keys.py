"""`[[projects.api_keys]]`: keys, known by their name in the project."""

from typing import Any

from django.core.exceptions import ValidationError

from api import keys
from api.models import ApiKey
from devportal.console.provisioning.account_lookup import account_named
from devportal.console.provisioning.toml_tables import InvalidFile, Table
from oidc.models import Project, ProjectMember


def apply_api_key(table: Table, project: Project, rotate: bool) -> dict[str, Any]:
    """Create or update one key. The raw key appears only if it was made just now: new, or rotated."""
    name = table.text("name", longest=100)
    owner = account_named(table, "owner")
    permissions = table.texts("permissions", _check_permission)
    expires_at = table.moment("expires")
    table.refuse_unknown()
    if not ProjectMember.objects.filter(project=project, account=owner).exists():
        raise InvalidFile(f"{table.at('owner')}: {owner.email} is no member of the project")

    found = list(ApiKey.objects.filter(project=project, name=name, revoked_at=None)[:2])
    if len(found) > 1:
        raise InvalidFile(f"{table.at('name')}: several keys of the project have this name; revoke all but one first")
    existing = found[0] if found else None
    raw = None
    if existing is None or rotate or existing.owner_id != owner.pk:
        if existing is not None:
            keys.revoke_key(existing)
            permissions = permissions if "permissions" in table else existing.permissions.split()
            expires_at = expires_at if "expires" in table else existing.expires_at
        _, raw = keys.create_key(project, owner, name, permissions, expires_at)
    else:
        if "permissions" in table:
            existing.permissions = " ".join(permissions)
        if "expires" in table:
            existing.expires_at = expires_at
        existing.save(update_fields=["permissions", "expires_at"])
    return {"name": name, "key": raw, "owner": owner.email}


def _check_permission(permission: str) -> None:
    if permission not in keys.PERMISSIONS:
        raise ValidationError(f"must be one of {', '.join(keys.PERMISSIONS)}")
