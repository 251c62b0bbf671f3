"""Requests for another host, or another port of ours, are refused before anything else; probes are answered."""

from typing import Any

import pytest
from django.test import Client as Browser

from core.http import host_header

PAGES = ("/", "/account/login/", "/admin/", "/connect/authorize", "/static/css/base.css", "/nothing", "/health/nothing")
FOR_APPS = ("/v1/me", "/v1", "/connect/token", "/.well-known/jwks", "/.well-known/openid-configuration")
OWN = ("localhost:8000", "LocalHost:8000", "localhost.:8000", "localhost", "127.0.0.1:8000", "127.0.0.1", "testserver")
FOREIGN = (
    "localhost:1001", "localhost:80", "localhost:08000", "localhost:8000:8000", "localhost:", "localhost:x",
    "127.0.0.1:1001", "[::1]:8000", "evil.example.com", "evil.example.com:8000", "localhost@evil.example.com",
    "localhost:8000, evil.example.com", "", "lo\x00calhost", "\u2002localhost", "x" * 5000,
)  # fmt: skip


@pytest.fixture(autouse=True)
def addresses(settings: Any) -> None:
    settings.PORT = 8000
    settings.AUTH_URL = settings.BASE_URL = "http://localhost:8000"


def status(host: str, path: str = "/account/login/") -> int:
    return Browser().get(path, headers={"Host": host}).status_code


@pytest.mark.django_db
@pytest.mark.parametrize("host", OWN)
def test_own_hosts_are_answered(host: str) -> None:
    assert status(host) == 200
    assert status(host, "/v1/me") == 401


@pytest.mark.parametrize("host", FOREIGN)
def test_unknown_hosts_get_a_short_400(host: str) -> None:
    for path in (*PAGES, *FOR_APPS):
        response = Browser().get(path, headers={"Host": host})
        assert response.status_code == 400, path
        assert "no-store" in response["Cache-Control"]
        assert "default-src 'none'" in response["Content-Security-Policy"]
        assert response["X-Content-Type-Options"] == "nosniff"
        assert response["X-Request-ID"]
        assert not response.cookies
        is_page = path in PAGES
        assert response["Content-Type"].startswith("text/html" if is_page else "application/json"), path
        if is_page:
            assert "http://localhost:8000/" in response.content.decode()
            assert b"evil" not in response.content
        else:
            assert "error" in response.json()


def test_the_answer_of_the_developer_api_has_its_shape() -> None:
    answer = Browser().get("/v1/me", headers={"Host": "evil.example.com"}).json()
    assert set(answer["error"]) == {"code", "message"}
    assert "evil" not in str(answer)


@pytest.mark.django_db
@pytest.mark.parametrize("host", ["10.1.2.3:8000", "evil.example.com", "localhost:1", "", "[fe80::1]:80"])
def test_probes_are_answered_with_any_host(host: str) -> None:
    assert status(host, "/health/live") == 200
    assert status(host, "/health/ready") == 200


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("auth.example.com", True),
        ("auth.example.com:443", True),
        ("AUTH.example.com:443", True),
        ("api.example.com:8443", True),
        ("api.example.com", True),  # a proxy dropped the port
        ("auth.example.com:8443", False),
        ("auth.example.com:80", False),
        ("api.example.com:443", False),
        ("admin.example.com:444", True),
        ("admin.example.com:443", False),
        ("inside.example.net", True),
        ("inside.example.net:444", True),
        ("inside.example.net:443", True),
        ("inside.example.net:8443", True),
        ("inside.example.net:8000", True),
        ("inside.example.net:1001", False),
    ],
)
def test_ports_are_those_of_the_addresses(host: str, is_own: bool, settings: Any) -> None:
    settings.AUTH_URL, settings.BASE_URL = "https://auth.example.com", "https://api.example.com:8443"
    settings.ADMIN_URL = "https://admin.example.com:444"
    settings.ALLOWED_HOSTS = ["auth.example.com", "api.example.com", "admin.example.com", "inside.example.net"]
    assert status(host, "/favicon.ico") == (302 if is_own else 400)  # which every host has


def test_an_own_host_has_one_spelling(rf: Any, settings: Any) -> None:
    for given in ("localhost:8000", "LOCALHOST:8000", "localhost.:8000"):
        assert host_header.own_host(rf.get("/", headers={"Host": given}))[0] == "localhost:8000"
    settings.AUTH_URL = settings.BASE_URL = "https://auth.example.com"
    settings.ALLOWED_HOSTS = ["auth.example.com"]
    for given in ("auth.example.com", "auth.example.com:443", "Auth.Example.com.", "AUTH.EXAMPLE.COM.:443"):
        assert host_header.own_host(rf.get("/", headers={"Host": given}))[0] == "auth.example.com"


@pytest.mark.django_db
def test_code_reads_the_normalized_host() -> None:
    response = Browser().get("/account/login/", headers={"Host": "LOCALHOST.:8000"})
    assert response.wsgi_request.get_host() == "localhost:8000"


@pytest.mark.parametrize("proto", ["http", "https"])
def test_a_foreign_host_is_redirected_nowhere(proto: str, settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    response = Browser().get("/", headers={"Host": "evil.example.com", "X-Forwarded-Proto": proto})
    assert response.status_code == 400
    assert "Location" not in response
