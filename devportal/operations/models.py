"""The table of operations: when each periodic task last ran."""

from django.db import models


class TaskRun(models.Model):
    """The last runs of one periodic task, by its Celery name."""

    task = models.CharField(max_length=100, unique=True)
    # Since when it is expected to run: the time of the first migration with this task.
    watched_since = models.DateTimeField()
    succeeded_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    seconds = models.FloatField(default=0)  # duration of the last successful run

    class Meta:
        verbose_name = "periodic task"

    def __str__(self) -> str:
        return self.task
