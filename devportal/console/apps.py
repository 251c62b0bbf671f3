from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ConsoleConfig(AppConfig):
    name = "devportal.console"
    label = "console"
    verbose_name = "Developer console"

    def ready(self) -> None:
        # They connect receivers or register something, and are nowhere else sure to be imported.
        from devportal.console import audit, stopped_sign_ins, tasks  # noqa: F401  (see above)
        from devportal.console.analytics import store  # noqa: F401  (see above)
        from devportal.console.app_pages import reports  # noqa: F401  (see above)
        from devportal.console.domains import mail_samples, notices  # noqa: F401  (see above)
        from devportal.console.operations import celery_signals, task_runs  # noqa: F401  (see above)
        from devportal.console.reviews import (  # noqa: F401  (see above)
            case_mail_samples,
            change_cases,
            domain_cases,
            logos,
            second_approval,
            test_accounts,
            timeline,
        )
        from devportal.console.reviews import mail_samples as review_mail_samples  # noqa: F401  (see above)
        from devportal.console.reviews.evidence import tasks as evidence_tasks  # noqa: F401  (see above)
        from devportal.console.search import sections  # noqa: F401  (see above)

        post_migrate.connect(task_runs.watch_tasks, sender=self)
