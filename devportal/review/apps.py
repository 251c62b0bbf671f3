from django.apps import AppConfig


class ReviewConfig(AppConfig):
    name = "devportal.review"
    label = "review"
    verbose_name = "App review"

    def ready(self) -> None:
        # These connect receivers or register something, and are not reliably imported anywhere else.
        from devportal.review import tasks  # noqa: F401  (see above)
        from devportal.review.cases import app_reports, cases  # noqa: F401  (see above)
        from devportal.review.decisions import mail_samples  # noqa: F401  (see above)
        from devportal.review.evidence import tasks as evidence_tasks  # noqa: F401  (see above)
        from devportal.review.rules import snapshots, timeline  # noqa: F401  (see above)
        from devportal.review.submission import (  # noqa: F401  (see above)
            developer_actions,
            for_reviewers,
            logos,
            second_approval,
        )
