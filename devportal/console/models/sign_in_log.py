"""The sign-in log."""

from typing import Any

from django.conf import settings
from django.db import models

from devportal.lib.postgres.replica import table_from_replica
from oidc.reason_texts import developer_text
from oidc.sign_in_steps import Outcome


@table_from_replica
class SignInEvent(models.Model):
    """One step of a sign-in to a client, without credentials and personal data."""

    Outcome = Outcome

    client = models.ForeignKey(settings.OAUTH2_PROVIDER_APPLICATION_MODEL, models.CASCADE, related_name="sign_ins")
    at = models.DateTimeField()
    endpoint = models.CharField(max_length=12)  # one of sign_in_steps.Endpoint
    outcome = models.CharField(max_length=10, choices=Outcome.choices)
    error = models.CharField(max_length=40, blank=True)
    # A code of oidc/reasons.py, and the values of its text's placeholders.
    reason = models.CharField(max_length=40, blank=True)
    parameters: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    redirect_uri = models.TextField(blank=True)  # as received, without what looks like a secret
    request_id = models.CharField(max_length=64)
    # Of the family (oidc.models.TokenFamily) that the step belongs to, so that the steps of one sign-in are found
    # beside each other; None for a step that has none, as a refused request.
    family = models.BigIntegerField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["client", "-id"], name="sign_ins_of_a_client"),
            models.Index(fields=["request_id"], name="sign_ins_by_request_id"),
            models.Index(fields=["at"], name="sign_ins_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.outcome} at {self.at}"

    @property
    def reason_text(self) -> str:
        """The reason as a sentence for the app's developer, "" without one."""
        return developer_text(self.reason, self.parameters) if self.reason else ""
