from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "api"
    verbose_name = "Developer API"

    def ready(self) -> None:
        from api import (
            checks,  # noqa: F401  (registers the check)
            keys,  # noqa: F401  (connects the receivers)
            me,  # noqa: F401  (registers the endpoint)
            plan,  # noqa: F401  (registers the endpoint)
            tasks,  # noqa: F401  (registers the tasks)
        )
