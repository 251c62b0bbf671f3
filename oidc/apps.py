from django.apps import AppConfig
from django.db.models.signals import post_migrate


class OidcConfig(AppConfig):
    name = "oidc"
    verbose_name = "Sign-in service"

    def ready(self) -> None:
        from oidc import checks, keys, members, removal  # noqa: F401  (register checks and receivers)

        post_migrate.connect(keys.make_first_key, sender=self)
