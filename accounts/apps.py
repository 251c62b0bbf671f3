from allauth.usersessions import apps as usersessions
from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "People and plans"

    def ready(self) -> None:
        from accounts import (
            browser_accounts,  # noqa: F401  (connects the receivers)
            known_browsers,  # noqa: F401  (connects the receivers)
            metrics,  # noqa: F401  (connects the receivers)
            receivers,  # noqa: F401  (connects the receivers)
            second_factors,
            tasks,  # noqa: F401  (registers the tasks)
        )
        from accounts.activity import receivers as activity_receivers  # noqa: F401  (connects the receivers)
        from accounts.factors import recovery  # noqa: F401  (connects the receivers)
        from accounts.factors import tasks as factor_tasks  # noqa: F401  (registers the task)
        from accounts.leaving import exports  # noqa: F401  (connects the receiver)
        from accounts.leaving import tasks as leaving_tasks  # noqa: F401  (registers the tasks)
        from accounts.mail import account_samples, outbox, own_samples  # noqa: F401  (registers the samples)
        from devportal.lib import (
            encrypted_columns,
            settings_checks,  # noqa: F401  (registers the system checks)
        )
        from devportal.lib.ratelimit import checks  # noqa: F401  (registers the system check)
        from devportal.lib.telemetry import checks as telemetry_checks  # noqa: F401  (registers the system check)

        encrypted_columns.register(second_factors.COLUMN)
        for column in outbox.COLUMNS:
            encrypted_columns.register(column)


class UserSessionsConfig(usersessions.UserSessionsConfig):  # type: ignore[misc]  # allauth is untyped
    """django-allauth's list of sessions, kept by accounts/session_list.py instead of its own receivers."""

    default = False

    def ready(self) -> None:
        from accounts import session_list  # noqa: F401  (connects the receivers)
