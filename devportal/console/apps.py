from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "devportal.console"
    label = "console"
    verbose_name = "Developer console"

    def ready(self) -> None:
        # These connect receivers or register something, and are not reliably imported anywhere else.
        from devportal.console import domains, failed_sign_ins, tasks  # noqa: F401  (see above)
        from devportal.console.analytics import store  # noqa: F401  (see above)
        from devportal.console.notices import causes, records, samples  # noqa: F401  (see above)
        from devportal.console.notices import tasks as notice_tasks  # noqa: F401  (see above)
        from devportal.console.playground import event_receiver  # noqa: F401  (see above)
