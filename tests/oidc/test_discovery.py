"""GET /.well-known/openid-configuration (OpenID Connect Discovery 3, RFC 8414)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client as Browser

PATH = "/.well-known/openid-configuration"
# With the host before it, or else the test's browser takes the part after the slashes for one.
DOUBLED = f"http://localhost/{PATH}"
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "discovery.json"


def test_the_document_is_the_agreed_one(client: Browser) -> None:
    response = client.get(PATH)
    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response.json() == json.loads(GOLDEN.read_text())


@pytest.mark.django_db
def test_it_asks_no_database(client: Browser, django_assert_num_queries: Callable[[int], Any]) -> None:
    with django_assert_num_queries(0):
        assert client.get(PATH).status_code == 200


def test_two_leading_slashes_lead_to_the_same_document(client: Browser) -> None:
    doubled = client.get(DOUBLED)
    assert doubled.status_code == 200
    assert doubled.json() == client.get(PATH).json()


def test_a_trailing_slash_is_another_path(client: Browser) -> None:
    assert client.get(f"{PATH}/").status_code == 404


def test_the_issuer_comes_from_settings_and_not_from_the_host(client: Browser) -> None:
    document = client.get(PATH, headers={"Host": "127.0.0.1"}).json()
    assert document["issuer"] == "http://localhost:8000/"
    assert not any("127.0.0.1" in str(value) for value in document.values())


def test_an_unknown_host_learns_and_changes_nothing(client: Browser) -> None:
    response = client.get(PATH, headers={"Host": "evil.example.com"})
    assert response.status_code == 400 or response.json()["issuer"] == "http://localhost:8000/"
    assert "evil.example.com" not in response.content.decode()


def test_the_issuer_follows_the_settings(client: Browser, settings: Any) -> None:
    settings.AUTH_URL, settings.ISSUER = "https://id.example.com", "https://id.example.com/"
    document = client.get(PATH).json()
    assert document["issuer"] == "https://id.example.com/"
    assert document["token_endpoint"] == "https://id.example.com/connect/token"


@pytest.mark.django_db
@pytest.mark.parametrize("path", [PATH, DOUBLED])
def test_every_address_in_it_answers(client: Browser, path: str) -> None:
    document = client.get(path).json()
    for name, address in document.items():
        if name.endswith(("_endpoint", "_uri")):
            local = str(address).removeprefix("http://localhost:8000")
            assert client.get(local).status_code not in (404, 500), name


def test_it_may_be_cached(client: Browser) -> None:
    assert "max-age=" in client.get(PATH)["Cache-Control"]


@pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
def test_it_is_only_read(client: Browser, method: str) -> None:
    response = getattr(client, method)(PATH)
    assert response.status_code == 405
    assert "GET" in response["Allow"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path",
    [
        "/.well-known/oauth-authorization-server",
        "/connect/introspect",
        "/connect/register",
        "/connect/device-authorization",
        "/connect/applications/",
        "/connect/authorized_tokens/",
        "/o/authorize/",
        "/o/token/",
    ],
)
def test_nothing_else_of_the_library_is_mounted(client: Browser, path: str) -> None:
    assert client.get(path).status_code == 404
