"""Libraries that an API uses: they introspect its tokens, and check the audience."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from authlib.integrations.httpx_client import OAuth2Client

from tests.clients.apis import CALENDAR, READ, TASKS, Credential, declare_apis
from tests.clients.app import App, listening
from tests.clients.conftest import ADA, OWNER, Apps
from tests.clients.person import Person
from tests.services import node
from tests.services.service import Service

pytestmark = pytest.mark.slow
INACTIVE = {"active": False}


@pytest.fixture(scope="module")
def credential(live_service: Service) -> Credential:
    return declare_apis(live_service)["calendar"]


@pytest.fixture(scope="module")
def caller(live_service: Service, apps: Apps) -> Iterator[App]:
    with listening(live_service, "Calls APIs") as app:
        project = {"name": "Calls APIs", "owner": OWNER, "clients": [app.declaration()]}
        app.take_credentials(live_service.provision(projects=[project]))
        yield app


@pytest.fixture(scope="module")
def tokens(caller: App, credential: Credential) -> dict[str, str]:
    """Tokens for the calendar, for the tasks and for `/v1`, and an ID token."""

    def sign_in(scope: str) -> dict[str, str]:
        arrived_at = Person(caller.service, ADA).go(caller.authorization_url(scope=f"openid {scope}"))
        answer: dict[str, str] = caller.exchange(parse_qs(urlsplit(arrived_at).query)["code"][0]).json()
        return answer

    calendar = sign_in(READ)
    return {
        "calendar": calendar["access_token"],
        "tasks": sign_in("tasks.read")["access_token"],
        "v1": sign_in("email")["access_token"],
        "id": calendar["id_token"],
    }


def check_active(answer: dict[str, Any], caller: App) -> None:
    assert answer["active"] is True
    assert (answer["aud"], answer["scope"], answer["client_id"]) == (CALENDAR, READ, caller.client_id)
    assert answer["sub"]


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_authlib_introspects(
    live_service: Service, caller: App, credential: Credential, tokens: dict[str, str], method: str
) -> None:
    endpoint = live_service.discovery()["introspection_endpoint"]
    with OAuth2Client(credential.id, credential.secret, token_endpoint_auth_method=method, timeout=20) as client:
        answers = {name: client.introspect_token(endpoint, token=token).json() for name, token in tokens.items()}
    check_active(answers.pop("calendar"), caller)
    assert set(map(str, answers.values())) == {str(INACTIVE)}


def test_pyjwt_checks_the_audience(live_service: Service, tokens: dict[str, str]) -> None:
    keys = jwt.PyJWKClient(live_service.discovery()["jwks_uri"])

    def decode(name: str, audience: str) -> dict[str, Any]:
        key = keys.get_signing_key_from_jwt(tokens[name])
        options: Any = {"require": ["exp", "aud", "sub"]}
        claims: dict[str, Any] = jwt.decode(
            tokens[name], key, algorithms=["RS256"], issuer=live_service.issuer, audience=audience, options=options
        )
        return claims

    assert decode("calendar", CALENDAR)["scope"] == READ
    assert decode("tasks", TASKS)["scope"] == "tasks.read"
    for name in ("tasks", "v1", "id"):
        with pytest.raises(jwt.InvalidAudienceError):
            decode(name, CALENDAR)


@pytest.mark.node
def test_oauth4webapi_introspects_and_jose_checks_the_audience(
    live_service: Service, caller: App, credential: Credential, tokens: dict[str, str]
) -> None:
    with node.start():
        done = node.run(
            "api_tokens.mjs",
            env={
                "ISSUER": live_service.issuer,
                "CREDENTIAL_ID": credential.id,
                "CREDENTIAL_SECRET": credential.secret,
                "TOKENS": json.dumps(tokens),
                "AUDIENCE": CALENDAR,
            },
        )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    check_active(found["calendar"]["introspected"], caller)
    assert found["calendar"]["verified"]["aud"] == CALENDAR
    for name in ("tasks", "v1", "id"):
        assert found[name]["introspected"] == INACTIVE
    assert {found[name]["verified"] for name in ("tasks", "v1")} == {"ERR_JWT_CLAIM_VALIDATION_FAILED aud"}
    assert found["id"]["verified"] == "ERR_JWT_CLAIM_VALIDATION_FAILED typ"
