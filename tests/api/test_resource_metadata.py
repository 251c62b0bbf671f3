"""GET /.well-known/oauth-protected-resource (RFC 9728), and the 401 that names it."""

from collections.abc import Callable
from typing import Any

import pytest

from api.resource_metadata import metadata_url
from core.http import responses
from oidc.apis.registry import current_registry
from tests import golden_files
from tests.api.calls import ME, call
from tests.api.forwarding import ask
from tests.factories import make_api
from tests.relying_party import RelyingParty, claims_of

PATH = "/.well-known/oauth-protected-resource"


def test_the_document_is_the_agreed_one() -> None:
    response = call(PATH)
    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    golden_files.compare("protected_resource", response.json())


@pytest.mark.django_db
def test_it_asks_no_database(django_assert_num_queries: Callable[[int], Any]) -> None:
    with django_assert_num_queries(0):
        assert call(PATH).status_code == 200


@pytest.mark.parametrize("rest", ["/v1", "/v1/", "/me", "//", "x", "/api/"])
def test_it_is_about_no_other_resource(rest: str) -> None:
    assert call(f"{PATH}{rest}").status_code == 404


def test_libraries_may_add_a_slash_to_the_resource() -> None:
    assert call(f"{PATH}/").json() == call(PATH).json()


def test_the_host_changes_nothing() -> None:
    assert call(PATH, Host="127.0.0.1").json() == call(PATH).json()


def test_the_challenge_of_a_401_leads_there() -> None:
    address = call(ME)["WWW-Authenticate"].partition('resource_metadata="')[2].rstrip('"')
    assert call(address.removeprefix("http://localhost:8000")).json()["resource"] == "http://localhost:8000"


@pytest.mark.django_db
def test_it_names_the_audience_of_the_tokens_and_their_issuer(app: RelyingParty) -> None:
    token, document = claims_of(app.tokens()["access_token"]), call(PATH).json()
    assert token["aud"] == document["resource"]
    assert [token["iss"]] == document["authorization_servers"]


def test_a_resource_with_a_path_has_it_after_the_name(settings: Any) -> None:
    settings.AUTH_URL, settings.BASE_URL = "https://example.com", "https://example.com/api"
    expected = "https://example.com/.well-known/oauth-protected-resource/api"
    assert call(ME)["WWW-Authenticate"].endswith(f'resource_metadata="{expected}"')
    # As it is, and as a proxy passes it on that has cut the path off.
    for path in (f"{PATH}/api", f"{PATH}/api/", PATH, f"{PATH}/"):
        assert call(path).json()["resource"] == "https://example.com/api"
    for path in (f"{PATH}//", f"{PATH}/api//", f"{PATH}/other"):
        assert call(path).status_code == 404


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("https://example.com", "https://example.com/.well-known/n"),
        ("https://example.com:8443", "https://example.com:8443/.well-known/n"),
        ("https://example.com/a/b", "https://example.com/.well-known/n/a/b"),
    ],
)
def test_the_name_goes_between_host_and_path(base: str, expected: str) -> None:
    assert responses.address(base, "n") == expected


# --- The company's own APIs ---


def test_an_api_on_a_host_of_the_service(db: None, settings: Any) -> None:
    settings.AUTH_URL = settings.BASE_URL = "https://example.com"
    settings.ALLOWED_HOSTS = ["example.com"]
    make_api(identifier="https://example.com/calendar")
    response = call(f"{PATH}/calendar", Host="example.com")
    assert response.status_code == 200
    assert response.json() == {
        "resource": "https://example.com/calendar",
        "authorization_servers": [settings.ISSUER],
        "scopes_supported": ["openid", "calendar.read", "calendar.write"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Calendar",
        "resource_documentation": "https://example.com/docs/apis/calendar",
    }
    assert response["Access-Control-Allow-Origin"] == "*"
    assert call(f"{PATH}/calendar/", Host="example.com").json() == response.json()
    for rest in ("/calendar//", "/tasks", "/calendar/x", "//calendar", "/Calendar"):
        assert call(PATH + rest, Host="example.com").status_code == 404
    assert call(PATH, Host="example.com").json()["resource"] == "https://example.com"


@pytest.mark.parametrize(("host", "status"), [("auth.example.com", 200), ("api.example.com", 404)])
def test_with_split_hosts_it_is_on_the_host_of_its_identifier(db: None, settings: Any, host: str, status: int) -> None:
    settings.AUTH_URL, settings.BASE_URL = "https://auth.example.com", "https://api.example.com"
    settings.ALLOWED_HOSTS = ["auth.example.com", "api.example.com"]
    make_api(identifier="https://auth.example.com/calendar")
    assert call(f"{PATH}/calendar", Host=host).status_code == status


def test_an_api_elsewhere_hosts_it_itself(db: None, settings: Any) -> None:
    settings.AUTH_URL = settings.BASE_URL = "https://example.com:8443"
    settings.ALLOWED_HOSTS = ["example.com"]
    make_api(identifier="https://example.com/calendar")  # another port
    make_api("tasks", identifier="https://tasks.example.com/v2")
    assert call(f"{PATH}/calendar", Host="example.com:8443").status_code == 404
    assert call(f"{PATH}/v2", Host="example.com:8443").status_code == 404
    response = call("/docs/apis/tasks/oauth-protected-resource.json", Host="example.com:8443")
    assert response.json()["resource"] == "https://tasks.example.com/v2"


def test_a_turned_off_api_has_none(db: None, settings: Any) -> None:
    settings.AUTH_URL = settings.BASE_URL = "https://example.com"
    settings.ALLOWED_HOSTS = ["example.com"]
    make_api(identifier="https://example.com/calendar", enabled=False)
    for path in (f"{PATH}/calendar", "/docs/apis/calendar/oauth-protected-resource.json"):
        assert call(path, Host="example.com").status_code == 404
    assert call("/docs/apis/account/oauth-protected-resource.json", Host="example.com").status_code == 404


@pytest.mark.parametrize(
    ("identifier", "url"),
    [
        ("https://a.example.com", "https://a.example.com/.well-known/oauth-protected-resource"),
        ("https://a.example.com/", "https://a.example.com/.well-known/oauth-protected-resource"),
        ("https://a.example.com/v1/", "https://a.example.com/.well-known/oauth-protected-resource/v1/"),
        ("https://a.example.com/v1?x=1", "https://a.example.com/.well-known/oauth-protected-resource/v1?x=1"),
    ],
)
def test_the_url_follows_from_the_identifier(db: None, identifier: str, url: str) -> None:
    make_api(identifier=identifier)
    assert metadata_url(current_registry().apis["calendar"]) == url
    assert f'resource_metadata="{url}"' in ask()["WWW-Authenticate"]
