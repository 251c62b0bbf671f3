from django.apps import AppConfig
from django.db.models.signals import post_migrate


class OidcConfig(AppConfig):
    name = "oidc"
    verbose_name = "Sign-in service"

    def ready(self) -> None:
        from accounts.deletion.deleting import BLOCKER_TEXTS
        from core.database import encryption
        from core.http.sessions import MERGED_BY_FIELD
        from oidc import (
            checks,  # noqa: F401  (registers the checks)
            receivers,  # noqa: F401  (registers the receivers)
            tasks,  # noqa: F401  (registers the tasks)
        )
        from oidc.authorization import interactions
        from oidc.events import (
            causes,  # noqa: F401  (registers the receivers)
        )
        from oidc.models import SigningKey
        from oidc.projects import (
            invitations,  # noqa: F401  (registers the samples of its mails)
            members,  # noqa: F401  (registers a receiver)
        )
        from oidc.tokens import signing_keys

        encryption.register(encryption.EncryptedColumn(SigningKey, "private_encrypted"))
        text = "You are the only owner of the project {project}: hand it over or delete it first."
        BLOCKER_TEXTS["last_owner"] = text
        # Two tabs may show the same request: what one notes about it must not undo what the other one has noted.
        MERGED_BY_FIELD.add(interactions.SESSION_KEY)
        post_migrate.connect(signing_keys.create_first_key, sender=self)
