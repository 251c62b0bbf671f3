from django.apps import AppConfig
from django.db.models.signals import post_migrate


class OidcConfig(AppConfig):
    name = "oidc"
    verbose_name = "Sign-in service"

    def ready(self) -> None:
        from core.database import encryption
        from oidc import (
            checks,  # noqa: F401  (registers the checks)
            metrics,  # noqa: F401  (registers a receiver)
            receivers,  # noqa: F401  (registers the receivers)
            signing_keys,
            tasks,  # noqa: F401  (registers the tasks)
        )
        from oidc.events import (
            causes,  # noqa: F401  (registers the receivers)
        )
        from oidc.models import SigningKey
        from oidc.projects import (
            invitations,  # noqa: F401  (registers the samples of its mails)
            members,  # noqa: F401  (registers a receiver)
        )

        encryption.register(encryption.EncryptedColumn(SigningKey, "private_encrypted"))
        post_migrate.connect(signing_keys.create_first_key, sender=self)
