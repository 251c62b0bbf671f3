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
            tasks,  # noqa: F401  (registers the tasks)
        )
        from oidc.domains import tasks as domain_tasks  # noqa: F401  (registers the tasks)
        from oidc.models import SigningKey
        from oidc.projects import (
            mail_samples,  # noqa: F401  (registers the samples)
            members,  # noqa: F401  (registers a receiver)
        )
        from oidc.signing_keys import rotation

        encryption.register(encryption.EncryptedColumn(SigningKey, "private_encrypted"))
        post_migrate.connect(rotation.create_first_key, sender=self)
