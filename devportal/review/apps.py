from django.apps import AppConfig


class ReviewConfig(AppConfig):
    name = "devportal.review"
    label = "review"
    verbose_name = "App review"

    def ready(self) -> None:
        # They connect receivers or register something, and are nowhere else sure to be imported.
        from devportal.review import (  # noqa: F401  (see above)
            app_reports,
            cases,
            developer_actions,
            for_reviewers,
            logos,
            mail_samples,
            second_approval,
            snapshots,
            tasks,
            timeline,
        )
        from devportal.review.evidence import tasks as evidence_tasks  # noqa: F401  (see above)
