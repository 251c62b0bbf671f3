"""The fields of all credentials that this service issues: client secrets, credentials of APIs, and API keys."""

from typing import Any, TypeVar

from django.db import models

from core import clock

_Row = TypeVar("_Row", bound=models.Model, covariant=True)


class CredentialQuerySet(models.QuerySet[_Row]):
    def live(self) -> Any:
        """Return the credentials that are neither revoked nor expired."""
        return self.filter(revoked_at=None).exclude(expires_at__lte=clock.now())


class Credential(models.Model):
    """Abstract model of a credential. Only its SHA-256 and its last characters are stored."""

    digest = models.CharField(max_length=64)
    last_four = models.CharField(max_length=4)
    created_at = models.DateTimeField(auto_now_add=True)
    # From this time on it is rejected, even if `revoked_at` is not set.
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    # The IP address of the program that used it at `last_used_at`.
    last_used_address = models.GenericIPAddressField(null=True, blank=True)
    # When someone first reported it as leaked.
    leaked_at = models.DateTimeField(null=True, blank=True)

    objects = CredentialQuerySet.as_manager()

    class Meta:
        abstract = True
        indexes = [
            models.Index(fields=["digest"], name="%(class)s_by_digest"),
            models.Index(
                fields=["expires_at"],
                condition=models.Q(revoked_at=None, expires_at__isnull=False),
                name="%(class)s_by_expiry",
            ),
        ]

    @property
    def is_expired(self) -> bool:
        """Whether `expires_at` has passed. A revoked credential may also be expired."""
        return self.expires_at is not None and self.expires_at <= clock.now()

    @property
    def state(self) -> str:
        """The state of the credential: live, expired or revoked."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.is_expired else "live"
