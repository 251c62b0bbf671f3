"""API keys: creating and parsing them, and what ends them (oidc/projects/credentials.py rotates and revokes them)."""

import binascii
import re
import string
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.signals import post_delete
from django.dispatch import receiver

from accounts.data_export.archive import moment, rows_of
from accounts.models import Account
from accounts.profile.files import profile_read
from accounts.profile.subjects import subject_for
from accounts.signals import access_ended, exporting
from api.models import ApiKey
from core import clock
from core.credentials import random_text
from oidc.apis.registry import ACCOUNT_READ, Scope
from oidc.apis.scopes import known_scopes
from oidc.apis.uses import ScopeUse, is_named_in
from oidc.models import Project, ProjectMember
from oidc.projects.credentials import SECRET_LENGTH, CredentialKind
from oidc.projects.lifecycle import QuotaExceeded
from oidc.projects.roles import Gone, lock_project
from oidc.signals import asking_scope_use, project_ended

READS_PROFILE = ACCOUNT_READ
PUBLIC_ID_LENGTH = 12
CHECKSUM_LENGTH = 6
_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_BEGINNING = re.compile(rf"([A-Za-z0-9]{{{PUBLIC_ID_LENGTH}}})_")
_BODY = re.compile(
    rf"([A-Za-z0-9]{{{PUBLIC_ID_LENGTH}}})_[A-Za-z0-9]{{{SECRET_LENGTH}}}[A-Za-z0-9]{{{CHECKSUM_LENGTH}}}"
)


def permissions() -> list[Scope]:
    """Return the scopes that API keys can have, in their order."""
    return [scope for scope in known_scopes().values() if scope.api_keys and scope.enabled]


def checksum(text: str) -> str:
    """Return the CRC-32 of `text` in six base-62 digits: it detects typos without a query."""
    number = binascii.crc32(text.encode())
    digits = ""
    for _ in range(CHECKSUM_LENGTH):
        number, rest = divmod(number, len(_DIGITS))
        digits = _DIGITS[rest] + digits
    return digits


class _ApiKeys(CredentialKind[ApiKey]):
    model = ApiKey
    name = "api_key"
    max_life = timedelta(days=3650)
    related = ("owner", "project")

    def lock(self, row: ApiKey) -> Project:
        return lock_project(row.project_id)

    def create_like(self, old: ApiKey, actor: Account | None) -> tuple[ApiKey, str]:
        """Create a key with the name, permissions and owner of `old`. Raises QuotaExceeded."""
        _check_quota(old.project)
        return _insert(old.project, old.owner, old.name, old.permissions.split(), replacement_expires_at(old))

    def belongs_to(self, row: ApiKey) -> tuple[Project, None, str]:
        return row.project, None, row.public_id

    def names(self, row: ApiKey) -> dict[str, Any]:
        return {"name": row.name}

    def shown(self, row: ApiKey) -> dict[str, Any]:
        expires_at = row.expires_at.isoformat() if row.expires_at else None
        return {"name": row.name, "permissions": row.permissions.split(), "expires_at": expires_at}


API_KEYS = _ApiKeys()


@transaction.atomic
def create_key(
    project: Project, owner: Account, name: str, permissions: list[str], expires_at: datetime | None = None
) -> tuple[ApiKey, str]:
    """Create an API key; return its row and the raw key, which is shown once."""
    row, raw = _insert(project, owner, name, permissions, expires_at)
    API_KEYS.report("created", row, owner, after=API_KEYS.shown(row))
    return row, raw


def _insert(
    project: Project, owner: Account, name: str, permissions: list[str], expires_at: datetime | None
) -> tuple[ApiKey, str]:
    public_id = random_text(PUBLIC_ID_LENGTH)
    unchecked = f"{settings.API_KEY_PREFIX}{public_id}_{random_text(SECRET_LENGTH)}"
    return API_KEYS.store(
        unchecked + checksum(unchecked),
        project=project,
        owner=owner,
        subject=subject_for(owner, project.public_id, reads_profile=READS_PROFILE in permissions),
        public_id=public_id,
        name=name,
        permissions=" ".join(permissions),
        expires_at=expires_at,
    )


def create_key_for_member(
    project: Project, owner: Account, name: str, permissions: list[str], expires_at: datetime | None = None
) -> tuple[ApiKey, str]:
    """Create an API key for a member of `project`; return its row and the raw key.

    Raises QuotaExceeded above KEYS_PER_PROJECT live keys, Gone if the owner is not a member.
    """
    with transaction.atomic():
        # While the project is locked, nobody can leave it, and the count is exact.
        lock_project(project.pk)
        if not ProjectMember.objects.filter(project=project, account=owner).exists():
            raise Gone
        _check_quota(project)
        return create_key(project, owner, name, permissions, expires_at)


