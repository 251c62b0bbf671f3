from django.apps import AppConfig


class DocsConfig(AppConfig):
    name = "devportal.docs"
    label = "docs"
    verbose_name = "Documentation"

    def ready(self) -> None:
        # They connect receivers or register something, and are nowhere else sure to be imported.
        from devportal.docs import search  # noqa: F401  (see above)
