"""Accounts, and their pairwise subject identifiers."""

from collections.abc import Iterator
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from core.credentials import digest


class AccountManager(BaseUserManager["Account"]):
    """Creates accounts. Email addresses are stored in lower case, so that there is one account per address."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "Account":
        account = self.model(email=email.strip().lower(), **fields)
        account.set_password(password)
        account.save(using=self._db)
        return account

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "Account":
        """Create a superuser; `manage.py createsuperuser` calls this."""
        return self.create_user(email, password, is_staff=True, is_superuser=True, email_verified=True, **fields)

    def get_by_natural_key(self, username: str | None) -> "Account":
        return self.get(email=(username or "").lower())


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
    # Part of the session auth hash: a new value ends all sessions (accounts/sessions.py). Empty until first needed.
    session_stamp = models.CharField(max_length=22, blank=True, editable=False, default="")
    # Set when the owner has closed the account: it is deleted at this time unless they change their mind
    # (accounts/deletion/closing.py). It is not active either, so everything rejects it like a deactivated account.
    deletion_due_at = models.DateTimeField("to be deleted on", null=True, blank=True, editable=False)

    objects: ClassVar[AccountManager] = AccountManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="one_account_per_address")]
        indexes = [
            models.Index(
                fields=["deletion_due_at"], name="accounts_to_be_deleted", condition=Q(deletion_due_at__isnull=False)
            )
        ]

    def __str__(self) -> str:
        return self.email

    @property
    def full_name(self) -> str:
        """The name as one text: given name, then family name; empty when neither is known."""
        return f"{self.given_name} {self.family_name or ''}".strip()

    def get_full_name(self) -> str:
        """Return the name that Django's admin shows."""
        return self.full_name

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
