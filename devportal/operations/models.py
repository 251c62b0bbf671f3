"""Tables of operations: the audit trail, and when each periodic task last ran."""

from typing import Any

from django.conf import settings
from django.db import models

from core.database.postgres.replica import table_from_replica


@table_from_replica
class AuditEvent(models.Model):
    """An audit event: an action of a person or of the service. Rows are never changed, and only deleted by age.

    `actor_email` is the actor's address at that time. Deleting the account empties it, and `target` where that
    is their address.
    """

    at = models.DateTimeField()
    action = models.CharField(max_length=60)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    actor_email = models.CharField(max_length=254, blank=True)
    ip = models.GenericIPAddressField(null=True)
    request_id = models.CharField(max_length=64, blank=True)
    # A public id, not a foreign key: events outlive projects.
    project = models.CharField(max_length=32, blank=True)
    target = models.CharField(max_length=255, blank=True)
    # The account whose email address `target` contains, if it is one.
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


class TaskRun(models.Model):
    """The last runs of one periodic task, by its Celery name."""

    task = models.CharField(max_length=100, unique=True)
    # Since when it is expected to run: the time of the first migration with this task.
    watched_since = models.DateTimeField()
    succeeded_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    seconds = models.FloatField(default=0)  # duration of the last successful run

    def __str__(self) -> str:
        return self.task
