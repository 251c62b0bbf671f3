from allauth.usersessions import apps as usersessions
from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "People and plans"

    def ready(self) -> None:
        # These register receivers, tasks, checks and samples, and are not reliably imported anywhere else.
        from accounts import browser_accounts, known_browsers, receivers, tasks  # noqa: F401  (see above)
        from accounts.activity import receivers as activity_receivers  # noqa: F401  (see above)
        from accounts.data_export import exports  # noqa: F401  (see above)
        from accounts.data_export import tasks as export_tasks  # noqa: F401  (see above)
        from accounts.factors import keys, recovery  # noqa: F401  (see above)
        from accounts.factors import tasks as factor_tasks  # noqa: F401  (see above)
        from accounts.mail import outbox, own_samples  # noqa: F401  (see above)
        from core import settings_checks  # noqa: F401  (see above)
        from core.database import encryption
        from core.limits import checks  # noqa: F401  (see above)
        from core.telemetry import tracing  # noqa: F401  (see above)

        encryption.register(keys.UNREADABLE_COLUMN)
        for column in outbox.COLUMNS:
            encryption.register(column)


class UserSessionsConfig(usersessions.UserSessionsConfig):  # type: ignore[misc]  # allauth is untyped
    """django-allauth's list of sessions, kept by accounts/sessions.py instead of its own receivers."""

    default = False

    def ready(self) -> None:
        from accounts import sessions  # noqa: F401  (connects the receivers)
