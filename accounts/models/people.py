"""Accounts, their pairwise subject identifiers, and exports of their data."""

from collections.abc import Collection, Iterator
from datetime import timedelta
from typing import Any, ClassVar, Self

from django.contrib.auth.hashers import check_password
from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models, transaction
from django.db.models import Q
from django.db.models.functions import Lower

from core import clock
from core.credentials import digest
from core.email_addresses import address_to_find, stored_address


class AccountManager(BaseUserManager["Account"]):
    """Creates accounts. Email addresses are stored in one form, so that there is one account per address."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "Account":
        account = self.model(email=stored_address(email), **fields)
        account.set_password(password)
        account.save(using=self._db)
        return account

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "Account":
        """Create a superuser who can sign in without a mailed code; `manage.py createsuperuser` calls this."""
        with transaction.atomic(using=self._db):
            account = self.create_user(email, password, is_staff=True, is_superuser=True, **fields)
            # The model is allauth's, which imports this one. Its row sets `email_verified` (accounts/receivers.py).
            account.emailaddress_set.create(email=account.email, verified=True, primary=True)  # type: ignore[attr-defined]
        account.email_verified = True
        return account

    def get_by_natural_key(self, username: str | None) -> "Account":
        return self.get(email=address_to_find(username or ""))


class Account(AbstractBaseUser, PermissionsMixin):
    """A person. The primary key never leaves the service; apps only know people by PairwiseSubject."""

    email = models.EmailField("email address", unique=True)
    # Synchronized with allauth's record of the primary email address: see accounts/receivers.py.
    email_verified = models.BooleanField(default=False)
    given_name = models.CharField(max_length=100, blank=True)
    family_name = models.CharField(max_length=100, null=True, blank=True)  # noqa: DJ001  (null in `/v1/me`)
    picture = models.ImageField(upload_to="pictures/", blank=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField("may open the admin", default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    # IANA name of the zone of the browser that signed in last, "" if unknown: for times in emails (core/time_zones.py).
    time_zone = models.CharField(max_length=64, blank=True, editable=False, default="", db_default="")
    # Whether an app that several accounts in the browser have allowed shows the account chooser.
    asks_which_account = models.BooleanField(default=True, db_default=True, editable=False)
    # Part of the session auth hash: a new value ends all sessions (accounts/sessions/browser_sessions.py). Empty until
    # first needed.
    session_stamp = models.CharField(max_length=22, blank=True, editable=False, default="")
    # User handle of its passkeys in base64url: 64 random bytes (WebAuthn Level 3, 14.6.1), once a passkey is created.
    # Older passkeys have the primary key (accounts/sessions/keys.py).
    passkey_handle = models.CharField(max_length=86, unique=True, null=True, editable=False)  # noqa: DJ001  (null is not unique)
    # Set when the owner has closed the account: it is deleted at this time unless they change their mind
    # (accounts/recovery/closing.py). It is not active either, so everything rejects it like a deactivated account.
    deletion_due_at = models.DateTimeField("to be deleted on", null=True, blank=True, editable=False)

    objects: ClassVar[AccountManager] = AccountManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        verbose_name = "person"
        verbose_name_plural = "people"
        constraints = [models.UniqueConstraint(Lower("email"), name="one_account_per_address")]
        indexes = [
            models.Index(
                fields=["deletion_due_at"], name="accounts_to_be_deleted", condition=Q(deletion_due_at__isnull=False)
            ),
            models.Index(fields=["email"], name="staff", condition=Q(is_staff=True)),
        ]

    # `is_active` as it was read from the database; None for a new account. Not a column.
    was_active: bool | None = None
    # The email address that another account gets when this one is deleted: what was sent there stays. Not a column.
    passes_on: str = ""

    def __str__(self) -> str:
        return self.email

    @classmethod
    def from_db(cls, db: str | None, field_names: Collection[str], values: Collection[Any], **options: Any) -> Self:
        account = super().from_db(db, field_names, values, **options)
        account.was_active = account.__dict__.get("is_active")
        return account

    @property
    def full_name(self) -> str:
        """The name as one text: given name, then family name; empty when neither is known."""
        return f"{self.given_name} {self.family_name or ''}".strip()

    def get_full_name(self) -> str:
        """Return the name that Django's admin shows."""
        return self.full_name

    def check_password(self, raw_password: str | None) -> bool:
        """Return whether it is the password.

        Django would also replace a hash that has fewer iterations than new ones, which ends the session of who typed
        the password, and overwrites a password that was chosen meanwhile. A sign-in does that (accounts/adapter.py).
        """
        return check_password(raw_password, self.password)

    def get_session_auth_hash(self) -> str:
        """Return the session auth hash: an HMAC of the password's hash and `session_stamp`."""
        return self._with_stamp(super().get_session_auth_hash())

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        """Yield the same hash for each key in SECRET_KEY_FALLBACKS."""
        return map(self._with_stamp, super().get_session_auth_fallback_hash())

    def _with_stamp(self, password_hash: str) -> str:
        return digest(f"{password_hash}.{self.session_stamp}") if self.session_stamp else password_hash


