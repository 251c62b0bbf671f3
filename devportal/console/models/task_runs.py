"""When each periodic task last succeeded."""

from django.db import models


class TaskRun(models.Model):
    """The last runs of one periodic task, by its Celery name."""

    task = models.CharField(max_length=100, unique=True)
    # Since when it is expected to run: the migration that brought it.
    watched_since = models.DateTimeField()
    succeeded_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    seconds = models.FloatField(default=0)  # that the last success took

    def __str__(self) -> str:
        return self.task
