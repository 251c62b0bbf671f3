"""Signing keys: RSA, encrypted at rest."""

from typing import Any

from django.db import models


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
