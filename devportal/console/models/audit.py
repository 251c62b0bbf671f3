"""The audit trail: who did what, from where, what was there before and after. Never a secret."""

from typing import Any

from django.conf import settings
from django.db import models


class AuditEvent(models.Model):
    """One thing that somebody, or the service itself, did. Rows are added and never changed.

    `actor_email` says who it was under the address of that day. Deleting a person empties it, and `target` where that
    is their address.
    """

    at = models.DateTimeField()
    action = models.CharField(max_length=60)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    actor_email = models.CharField(max_length=254, blank=True)
    ip = models.GenericIPAddressField(null=True)
    request_id = models.CharField(max_length=64, blank=True)
    # A public id, not a key: the trail outlives what it tells of.
    project = models.CharField(max_length=32, blank=True)
    target = models.CharField(max_length=255, blank=True)
    # Whose address `target` is, where it is one and somebody's.
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    before: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    after: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    details: "models.JSONField[Any, Any]" = models.JSONField(default=dict)

    class Meta:
        indexes = [
            models.Index(fields=["project", "-id"], name="audit_of_a_project"),
            models.Index(fields=["request_id"], name="audit_by_request_id"),
            models.Index(fields=["target", "-id"], name="audit_of_a_target"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.target}"
