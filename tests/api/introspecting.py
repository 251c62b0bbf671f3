"""Introspection requests of an API's server."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from django.test import Client as Browser

from accounts.models import Account
from api.models import ApiKey
from core import clock
from oidc.apis.credentials import create_credential
from oidc.apis.registry import reload_registry
from oidc.models import Api, ApiCredential, ApiScope, Client, Connection, Project, TokenFamily
from tests.factories import make_api
from tests.relying_party import FORM

PATH = "/connect/introspect"
INACTIVE = {"active": False}


def basic(public_id: str, secret: str) -> str:
    """Return an Authorization header, form-encoded (RFC 6749 §2.3.1)."""
    return "Basic " + base64.b64encode(f"{quote(public_id)}:{quote(secret)}".encode()).decode()


def post(form: dict[str, Any] | str, authorization: str | None = None, **extra: Any) -> Any:
    """Send a form to the introspection endpoint."""
    body = form if isinstance(form, str) else urlencode(form, doseq=True)
    headers = {} if authorization is None else {"Authorization": authorization}
    browser = Browser(enforce_csrf_checks=True, raise_request_exception=False)
    return browser.post(PATH, body, content_type=FORM, headers=headers, **extra)


@dataclass
class Server:
    """The server of an API, with its credential."""

    api: Api
    row: ApiCredential
    secret: str

    @property
    def authorization(self) -> str:
        return basic(self.row.public_id, self.secret)

    def ask(self, token: str, **form: str) -> Any:
        """Return the response about a token."""
        return post({"token": token} | form, self.authorization)

    def learn(self, token: str) -> dict[str, Any]:
        """Return the body of a response about a token, which is always 200."""
        response = self.ask(token)
        assert response.status_code == 200, response.content
        assert response["Cache-Control"] == "no-store"
        body: dict[str, Any] = response.json()
        return body


def make_server(slug: str = "calendar", **fields: Any) -> Server:
    api = make_api(slug, **fields)
    return Server(api, *create_credential(api))


def change_api(**fields: Any) -> None:
    """Change all APIs, and let this process know."""
    Api.objects.update(**fields)
    reload_registry()


def remove_scopes() -> None:
    ApiScope.objects.all().delete()
    reload_registry()


def close_to_keys() -> None:
    ApiScope.objects.update(api_keys=False)
    reload_registry()


# What ends access tokens, and what ends API keys.
ENDS_OF_BOTH: dict[str, Callable[[], object]] = {
    "the project is suspended": lambda: Project.objects.update(suspended_at=clock.now()),
    "the project is deleted": lambda: Project.objects.update(deleted_at=clock.now()),
    "the person is deactivated": lambda: Account.objects.update(is_active=False),
}
ENDS_OF_TOKENS = ENDS_OF_BOTH | {
    "the family is revoked": lambda: TokenFamily.objects.update(revoked_at=clock.now()),
    "access is removed": lambda: Connection.objects.update(removed_at=clock.now()),
    "the app is turned off": lambda: Client.objects.update(enabled=False),
}
ENDS_OF_KEYS = ENDS_OF_BOTH | {"the key is revoked": lambda: ApiKey.objects.update(revoked_at=clock.now())}
