"""GET /.well-known/openid-configuration (OpenID Connect Discovery 3, RFC 8414)."""

from typing import Any

import pytest
from django.test import Client as Browser

from tests import golden_files

PATH = "/.well-known/openid-configuration"
SERVER = "/.well-known/oauth-authorization-server"
# With the host before it, or else the test's browser takes the part after the slashes for one.
DOUBLED = f"http://localhost/{PATH}"


def test_the_document_is_the_agreed_one(client: Browser) -> None:
    response = client.get(PATH)
    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    golden_files.compare("discovery", response.json())


@pytest.mark.parametrize("path", [DOUBLED, SERVER, f"http://localhost/{SERVER}"])
def test_discovery_is_also_at_other_paths(client: Browser, path: str) -> None:
    """RFC 8414 has another path, and clients that append a path to the issuer send two slashes."""
    response, discovery = client.get(path), client.get(PATH)
    assert response.status_code == 200
    assert response.content == discovery.content
    for header in ("Content-Type", "Cache-Control", "Access-Control-Allow-Origin"):
        assert response[header] == discovery[header]


def test_an_issuer_with_a_path_has_it_after_the_name(client: Browser, settings: Any) -> None:
    settings.AUTH_URL = settings.BASE_URL = "https://example.com/id"
    settings.ISSUER = "https://example.com/id/"
    for path in (f"{SERVER}/id", f"{PATH}/id", SERVER, PATH):
        response = client.get(path)
        document = response.json()
        assert document["issuer"] == "https://example.com/id/"
        assert document["token_endpoint"] == "https://example.com/id/connect/token"
        assert response["Access-Control-Allow-Origin"] == "*"
    for path in (f"{SERVER}/", f"{SERVER}/id/", f"{SERVER}/other", f"{PATH}/other"):
        assert client.get(path).status_code == 404


def test_the_issuer_comes_from_settings_and_not_from_the_host(client: Browser) -> None:
    document = client.get(PATH, headers={"Host": "127.0.0.1"}).json()
    assert document["issuer"] == "http://localhost:8000/"
    assert not any("127.0.0.1" in str(value) for value in document.values())


@pytest.mark.django_db
@pytest.mark.parametrize("path", [PATH, DOUBLED])
def test_every_address_in_it_answers(client: Browser, path: str) -> None:
    document = client.get(path).json()
    addresses = {name: address for name, address in document.items() if name.endswith(("_endpoint", "_uri"))}
    assert len(addresses) > 5
    for name, address in addresses.items():
        local = str(address).removeprefix("http://localhost:8000")
        assert client.get(local).status_code not in (404, 500), name


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/connect/register", "/connect/device-authorization", "/connect/applications/",
                                  "/connect/authorized_tokens/", "/o/authorize/", "/o/token/", f"{PATH}/"])  # fmt: skip
def test_nothing_else_of_the_library_is_mounted(client: Browser, path: str) -> None:
    assert client.get(path).status_code == 404
