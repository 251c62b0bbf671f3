from importlib import import_module

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "devportal.console"
    label = "console"
    verbose_name = "Developer console"

    def ready(self) -> None:
        import_module("devportal.console.audit")  # connects its receivers