class PairwiseSubject(models.Model):
    """A pairwise subject identifier: the `sub` of one person in one sector (OpenID Connect Core 8.1).

    Random, so neither the account nor another sector's `sub` can be derived from it. A sector is a project's public id;
    this layer has no projects.
    """

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="subjects")
    sector = models.CharField(max_length=64)
    sub = models.CharField(max_length=64, unique=True)
    # The URL of a person's picture is different in each sector, so that URLs don't reveal that it is the same person.
    picture_key = models.CharField(max_length=43, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "sector"], name="one_subject_per_account_and_sector")]

    def __str__(self) -> str:
        return f"{self.sub} in {self.sector}"


LONGEST_NAME = 100  # the same as for an ImageField


class FileToDelete(models.Model):
    """The name of a file to delete, from the transaction that no longer needs it until its deletion from the store."""

    name = models.CharField(max_length=LONGEST_NAME)
    created_at = models.DateTimeField(auto_now_add=True)
    due_at = models.DateTimeField(db_index=True)
    attempts = models.PositiveSmallIntegerField(default=0)

    def __str__(self) -> str:
        return self.name


# An export does not count as being created for longer: all attempts have failed by then, or no worker is running.
LONGEST_MAKING = timedelta(hours=1)


class DataExport(models.Model):
    """One export: it waits until it is ready or has failed; its file is deleted before the row is (data_export/)."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="data_exports")
    asked_at = models.DateTimeField()
    attempts = models.PositiveSmallIntegerField(default=0)
    # Until then a worker is creating it, or the next attempt has to wait after a failure.
    claimed_until = models.DateTimeField(null=True)
    ready_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True, db_index=True)
    file = models.CharField(max_length=LONGEST_NAME, blank=True)  # encrypted; empty: not created yet, or deleted
    size = models.PositiveBigIntegerField(default=0)  # bytes of the ZIP as its owner gets it

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["account"], condition=Q(ready_at=None, failed_at=None), name="one_export_is_made_at_a_time"
            )
        ]

    def __str__(self) -> str:
        return f"export {self.pk}, {self.state}"

    @property
    def state(self) -> str:
        """The state: making, ready, failed or gone."""
        if self.ready_at is not None:
            return "ready" if self.file and self.expires_at and self.expires_at > clock.now() else "gone"
        return "failed" if self.failed_at is not None or self.is_stuck else "making"

    @property
    def is_stuck(self) -> bool:
        """Return whether it has been waiting for longer than creating it can take."""
        is_waiting = self.ready_at is None and self.failed_at is None
        return is_waiting and self.asked_at < clock.now() - LONGEST_MAKING
