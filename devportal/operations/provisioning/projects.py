"""`[[projects]]` with members, domains and API keys. A project is identified by its owner and name."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import F, QuerySet
from rest_framework import serializers

from accounts.models import Account
from api import keys
from api.models import ApiKey
from core import clock, names
from core.http.strict_fields import (
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictListField,
)
from devportal.operations.provisioning.clients import (
    ClientTable,
    apply_client,
    clients_named,
    unapproved_optional_scope,
)
from devportal.operations.provisioning.people import AccountField
from devportal.operations.provisioning.toml_tables import (
    NameField,
    ScopeField,
    Table,
    TablesField,
    apply_rows,
    table_error,
)
from devportal.review.decisions.reviewer_actions import record_operator_step
from devportal.review.models import ReviewEntry
from oidc.apis.scopes import known_scopes
from oidc.clients.domain_names import clean_domain_name
from oidc.domains.claims import declare_domain
from oidc.domains.results import refresh_reviewed_hosts
from oidc.models import Project, ProjectMember
from oidc.projects.members import declare_member
from oidc.projects.roles import lock_project


class DomainField(StrictCharField):
    """A domain, deserialized to the form in which it is stored."""

    def to_internal_value(self, data: Any) -> str:
        typed = super().to_internal_value(data)
        try:
            return clean_domain_name(typed, by_operator=True)
        except ValidationError as error:
            raise serializers.ValidationError(error.messages) from error


def apply_domains(project: Project, names: Sequence[str]) -> None:
    """Declare these domains for the project, in the caller's transaction. Its other domains stay."""
    lock_project(project.pk, deleted=project.is_deleted)
    for name in names:
        declare_domain(project, name)
    refresh_reviewed_hosts(project)


def _permissions() -> list[str]:
    # Also of an API that is turned off: its keys keep their permissions.
    return [scope.name for scope in known_scopes().values() if scope.api_keys]


class KeyTable(Table):
    name = NameField()
    owner = AccountField()
    permissions = StrictListField(child=ScopeField(_permissions), unique=True, required=False)
    expires = StrictDateTimeField(required=False)


def keys_named(project: Project, name: str) -> QuerySet[ApiKey]:
    """Return the live keys with this name; if there are none, the newest expired one, which a file may extend."""
    live: QuerySet[ApiKey] = project.api_keys.live().filter(name=name)
    if live.exists():
        return live
    return ApiKey.objects.filter(project=project, name=name, revoked_at=None).order_by("-pk")[:1]


def apply_api_key(values: dict[str, Any], project: Project, rotate: bool) -> dict[str, Any]:
    """Create or update one key. The result contains the raw key only if it is new or was rotated."""
    name, owner = values["name"], values["owner"]
    if project.is_deleted:
        return {"name": name, "key": None, "owner": owner.email}
    existing = keys_named(project, name).first()
    permissions: list[str] = values.get("permissions", existing.permissions.split() if existing else [])
    expires_at = values.get("expires", existing.expires_at if existing else None)
    raw = None
    if existing is None or rotate or existing.owner_id != owner.pk:
        if existing is not None:
            keys.API_KEYS.revoke(existing)
        _, raw = keys.create_key(project, owner, name, permissions, expires_at)
    else:
        keys.declare_key(existing, permissions, expires_at)
    return {"name": name, "key": raw, "owner": owner.email}


OWNER = ProjectMember.Role.OWNER


class MemberTable(Table):
    email = AccountField()
    role = StrictChoiceField(ProjectMember.Role.values)


