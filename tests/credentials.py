"""One credential of each kind, for tests of what all kinds share."""

from typing import Any

import pytest

from api.keys import API_KEYS
from oidc.apis.credentials import API_CREDENTIALS, create_credential
from oidc.clients.secrets import CLIENT_SECRETS
from oidc.projects.credentials import CredentialKind
from tests.factories import make_api, make_key, make_web_client

Kind = CredentialKind[Any]
each_kind = pytest.mark.parametrize("kind", [CLIENT_SECRETS, API_CREDENTIALS, API_KEYS], ids=lambda kind: kind.name)


def make_credential(kind: Kind) -> tuple[Any, str]:
    """Return a new credential and its raw value."""
    if kind is CLIENT_SECRETS:
        client, raw = make_web_client()
        return client.secrets.get(), raw
    return make_key() if kind is API_KEYS else create_credential(make_api())
