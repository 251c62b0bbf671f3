"""`[[projects]]` with their members and clients; a project is known by owner and name, a client by its name in it."""

from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError

from accounts.models import Account
from devportal.console.provisioning.account_lookup import account_named
from devportal.console.provisioning.api_keys import apply_api_key
from devportal.console.provisioning.toml_tables import InvalidFile, Table
from devportal.lib import clock
from oidc import names, scopes
from oidc.clients import redirect_uris as client_redirect_uris
from oidc.clients import secrets
from oidc.models import Client, Project, ProjectMember
from oidc.models.clients import new_client_id

APPROVABLE = [scope.name for scope in scopes.SCOPES.values() if scope.needs_approval]


def apply_project(table: Table, *, rotate_secrets: bool) -> dict[str, Any]:
    """Create or update one project and what it declares; a key left out changes nothing."""
    name = table.name("name", names.validate_name)
    owner = account_named(table, "owner")
    members = table.tables("members")
    suspended = table.flag("suspended", False)
    client_tables = table.tables("clients")
    key_tables = table.tables("api_keys")
    table.refuse_unknown()

    role = ProjectMember.Role.OWNER
    project = Project.objects.filter(name=name, members__account=owner, members__role=role).first()
    if project is None:
        project = Project.objects.create(name=name)
        ProjectMember.objects.create(project=project, account=owner, role=role)
    if "suspended" in table and suspended != project.is_suspended:
        project.suspended_at = clock.now() if suspended else None
        project.save(update_fields=["suspended_at"])
    for member in members:
        _apply_member(member, project, owner)
    return {
        "id": project.public_id,
        "name": name,
        "clients": [_apply_client(client, project, rotate_secrets) for client in client_tables],
        "api_keys": [apply_api_key(key, project, rotate_secrets) for key in key_tables],
    }


def _apply_member(table: Table, project: Project, owner: Account) -> None:
    account = account_named(table, "email")
    role = table.choice("role", ProjectMember.Role.values)
    table.refuse_unknown()
    if account == owner and role != ProjectMember.Role.OWNER:
        raise InvalidFile(f"{table.at('role')}: the owner stays owner")
    ProjectMember.objects.update_or_create(project=project, account=account, defaults={"role": role})


@dataclass(frozen=True)
class _Declared:
    """What a client's table says, read and checked."""

    name: str
    kind: str
    redirect_uris: str
    post_logout_redirect_uris: str
    enabled: bool
    first_party: bool
    verified: bool
    approved_scopes: str


def _read_client(table: Table) -> _Declared:
    redirect_uris = table.texts("redirect_uris", client_redirect_uris.validate_redirect_uri)
    if not redirect_uris:
        raise InvalidFile(f"{table.at('redirect_uris')}: must name at least one address")
    declared = _Declared(
        name=table.name("name", names.validate_name),
        kind=table.choice("type", Client.Type.values),
        redirect_uris=" ".join(redirect_uris),
        post_logout_redirect_uris=" ".join(
            table.texts("post_logout_redirect_uris", client_redirect_uris.validate_redirect_uri)
        ),
        enabled=table.flag("enabled", True),
        first_party=table.flag("first_party", False),
        verified=table.flag("verified", False),
        approved_scopes=" ".join(table.texts("approved_scopes", _check_approvable)),
    )
    table.refuse_unknown()
    return declared


def _check_approvable(scope: str) -> None:
    if scope not in APPROVABLE:
        raise ValidationError(f"must be one of {', '.join(APPROVABLE)}")


def _client_named(table: Table, project: Project, name: str) -> Client | None:
    """Return the client of this name. Raises InvalidFile for two: in the console several may share one."""
    found = list(Client.objects.filter(project=project, name=name)[:2])
    if len(found) > 1:
        raise InvalidFile(
            f"{table.at('name')}: several clients of the project have this name; rename all but one first"
        )
    return found[0] if found else None


def _apply_client(table: Table, project: Project, rotate_secrets: bool) -> dict[str, Any]:
    declared = _read_client(table)
    client = _client_named(table, project, declared.name)
    is_new = client is None
    if client is None:
        client = Client(project=project, name=declared.name, type=declared.kind, client_id=new_client_id())
    elif client.type != declared.kind:
        secrets.change_type(client, declared.kind)
    client.redirect_uris = declared.redirect_uris
    for key in ("post_logout_redirect_uris", "enabled", "first_party", "approved_scopes"):
        if is_new or key in table:
            setattr(client, key, getattr(declared, key))
    if (is_new or "verified" in table) and declared.verified != client.is_verified:
        client.verified_at = clock.now() if declared.verified else None
    client.save()
    return {
        "client_id": client.client_id,
        "client_secret": _secret(client, rotate_secrets),
        "name": client.name,
        "type": client.type,
        "redirect_uris": declared.redirect_uris.split(),
        "post_logout_redirect_uris": client.post_logout_redirect_uris.split(),
    }


def _secret(client: Client, rotate: bool) -> str | None:
    """Return a web client's secret if it was made just now: its first one, or one that replaces all others."""
    if not client.has_secret:
        return None
    live = client.secrets.filter(ended_at=None)
    if live.exists():
        if not rotate:
            return None
        live.update(ended_at=clock.now())
    return secrets.create_secret(client)[1]