class ProjectTable(Table):
    name = StrictCharField(validators=[names.validate_name])
    owner = AccountField()
    members = TablesField("email", child=MemberTable())
    suspended = StrictBooleanField(required=False)
    domains = StrictListField(child=DomainField(), unique=True, required=False)
    clients = TablesField("name", child=ClientTable())
    api_keys = TablesField("name", child=KeyTable())

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check rules that depend on several keys, or on the existing project."""
        owner, project = attrs["owner"], _find(attrs)
        people = {owner, *(member["email"] for member in attrs["members"])}
        for position, member in enumerate(attrs["members"]):
            if member["email"] == owner and member["role"] != OWNER:
                raise table_error("members", position, "role", "the owner can't have another role")
        for position, client in enumerate(attrs["clients"]):
            if project is not None and clients_named(project, client["name"]).count() > 1:
                message = "several apps of the project have this name; rename all but one first"
                raise table_error("clients", position, "name", message)
            if scope := unapproved_optional_scope(client, project):
                raise table_error("clients", position, "optional_scopes", f"{scope} is not among its approved_scopes")
        for position, key in enumerate(attrs["api_keys"]):
            if key["owner"] not in people and not _is_member(project, key["owner"]):
                raise table_error("api_keys", position, "owner", f"{key['owner'].email} is not a member of the project")
            if project is not None and keys_named(project, key["name"]).count() > 1:
                message = "several keys of the project have this name; revoke all but one first"
                raise table_error("api_keys", position, "name", message)
        return attrs


def lock_projects(document: dict[str, Any]) -> None:
    """Lock the existing projects with the names in a file, which is not validated yet.

    Otherwise someone who is removed at the same moment could get an API key. Projects are locked before the accounts
    of their members (docs/architecture.md#locking).
    """
    tables = document.get("projects")
    declared = [table.get("name") for table in tables if isinstance(table, dict)] if isinstance(tables, list) else []
    known = {name for name in declared if isinstance(name, str) and "\x00" not in name}
    list(Project.objects.select_for_update(no_key=True).filter(name__in=known).order_by("pk").values_list("pk"))


def _find(values: dict[str, Any]) -> Project | None:
    """Return the project of a table, None if it does not exist yet. One that is deleted comes after one that is not."""
    rows = Project.objects.filter(name=values["name"], members__account=values["owner"], members__role=OWNER)
    return rows.order_by(F("deleted_at").desc(nulls_first=True), "pk").first()


def _is_member(project: Project | None, account: Account) -> bool:
    return project is not None and ProjectMember.objects.filter(project=project, account=account).exists()


def apply_project(values: dict[str, Any], *, applied: set[int], rotate_secrets: bool) -> dict[str, Any]:
    """Create or update one project with everything in its table. A missing key changes nothing.

    A project that an owner has deleted stays deleted, and gets no secrets and keys: they would end when it is restored.
    Everything else is applied, so that it holds from then on. `applied` are the projects of the file's earlier tables:
    one with several owners could be named by several tables.
    """
    project = _find(values)
    if project is None:
        project = Project.objects.create(name=values["name"])
        ProjectMember.objects.create(project=project, account=values["owner"], role=OWNER)
    if project.pk in applied:
        raise serializers.ValidationError({"name": "another table of this list is about the same project"})
    applied.add(project.pk)
    suspended = values.get("suspended", project.is_suspended)
    if suspended != project.is_suspended:
        project.suspended_at = clock.now() if suspended else None
        project.save(update_fields=["suspended_at"])
        kind = ReviewEntry.Kind.SUSPENDED if suspended else ReviewEntry.Kind.SUSPENSION_LIFTED
        record_operator_step(kind, project)
    for member in values["members"]:
        declare_member(project, member["email"], member["role"])
    if "domains" in values:
        apply_domains(project, values["domains"])
    try:
        clients = apply_rows(values["clients"], partial(apply_client, project=project, rotate_secrets=rotate_secrets))
    except serializers.ValidationError as error:
        raise serializers.ValidationError({"clients": error.detail}) from error
    return {
        "id": project.public_id,
        "name": project.name,
        "clients": clients,
        "api_keys": [apply_api_key(key, project, rotate_secrets) for key in values["api_keys"]],
        **({"deleted": True} if project.is_deleted else {}),
    }