def _check_quota(project: Project) -> None:
    if project.api_keys.live().count() >= settings.KEYS_PER_PROJECT:
        most = settings.KEYS_PER_PROJECT
        raise QuotaExceeded(f"This project has {most} live keys, which is the maximum. Revoke one first.")


def replacement_expires_at(key: ApiKey) -> datetime | None:
    """Return when a key that replaces `key` expires: after an equal lifetime, or never if `key` has no expiry."""
    return clock.now() + (key.expires_at - key.created_at) if key.expires_at else None


def declare_key(key: ApiKey, permissions: list[str], expires_at: datetime | None) -> None:
    """Give a key the permissions and the expiry that an operator's file declares, in the caller's transaction."""
    before = API_KEYS.shown(key)
    key.permissions, key.expires_at = " ".join(permissions), expires_at
    key.save(update_fields=["permissions", "expires_at"])
    after = API_KEYS.shown(key)
    if before != after:
        API_KEYS.report("changed", key, None, before=before, after=after)


def looks_like_key(raw: str) -> bool:
    """Return whether a credential has the prefix of API keys."""
    return raw.startswith(settings.API_KEY_PREFIX)


def parse_public_id(raw: str) -> str | None:
    """Return the public id in a raw key, or None if its format or checksum is wrong; runs no query."""
    match = _BODY.fullmatch(raw[len(settings.API_KEY_PREFIX) :])
    if match is None or checksum(raw[:-CHECKSUM_LENGTH]) != raw[-CHECKSUM_LENGTH:]:
        return None
    return match.group(1)


def public_id_of_mistyped(raw: str) -> str:
    """Return the public id in a key that was mistyped or cut off after it; "" if there is none."""
    match = _BEGINNING.match(raw[len(settings.API_KEY_PREFIX) :])
    return match.group(1) if match else ""


def live_keys_created(since: datetime | None = None, before: datetime | None = None) -> "QuerySet[ApiKey]":
    """Return the keys that are not revoked and were created in a period; None leaves that end open."""
    keys = ApiKey.objects.filter(revoked_at=None).order_by("pk")
    keys = keys.filter(created_at__gte=since) if since else keys
    return keys.filter(created_at__lt=before) if before else keys


@receiver(profile_read)
def key_reads_profile(sender: Any, account: Account, sector: str, **kwargs: Any) -> bool:
    """Return whether a live key of the person in the project may read their profile (receiver of `profile_read`)."""
    of_project = ApiKey.objects.live().filter(owner=account, project__public_id=sector)
    live = of_project.filter(project__suspended_at=None, project__deleted_at=None)
    return any(READS_PROFILE in permissions.split() for permissions in live.values_list("permissions", flat=True))


@receiver(asking_scope_use)
def scope_is_permission(sender: Any, scope: str, **kwargs: Any) -> ScopeUse | None:
    """Return API_KEY if a key has the scope as a permission, also a revoked key (receiver of `asking_scope_use`)."""
    return ScopeUse.API_KEY if is_named_in(ApiKey.objects.all(), "permissions", scope) else None


@receiver(post_delete, sender=ProjectMember)
def revoke_keys_of_former_member(sender: Any, instance: ProjectMember, **kwargs: Any) -> None:
    """Revoke the keys of a member who leaves or is removed."""
    left = ApiKey.objects.filter(project_id=instance.project_id, owner_id=instance.account_id, revoked_at=None)
    left.update(revoked_at=clock.now())


@receiver(access_ended)
def revoke_keys_of_ended_account(sender: Any, account: Account, **kwargs: Any) -> None:
    """Revoke the keys of a deactivated person; reactivation does not bring them back."""
    for key in ApiKey.objects.filter(owner=account, revoked_at=None).select_related("project").order_by("pk"):
        API_KEYS.revoke(key)


@receiver(project_ended)
def revoke_keys_of_project(sender: Any, project: Project, **kwargs: Any) -> None:
    """Revoke the keys of a deleted project; restoring it does not bring them back."""
    ApiKey.objects.filter(project=project, revoked_at=None).update(revoked_at=clock.now())


@receiver(exporting)
def export_keys(sender: Any, account: Account, **kwargs: Any) -> dict[str, Any]:
    """Return the person's API keys by name, for the data export; secrets are not stored, so none is exported."""
    return {"keys": (_exported(key) for key in rows_of(ApiKey.objects.filter(owner=account).select_related("project")))}


def _exported(key: ApiKey) -> dict[str, Any]:
    return {
        "name": key.name,
        "project": key.project.name,
        "key": key.masked,
        "permissions": key.permissions.split(),
        "created_at": moment(key.created_at),
        "expires_at": moment(key.expires_at),
        "revoked_at": moment(key.revoked_at),
        "leaked_at": moment(key.leaked_at),
        "last_used_at": moment(key.last_used_at),
        "last_used_address": key.last_used_address,
    }
