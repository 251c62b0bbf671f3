"""The data that the commands change: an app, and a person who uses it."""

import pytest
from django.test import Client as Browser

from oidc.models import Client
from tests.relying_party import RelyingParty


@pytest.fixture
def app(spa: Client, signed_in: Browser) -> RelyingParty:
    """A browser app, and the browser of a person who is signed in."""
    return RelyingParty(spa, signed_in)
