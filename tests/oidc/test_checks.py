"""Settings that would be dangerous in production stop the start."""

from typing import Any

import pytest

from oidc.checks import check_prefixes, check_production, check_urls

GOOD = {
    "ENVIRONMENT": "production",
    "DEBUG": False,
    "ISSUER": "https://auth.example.com/",
    "ADMIN_URL": "",
    "SECRET_KEY": "x" * 40,
    "KEY_ENCRYPTION_KEY": "y" * 40,
    "SECRET_KEY_FALLBACKS": [],
    "KEY_ENCRYPTION_KEY_FALLBACKS": [],
    "REDIS_URL": "redis://localhost",
    "BILLING_SECRET": "",
    "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
    "DATABASES": {"default": {"ENGINE": "django.db.backends.postgresql"}},
}


class Settings:
    def __init__(self, **values: Any) -> None:
        self.__dict__.update(GOOD | values)


@pytest.mark.parametrize(
    ("change", "number"),
    [
        ({"DEBUG": True}, "E003"),
        ({"ISSUER": "http://auth.example.com/"}, "E004"),
        ({"ADMIN_URL": "HTTP://admin.example.com"}, "E004"),
        ({"SECRET_KEY": ""}, "E005"),
        ({"KEY_ENCRYPTION_KEY": "short"}, "E005"),
        ({"SECRET_KEY_FALLBACKS": ["z" * 40, "short"]}, "E005"),
        ({"KEY_ENCRYPTION_KEY_FALLBACKS": ["short"]}, "E005"),
        ({"REDIS_URL": ""}, "E006"),
        ({"DATABASES": {"default": {"ENGINE": "django.db.backends.sqlite3"}}}, "E007"),
        ({"EMAIL_BACKEND": "core.mail.DemoBackend"}, "E008"),
        ({"BILLING_SECRET": "short"}, "E009"),
    ],
)
def test_each_danger_has_its_check(monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], number: str) -> None:
    monkeypatch.setattr("oidc.checks.settings", Settings())
    assert check_production(None) == []
    monkeypatch.setattr("oidc.checks.settings", Settings(**change))
    assert [found.id for found in check_production(None)] == [f"devportal.{number}"]


@pytest.mark.parametrize(
    "address",
    [
        "auth.example.com",
        "https://a.example/?x=1",
        "https://auth.example.com/path",
        "https://auth.example.com:99999",
        "https://portal:secret@auth.example.com",
        "https://auth example.com",
        "https://[::1",
    ],
)
def test_an_invalid_url_in_the_settings_is_reported(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setattr("oidc.checks.settings", Settings(AUTH_URL=address, BASE_URL="https://api.example.com"))
    assert [found.id for found in check_urls(None)] == ["devportal.E002"]
    good = {"AUTH_URL": "https://auth.example.com", "BASE_URL": "https://api.example.com"}
    monkeypatch.setattr("oidc.checks.settings", Settings(**good, ADMIN_URL=address))
    assert [found.id for found in check_urls(None)] == ["devportal.E002"]
    monkeypatch.setattr("oidc.checks.settings", Settings(**good))
    assert check_urls(None) == []


@pytest.mark.parametrize("address", ["http://localhost:8000", "https://Auth.example.com", "http://[::1]:8000"])
def test_a_url_of_a_host_is_valid(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setattr("oidc.checks.settings", Settings(AUTH_URL=address, BASE_URL=address, ADMIN_URL=address))
    assert check_urls(None) == []


@pytest.mark.parametrize("prefix", ["", "op key_", "öp_", "eyJ", "op_", "op_secret_", "x" * 65])
def test_a_prefix_that_does_not_tell_credentials_apart_is_rejected(settings: Any, prefix: str) -> None:
    assert check_prefixes(None) == []
    settings.API_KEY_PREFIX = prefix
    found = check_prefixes(None)
    assert {message.id for message in found} == {"devportal.E021"}
    assert any("API_KEY_PREFIX" in message.msg for message in found)


@pytest.mark.parametrize("prefix", ["acme_", "k-", "op_key"])
def test_a_prefix_that_tells_credentials_apart_is_accepted(settings: Any, prefix: str) -> None:
    settings.API_KEY_PREFIX = prefix
    assert check_prefixes(None) == []
