"""No secret, and nothing that proves or finds one, is rendered by any page of the admin, to anyone."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from allauth.usersessions.models import UserSession
from django.apps import apps
from django.conf import settings
from django.contrib.sessions.models import Session
from django.test import Client as Browser

from tests.devportal.admin.conftest import World
from tests.devportal.admin.crawling import crawl, unlinked

TOTP_SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
# Columns whose names say that they hold a secret, a digest of one, or a key to one.
SECRET_COLUMN = re.compile(r"digest|password|checksum|session_key|session_data|private|^token$|^code$|^data$|secret$")
# Named like one, and none: what the API answered, what a card of a list says.
HARMLESS = {
    "api.RequestLog.code",
    "api.UsageBucket.code",
    "oidc.Client.client_secret",
    "oidc.Client.hash_client_secret",
}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, str):
        yield value


def stored_secrets() -> dict[str, str]:
    """Return what is in every column that is named like a secret, by the column's name."""
    found: dict[str, str] = {}
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            name = f"{model._meta.label}.{field.name}"
            if SECRET_COLUMN.search(field.name) and name not in HARMLESS:
                for value in model._default_manager.values_list(field.name, flat=True):
                    found |= {text: name for text in _texts(value) if len(text) > 8}
    return found


@pytest.fixture
def canaries(world: World, as_superuser: Browser, as_operator: Browser, as_reviewer: Browser) -> dict[str, str]:
    """Everything secret that there is, by its text."""
    TOTP.activate(world.person, TOTP_SECRET)
    codes = RecoveryCodes.activate(world.person).get_unused_codes()
    stored = stored_secrets()
    tables = {name.rpartition(".")[0] for name in stored.values()}
    wanted = {model._meta.label for model in (Authenticator, Session, UserSession)}
    wanted |= {"accounts.Account", "api.ApiKey", "oidc.ClientSecret", "oidc.SigningKey"}
    wanted |= {"oidc.AuthorizationCode", "oidc.AccessToken", "oidc.RefreshToken"}
    assert tables >= wanted, "a secret of each kind is stored"
    given = dict.fromkeys((*world.raw, TOTP_SECRET, *codes), "given out")
    own = {settings.SECRET_KEY: "SECRET_KEY", settings.KEY_ENCRYPTION_KEY: "KEY_ENCRYPTION_KEY"}
    return stored | given | own


@pytest.mark.slow
@pytest.mark.parametrize("who", ["as_superuser", "as_operator", "as_reviewer"])
def test_no_admin_page_shows_a_secret_or_fails(
    request: pytest.FixtureRequest, canaries: dict[str, str], who: str
) -> None:
    pages, unlinked_urls = crawl(request.getfixturevalue(who)), set(unlinked())
    assert sum(page.status == 200 for page in pages) > (30 if who != "as_reviewer" else 0)
    for page in pages:
        assert page.status < 500, page.url
        found = {name for secret, name in canaries.items() if secret in page.text}
        assert not found, f"{page.url} shows {found}"
        assert page.status < 400 or page.url in unlinked_urls, f"a link leads to {page.url}: {page.status}"


def test_the_page_check_finds_a_planted_secret(canaries: dict[str, str], as_superuser: Browser, world: World) -> None:
    """The columns of rows that are shown are among the canaries: what is looked for could be found."""
    assert world.key.digest in canaries
    assert world.person.password in canaries
    assert world.key.last_four in as_superuser.get(f"/admin/api/apikey/{world.key.pk}/change/").content.decode()


@pytest.mark.parametrize("column", ["digest__startswith", "owner__password__startswith", "digest", "project__name"])
def test_encrypted_columns_can_not_be_filtered_by_query(as_operator: Browser, world: World, column: str) -> None:
    response = as_operator.get(f"/admin/api/apikey/?{column}={world.key.digest[:4]}")
    assert response.status_code == 400
