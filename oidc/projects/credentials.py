"""Client secrets, credentials of APIs and API keys: the steps that all kinds of credentials share.

Each kind is a CredentialKind: `CLIENT_SECRETS` (oidc/clients/secrets.py), `API_CREDENTIALS` (oidc/apis/credentials.py)
and `API_KEYS` (api/keys.py). Their modules create credentials, and contain what is specific to the kind.
"""

from datetime import datetime, timedelta
from typing import Any, ClassVar, Generic, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from accounts.models import Account
from core import clock
from core.audit import Event, report
from core.credentials import digest, random_text
from oidc.models import Client, Project
from oidc.models.credentials import Credential

SECRET_LENGTH = 43  # 256 random bits
# How long a replaced credential may stay valid beside its replacement.
MAX_OVERLAP = timedelta(days=30)
LAST_USED_INTERVAL = timedelta(hours=1)

# Compared with if a credential is unknown, so that the response time does not reveal which credentials exist.
NO_DIGEST = digest(random_text(SECRET_LENGTH))

Row = TypeVar("Row", bound=Credential)


class CredentialEnded(Exception):
    """The credential is revoked or expired, so it can't be rotated and its expiry can't change."""


def new_secret() -> str:
    """Return a new secret of a client or an API."""
    return f"{settings.CLIENT_SECRET_PREFIX}{random_text(SECRET_LENGTH)}"


class CredentialKind(Generic[Row]):
    """One kind of credentials. A subclass has its model, what its audit events contain, and what to lock."""

    model: type[Row]
    name: ClassVar[str]  # audit actions begin with it
    revoked: ClassVar[str] = "revoked"  # the audit action of a revocation ends with it
    max_life: ClassVar[timedelta] = MAX_OVERLAP  # how far ahead the expiry of a live credential may be set
    related: ClassVar[tuple[str, ...]] = ()  # the rows that audit events need

    def lock(self, row: Row) -> object:
        """Lock what a credential belongs to, before its row (docs/architecture.md#locking). Raises Gone."""
        raise NotImplementedError

    def create_like(self, old: Row, actor: Account | None) -> tuple[Row, str]:
        """Create a credential that replaces `old`. Raises QuotaExceeded if too many would be live."""
        raise NotImplementedError

    def belongs_to(self, row: Row) -> tuple[Project | None, Client | None, str]:
        """Return the project and the client of a credential, and the target of its audit events."""
        raise NotImplementedError

    def names(self, row: Row) -> dict[str, Any]:
        """Return the values by which audit events name a credential."""
        return {"last_four": row.last_four}

    def shown(self, row: Row) -> dict[str, Any]:
        """Return the values of a credential that audit events contain."""
        return self.names(row)

    def store(self, raw: str, **values: Any) -> tuple[Row, str]:
        """Store a new credential; return its row and the raw value, which is shown only once."""
        rows: Any = self.model._default_manager
        row: Row = rows.create(digest=digest(raw), last_four=raw[-4:], **values)
        return row, raw

    def report(self, action: str, row: Row, actor: Account | None, **fields: Any) -> None:
        """Report an audit event of a credential; `fields` are those of Event."""
        project, _, target = self.belongs_to(row)
        public_id = project.public_id if project else None
        report(Event(f"{self.name}.{action}", actor.pk if actor else None, public_id, target, **fields))

    @transaction.atomic
    def rotate(self, row: Row, expires_at: datetime, actor: Account | None = None) -> tuple[Row, str]:
        """Create a credential that replaces `row`; return the new row and the raw value.

        The old one is accepted until `expires_at`, or until its own expiry if that is sooner. If that time is not in
        the future, it is revoked immediately. Raises CredentialEnded, QuotaExceeded, ValueError if `expires_at` is
        further ahead than MAX_OVERLAP, Gone.
        """
        _check_distance(expires_at, MAX_OVERLAP)
        old = self._lock_live(row)
        before = self.shown(old)
        end = min(expires_at, old.expires_at or expires_at)
        if end <= clock.now():
            self._rows(old).update(revoked_at=clock.now())
        else:
            self._rows(old).update(expires_at=end)
        new, raw = self.create_like(old, actor)
        after, target = self.shown(new), self.belongs_to(new)[2]
        if target != self.belongs_to(old)[2]:
            after["replaced_by"] = target
        self.report("rotated", old, actor, before=before, after=after | {"old_expires_at": end.isoformat()})
        return new, raw

    @transaction.atomic
    def set_expiry(self, row: Row, expires_at: datetime | None, actor: Account | None = None) -> None:
        """Set when a live credential expires; None means never.

        Raises CredentialEnded, ValueError if `expires_at` is further ahead than `max_life`, Gone.
        """
        if expires_at is not None:
            _check_distance(expires_at, self.max_life)
        old = self._lock_live(row)
        if old.expires_at == expires_at:
            return
        self._rows(old).update(expires_at=expires_at)
        before, after = (
            self.shown(old) | {"expires_at": moment.isoformat() if moment else None}
            for moment in (old.expires_at, expires_at)
        )
        self.report("expiry_changed", old, actor, before=before, after=after)

    @transaction.atomic
    def revoke(self, row: Row, actor: Account | None = None) -> bool:
        """Revoke a credential: the next request with it is rejected. Return False if it was revoked before."""
        if not self._rows(row).filter(revoked_at=None).update(revoked_at=clock.now()):
            return False
        self.report(self.revoked, row, actor, before=self.shown(row))
        return True

    def _lock_live(self, row: Row) -> Row:
        self.lock(row)
        rows = self._rows(row).live().select_for_update(no_key=True, of=("self",))
        found: Row | None = rows.select_related(*self.related).first()
        if found is None:
            raise CredentialEnded
        return found

    def _rows(self, row: Row) -> Any:
        return self.model._default_manager.filter(pk=row.pk)


def _check_distance(expires_at: datetime, most: timedelta) -> None:
    if expires_at > clock.now() + most:
        raise ValueError("the expiry is too far ahead")


def note_use(row: Credential, address: str) -> None:
    """Store when and from which IP address a credential was used.

    Written at most once an hour: a write per request would cost more than the rest of the request.
    """
    moment = clock.now()
    if row.last_used_at is None or row.last_used_at < moment - LAST_USED_INTERVAL:
        rows: QuerySet[Any] = type(row)._default_manager.filter(pk=row.pk)
        rows.update(last_used_at=moment, last_used_address=address or None)
