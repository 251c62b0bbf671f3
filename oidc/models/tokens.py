"""Codes, tokens and signing keys: the library's models, swapped. Raw values are never stored."""

from typing import Any, ClassVar

from django.db import models
from oauth2_provider.models import (
    AbstractAccessToken,
    AbstractGrant,
    AbstractIDToken,
    AbstractRefreshToken,
)

from oidc.models.connections import Connection
from oidc.reasons import REVOCATION_REASONS


class SigningKey(models.Model):
    """A signing key: next (published, not signing yet), active (signing) or retired. States only move forward."""

    class State(models.TextChoices):
        NEXT = "next"
        ACTIVE = "active"
        RETIRED = "retired"

    kid = models.CharField(max_length=64, unique=True)
    private_encrypted = models.TextField(editable=False)
    public_jwk: "models.JSONField[Any, Any]" = models.JSONField()
    state = models.CharField(max_length=7, choices=State.choices)
    created_at = models.DateTimeField()
    activated_at = models.DateTimeField(null=True, blank=True)
    retired_at = models.DateTimeField(null=True, blank=True)
    # When a retired key was taken out of publication before its time, after a leak.
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["state"], condition=models.Q(state="active"), name="one_active_signing_key"
            ),
            models.UniqueConstraint(fields=["state"], condition=models.Q(state="next"), name="one_next_signing_key"),
        ]

    def __str__(self) -> str:
        return f"{self.kid} ({self.state})"


class TokenFamily(models.Model):
    """A token family: one authorization, with all tokens issued from its code. Revoking it is one update."""

    connection = models.ForeignKey(Connection, models.CASCADE, related_name="families")
    scope = models.TextField()
    nonce = models.TextField(blank=True, default="")
    # When and how the person signed in, as of the authorization (OpenID Connect Core 2, RFC 8176).
    auth_time = models.DateTimeField()
    amr: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    # The claims `acr` and `amr` of its tokens, as JSON; None: they say nothing of it. Text to the database, read as
    # it is: a conversion would cost every exchange and refresh.
    told_authentication = models.TextField(null=True, blank=True)  # noqa: DJ001  (None: nothing is told)
    created_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    revocation_reason = models.CharField(
        max_length=40, blank=True, default="", choices=[(reason.value, reason.value) for reason in REVOCATION_REASONS]
    )
    # What an operator who ended it tells the app's developers.
    revocation_note = models.CharField(max_length=40, blank=True, default="")

    class Meta:
        db_table = "oidc_family"
        verbose_name_plural = "token families"

    def __str__(self) -> str:
        return f"Token family {self.pk}"


class AuthorizationCode(AbstractGrant):  # type: ignore[misc]
    """An authorization code, hashed (in `code`), consumed at most once; kept afterwards to detect replay."""

    family = models.OneToOneField(TokenFamily, models.CASCADE, related_name="code")
    # The pending request that it answers: submitting the consent form twice leaves one live code.
    request_key = models.CharField(max_length=64, db_index=True)
    consumed_at = models.DateTimeField(null=True, blank=True)
    # The library's column has 255 characters; clients may send longer ones, which the family stores.
    nonce = models.TextField(blank=True, default="")

    objects: ClassVar["models.Manager[AuthorizationCode]"] = models.Manager()

    class Meta:
        indexes = [models.Index(fields=["expires"], name="codes_by_expiry")]


class AccessToken(AbstractAccessToken):  # type: ignore[misc]
    """An access token's checksum; the token itself is a signed JWT that only its holder has."""

    family = models.ForeignKey(TokenFamily, models.CASCADE, related_name="access_tokens")
    # Whether the token was used, which shows that its response arrived. None where lost responses are not forgiven.
    used = models.BooleanField(null=True, editable=False)

    objects: ClassVar["models.Manager[AccessToken]"] = models.Manager()

    class Meta:
        indexes = [models.Index(fields=["expires"], name="access_tokens_by_expiry")]

    def __str__(self) -> str:
        return f"Access token {self.pk}"


class RefreshToken(AbstractRefreshToken):  # type: ignore[misc]
    """A refresh token's checksum. `revoked` is the moment it was superseded by the next of its family.

    `next_checksum` and `next_access_checksum` are those of the response that superseded it, if its client forgives lost
    responses: they find a response that was lost. None otherwise, and where a response was replaced.
    """

    # In place of the library's family id: a foreign key to Family.
    token_family = None
    family = models.ForeignKey(TokenFamily, models.CASCADE, related_name="refresh_tokens")
    expires = models.DateTimeField()
    next_checksum = models.CharField(max_length=64, null=True, editable=False)  # noqa: DJ001  (None: nothing is known)
    next_access_checksum = models.CharField(max_length=64, null=True, editable=False)  # noqa: DJ001  (as above)

    objects: ClassVar["models.Manager[RefreshToken]"] = models.Manager()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["token_checksum"], name="one_row_per_refresh_token")
        ]
        indexes = [models.Index(fields=["expires"], name="refresh_tokens_by_expiry")]

    def __str__(self) -> str:
        return f"Refresh token {self.pk}"


class IDToken(AbstractIDToken):  # type: ignore[misc]
    """Never stored: an ID token proves itself by its signature. The library wants the model to exist."""
