from importlib import import_module

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "devportal.console"
    label = "console"
    verbose_name = "Developer console"

    def ready(self) -> None:
        # What connects receivers is nowhere else sure to be imported.
        for receivers in ("audit", "reviews.logos", "reviews.timeline"):
            import_module(f"devportal.console.{receivers}")
