from django.apps import AppConfig


class ReviewConfig(AppConfig):
    name = "devportal.review"
    label = "review"
    verbose_name = "App review"

    def ready(self) -> None:
        # These connect receivers or register something, and are not reliably imported anywhere else.
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
