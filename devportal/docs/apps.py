from django.apps import AppConfig


class DocsConfig(AppConfig):
    name = "devportal.docs"
    label = "docs"
    verbose_name = "Documentation"

    def ready(self) -> None:
        # These connect receivers or register something, and are not reliably imported anywhere else.
        from devportal.docs import search  # noqa: F401  (see above)
