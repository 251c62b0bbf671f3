"""Tokens in forms, so that each form does its work once."""

from django.conf import settings
from django.db import models


class IdempotencyToken(models.Model):
    """A form that did its work, known by the token in it; kept for a day, so that a repeat is noticed."""

    token = models.CharField(max_length=32, unique=True)
    account = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    at = models.DateTimeField(db_index=True)
    # The public id of what it made: a repeat leads there. Never a secret.
    made = models.CharField(max_length=255, blank=True, default="")

    class Meta:
        db_table = "console_sentform"

    def __str__(self) -> str:
        return f"{self.token[:6]}… at {self.at}"
