"""Codes, tokens and signing keys, which replace the library's models. Raw values are never stored."""

from typing import Any, ClassVar

from django.db import models
from oauth2_provider.models import (
    AbstractAccessToken,
    AbstractGrant,
    AbstractIDToken,
    AbstractRefreshToken,
)

from oidc.models.projects import Connection
from oidc.values.reasons import REVOCATION_REASONS


class SigningKey(models.Model):
    """A signing key: next (published, does not sign yet), active (signs) or retired. States only move forward."""

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
    # When a retired key was withdrawn early, after a leak.
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
    """A token family: one authorization with all tokens issued from its code. One update revokes it."""

    connection = models.ForeignKey(Connection, models.CASCADE, related_name="families")
    scope = models.TextField()
    nonce = models.TextField(blank=True, default="")
    # When and how the person signed in for this authorization (OpenID Connect Core 2, RFC 8176).
    auth_time = models.DateTimeField()
    amr: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    # The claims `acr` and `amr` of its tokens as JSON; None if the tokens contain neither. A TextField, because a
    # JSONField would convert it in every code exchange and refresh.
    authentication_claims = models.TextField(null=True, blank=True)  # noqa: DJ001  (None: no claims)
    # The app's id of the browser session (OpenID Connect Back-Channel Logout 1.0, 2.1), and the session's tag while the
    # app has not been told that it ended (docs/events.md#sessions). "" if the authorization has no browser session.
    sid = models.CharField(max_length=43, blank=True, default="", db_default="", editable=False)
    session_tag = models.CharField(max_length=22, blank=True, default="", db_default="", editable=False)
    created_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    revocation_reason = models.CharField(
        max_length=40, blank=True, default="", choices=[(reason.value, reason.value) for reason in REVOCATION_REASONS]
    )
    # A note for the app's developers from the operator who ended it.
    revocation_note = models.CharField(max_length=40, blank=True, default="")

    class Meta:
        db_table = "oidc_family"
        verbose_name_plural = "token families"
        indexes = [
            models.Index(fields=["session_tag"], condition=~models.Q(session_tag=""), name="families_of_a_session")
        ]

    def __str__(self) -> str:
        return f"Token family {self.pk}"


class AuthorizationCode(AbstractGrant):  # type: ignore[misc]
    """An authorization code, stored as a hash in `code`. It is consumed at most once and kept to detect replay."""

    family = models.OneToOneField(TokenFamily, models.CASCADE, related_name="code")
    # The key of the pending request, so that submitting the consent form twice leaves only one live code.
    request_key = models.CharField(max_length=64, db_index=True)
    consumed_at = models.DateTimeField(null=True, blank=True)
    # Whether the app sent `resource` (RFC 8707), so that its tokens work at one API alone.
    sent_resource = models.BooleanField(default=False, db_default=False, editable=False)
    # Not used: clients may send longer values than the library's column can hold, so the family stores the nonce.
    nonce = models.TextField(blank=True, default="")

    objects: ClassVar["models.Manager[AuthorizationCode]"] = models.Manager()

    class Meta:
        indexes = [models.Index(fields=["expires"], name="codes_by_expiry")]


class AccessToken(AbstractAccessToken):  # type: ignore[misc]
    """An access token's checksum. The token itself is a signed JWT that only its holder has.

    `scope` includes the identity scopes, which a token for another API than `/v1` does not name, if it also works at
    userinfo (docs/sign-in.md#resource-indicators).
    """

    family = models.ForeignKey(TokenFamily, models.CASCADE, related_name="access_tokens")
    # Whether the token was used, which shows that its response arrived. None if lost responses are not forgiven.
    used = models.BooleanField(null=True, editable=False)

    objects: ClassVar["models.Manager[AccessToken]"] = models.Manager()

    class Meta:
        indexes = [models.Index(fields=["expires"], name="access_tokens_by_expiry")]

    def __str__(self) -> str:
        return f"Access token {self.pk}"


class RefreshToken(AbstractRefreshToken):  # type: ignore[misc]
    """A refresh token's checksum. `revoked` is when the next token of its family superseded it.

    If lost responses are forgiven for its client, `next_checksum` and `next_access_checksum` are the checksums of the
    tokens in the response that superseded it, to find a response that was lost. Otherwise they are None.

    `sent_resource` is True if the app sent `resource` for the authorization, for its code, or for a refresh since.
    """

    # `family`, a foreign key, replaces the library's `token_family`.
    token_family = None
    family = models.ForeignKey(TokenFamily, models.CASCADE, related_name="refresh_tokens")
    expires = models.DateTimeField()
    next_checksum = models.CharField(max_length=64, null=True, editable=False)  # noqa: DJ001  (None: not stored)
    next_access_checksum = models.CharField(max_length=64, null=True, editable=False)  # noqa: DJ001  (as above)
    sent_resource = models.BooleanField(default=False, db_default=False, editable=False)

    objects: ClassVar["models.Manager[RefreshToken]"] = models.Manager()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["token_checksum"], name="one_row_per_refresh_token")
        ]
        indexes = [models.Index(fields=["expires"], name="refresh_tokens_by_expiry")]

    def __str__(self) -> str:
        return f"Refresh token {self.pk}"


class IDToken(AbstractIDToken):  # type: ignore[misc]
    """Never stored, because an ID token is verified by its signature. The library requires the model to exist."""
