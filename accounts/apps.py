from allauth.usersessions import apps as usersessions
from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "People and plans"

    def ready(self) -> None:
        # These register receivers, tasks, checks and samples, and are not reliably imported anywhere else.
        from accounts import receivers, tasks  # noqa: F401  (see above)
        from accounts.admin import mail_samples  # noqa: F401  (see above)
        from accounts.data_export import exports  # noqa: F401  (see above)
        from accounts.data_export import tasks as export_tasks  # noqa: F401  (see above)
        from accounts.factors import receivers as activity_receivers  # noqa: F401  (see above)
        from accounts.mail import outbox
        from accounts.recovery import tasks as recovery_tasks  # noqa: F401  (see above)
        from accounts.recovery import waiting  # noqa: F401  (see above)
        from accounts.sessions import browser_accounts, keys, known_browsers  # noqa: F401  (see above)
        from core import settings_checks  # noqa: F401  (see above)
        from core.database import encryption, first_migrations  # noqa: F401  (see above)
        from core.limits import checks  # noqa: F401  (see above)
        from core.telemetry import tracing  # noqa: F401  (see above)

        encryption.register(keys.UNREADABLE_COLUMN)
        for column in outbox.COLUMNS:
            encryption.register(column)


class UserSessionsConfig(usersessions.UserSessionsConfig):  # type: ignore[misc]  # allauth is untyped
    """django-allauth's list of sessions, kept by accounts/sessions/browser_sessions.py instead of its own receivers."""

    default = False

    def ready(self) -> None:
        from accounts.sessions import browser_sessions  # noqa: F401  (connects the receivers)
