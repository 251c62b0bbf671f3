"""Idempotency tokens of submitted forms (devportal/console/idempotency.py)."""

from django.conf import settings
from django.db import models


class IdempotencyToken(models.Model):
    """The idempotency token of a form that was processed; kept for a day."""

    token = models.CharField(max_length=32, unique=True)
    account = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    at = models.DateTimeField(db_index=True)
    # The public id of the created object, to which a repeated submission redirects. Never a secret.
    made = models.CharField(max_length=255, blank=True, default="")

    class Meta:
        db_table = "console_sentform"

    def __str__(self) -> str:
        return f"{self.token[:6]}… at {self.at}"
