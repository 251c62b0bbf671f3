from django.apps import AppConfig
from django.db.models.signals import post_migrate


class OperationsConfig(AppConfig):
    name = "devportal.operations"
    label = "operations"
    verbose_name = "Operations"

    def ready(self) -> None:
        # These connect receivers or register something, and are not reliably imported anywhere else.
        from devportal.operations import audit, celery_signals, task_runs, tasks  # noqa: F401  (see above)

        post_migrate.connect(task_runs.watch_tasks, sender=self)
