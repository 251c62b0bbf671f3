from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "devportal.console"
    label = "console"
    verbose_name = "Developer console"
