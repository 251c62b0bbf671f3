"""Test what each guide to protect an API has to show: which tokens its API accepts, and which it rejects."""

import itertools
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from devportal.docs.guides.registry import GUIDES
from tests.clients.apis import READ, SCARCE, SCARCE_CALLS, WRITE, Credential
from tests.clients.app import App
from tests.clients.ended_sessions import remove_app
from tests.clients.person import PASSWORD, Person
from tests.clients.terminal import Code
from tests.guides.reading import ADA, OpenGuide
from tests.services import keeper
from tests.services.service import Service

# The port of the API itself in the guides for proxies.
PORT_BEHIND_PROXY = "3101"
_readings = itertools.count(1)


@dataclass
class ProtectedApi:
    """The API of a guide, an app that calls it, and its person."""

    guide: OpenGuide
    app: App
    key: str
    scarce: Credential

    def tokens(self, scope: str) -> dict[str, str]:
        """Sign the person in with these scopes, and return the tokens."""
        arrived_at = self.guide.person.go(self.app.authorization_url(scope=f"openid {scope}"))
        answer: dict[str, str] = self.app.exchange(parse_qs(urlsplit(arrived_at).query)["code"][0]).json()
        return answer

    def token(self, scope: str) -> str:
        return self.tokens(scope)["access_token"]

    def call(self, token: str | None, method: str = "GET", query: str = "", **headers: str) -> httpx.Response:
        """List the events, or add one with POST."""
        sent = headers | ({"Authorization": f"Bearer {token}"} if token else {})
        body = {"title": "Lunch"} if method == "POST" else None
        return httpx.request(method, f"{self.guide.origin}/events{query}", headers=sent, json=body, timeout=20)

    def remove_app(self) -> None:
        """Remove the app as the person does, under Connected apps."""
        remove_app(self.guide.person)


def open_api_guide(service: Service, name: str, folder: Path, credentials: dict[str, Credential]) -> ProtectedApi:
    """Read a guide as the author of an API does, and register an app that calls this API."""
    guide, port = GUIDES[f"protect-{name}"], keeper.free_port()
    number = next(_readings)
    owner, ada = f"protect-{name}@example.com", f"ada.{number}.protect-{name}@example.com"
    app = App(service, f"http://localhost:{keeper.free_port()}", f"{guide.title} app {number}")
    key = {"name": f"Key {number}", "owner": owner, "permissions": [READ]}
    declared = service.provision(
        people=[{"email": owner, "password": PASSWORD, "given_name": "Grace"}, ADA | {"email": ada}],
        projects=[{"name": guide.title, "owner": owner, "clients": [app.declaration()], "api_keys": [key]}],
    )
    app.take_credentials(declared)
    page = httpx.get(f"{service.address}/docs/guides/{guide.name}", params={"api": "calendar"})
    assert page.status_code == 200
    shown = page.text.replace(str(urlsplit(guide.redirect_uri).port), str(port))
    blocks = Code(shown.replace(PORT_BEHIND_PROXY, str(keeper.free_port()))).blocks
    client: dict[str, Any] = {"redirect_uris": [f"http://localhost:{port}"]}
    opened = OpenGuide(guide, service, folder, client, Person(service, ada), blocks, credentials["calendar"].env)
    secret = next(key["key"] for key in declared["projects"][0]["api_keys"] if key["key"])
    return ProtectedApi(opened, app, secret, credentials["scarce"])


def check_calls(api: ProtectedApi, call: str, *, names_scope: bool = True) -> None:
    """Call the API with each kind of token; `call` is the guide's own command.

    `names_scope` is False for libraries that don't say which scope is missing.
    """
    reading, both = api.tokens(READ), api.token(f"{READ} {WRITE}")
    assert '"events":[' in api.guide.finish(call, ACCESS_TOKEN=reading["access_token"]).replace(" ", "")
    added = api.call(both, "POST")
    assert added.status_code in (200, 201), added.text
    listed = api.call(reading["access_token"])
    assert listed.status_code == 200, listed.text
    assert "Lunch" in listed.text
    claims = httpx.get(f"{api.app.service.address}/v1/me", headers={"Authorization": f"Bearer {api.token('email')}"})
    assert listed.json()["owner"] == claims.json()["id"]

    missing = api.call(reading["access_token"], "POST")
    assert missing.status_code == 403, missing.text
    assert "insufficient_scope" in missing.headers["WWW-Authenticate"]
    assert (WRITE in missing.headers["WWW-Authenticate"]) == names_scope

    others = {"of /v1": api.token("email"), "of another API": api.token("tasks.read"), "ID": reading["id_token"]}
    for name, token in (others | {"altered": f"{reading['access_token'][:-4]}AAAA", "no": "x"}).items():
        answer = api.call(token)
        assert answer.status_code == 401, (name, answer.text)
        assert "invalid_token" in answer.headers["WWW-Authenticate"]
    nobody = api.call(None)
    assert nobody.status_code == 401
    assert nobody.headers["WWW-Authenticate"].startswith("Bearer")


def check_at_once(api: ProtectedApi, *, keys: bool = True, after: float = 0) -> None:
    """Call the API with a key, and with a token. When the person removes the app, the next call is refused.

    `after` is the number of seconds for which the API caches the result for a token.
    """
    assert api.call(api.key).status_code == (200 if keys else 401)
    if keys:
        assert api.call(api.key, "POST").status_code == 403
    token = api.token(READ)
    assert api.call(token).status_code == 200
    api.remove_app()
    time.sleep(after)
    assert api.call(token).status_code == 401


def check_later(api: ProtectedApi) -> None:
    """Check the limits of local verification: tokens of a removed app still work, and keys don't work."""
    assert api.call(api.key).status_code == 401
    token = api.token(READ)
    api.remove_app()
    assert api.call(token).status_code == 200


def check_limit(api: ProtectedApi, run: str, status: int = 429) -> None:
    """Start the guide's code with the credential of an API that has a low limit, and reach the limit.

    The API then responds with `status`: 429, or 500 if its library treats a limit as a failure of the service.
    """
    api.guide.close()
    (api.guide.folder / ".env").write_text(api.scarce.env)
    api.guide.run(run)
    token = api.token(SCARCE)
    answers = [api.call(token) for _ in range(SCARCE_CALLS * 2 + 1)]  # a minute may end in between
    refused = next(answer for answer in answers if answer.status_code != 403)  # the token has none of the scopes
    assert refused.status_code == status, refused.text
    assert status != 429 or 0 < int(refused.headers["Retry-After"]) <= 60
