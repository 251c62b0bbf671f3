"""What an API may declare: identifiers, slugs, scopes, rules and texts, hostile ones included."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from api.endpoint import endpoint_names
from oidc.apis import validation


def refused(validate: Callable[[Any], None], value: Any) -> str:
    with pytest.raises(ValidationError) as error:
        validate(value)
    return str(error.value.messages[0])


@pytest.mark.parametrize(
    "uri",
    [
        "https://calendar.example.com",
        "https://api.example.com:8443/calendar/v2",
        "https://api.example.com/calendar?tenant=1",
        "http://localhost:3100",
        "http://localhost:8000/calendar",
    ],
)
def test_identifiers_that_are_accepted(uri: str) -> None:
    validation.validate_identifier(uri)


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("https://calendar.example.com#part", "after #"),
        ("https://me@calendar.example.com", "before @"),
        ("https://calendar.example.com/a b", "no spaces"),
        ("https://calendar.example.com\n", "no spaces"),
        ("https://kalender.example.com/ü", "ASCII"),
        ("http://calendar.example.com", "https"),
        ("http://localhost.example.com", "https"),
        ("https://Calendar.example.com", "lower case"),
        ("//calendar.example.com", "absolute"),
        ("javascript:alert(1)", "absolute"),
        ("", "absolute"),
        ("https://calendar.example.com:99999", "absolute"),
        ("https://[::1]/", "IPv6"),
        ("https://calendar.example.com./", "dot"),
        ("https://a\\@calendar.example.com", ""),
        ("https://" + "a" * 500, "at most"),
        # The service's own: tokens for it must never be confused with those of another API.
        ("http://localhost:8000", "the service itself"),
        ("http://127.0.0.1:8000/", "the service itself"),
        ("http://localhost:8000/v1", "the service itself"),
        ("http://localhost:8000?x=1", "the service itself"),
    ],
)
def test_identifiers_that_are_refused(uri: str, why: str) -> None:
    assert why in refused(validation.validate_identifier, uri)


def test_production_accepts_https_alone(settings: Any) -> None:
    settings.EMBEDDED = False
    assert "https" in refused(validation.validate_identifier, "http://localhost:3100")
    assert "https" in refused(validation.validate_url, "http://localhost:3100/docs")
    validation.validate_identifier("https://calendar.example.com")


def test_the_service_is_recognized_at_each_of_its_addresses(settings: Any) -> None:
    settings.AUTH_URL, settings.BASE_URL = "https://auth.example.com", "https://api.example.com"
    for uri in (
        "https://auth.example.com",
        "https://auth.example.com/",
        "https://api.example.com:443",
        settings.BASE_URL,
    ):
        assert "the service itself" in refused(validation.validate_identifier, uri)
    validation.validate_identifier("https://api.example.com/calendar")


@pytest.mark.parametrize("slug", ["calendar", "a", "9-to-5", "team_tasks", "x" * 32])
def test_slugs_that_are_accepted(slug: str) -> None:
    validation.validate_slug(slug)


@pytest.mark.parametrize(
    "slug",
    [
        "",
        "account",
        "Calendar",
        "_a",
        "a/b",
        "x" * 33,
        "a\n",
        "kalender\u00fc",
        "\u0430",
    ],
)
def test_slugs_that_are_refused(slug: str) -> None:
    refused(validation.validate_slug, slug)


def test_calls_of_an_api_are_never_counted_as_those_of_an_endpoint() -> None:
    for name in endpoint_names():
        refused(validation.validate_slug, name)


@pytest.mark.parametrize("name", ["calendar.read", "https://example.com/read", "a:b/c-d_e", "!", "x" * 100])
def test_scope_names_that_are_accepted(name: str) -> None:
    validation.validate_scope_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "", " ", "calendar read", "calendar.read ", 'a"b', "a\\b", "a\nb", "a\x00", "a\x7f", "ü", "x" * 101,
        "openid", "email", "profile", "offline_access", "account.read", "OpenID", "Account.Read", "address", "phone",
    ],
)  # fmt: skip
def test_scope_names_that_are_refused(name: str) -> None:
    refused(validation.validate_scope_name, name)


@pytest.mark.parametrize(
    ("validate", "values"),
    [
        (validation.validate_line, ["", "  ", "two\nlines", "a\x00b", "a\u202eb", "a\u200bb", "\ud800"]),
        (validation.validate_text, ["a\x00b", "\x1b[31m", "\ud800", "x" * 2001]),
        (
            validation.validate_url,
            ["javascript:alert(1)", "ftp://example.com", "http://example.com", "https://a@b.example"],
        ),
        (validation.validate_limit, [0, -1, 10_000_001, 2**63]),
        (validation.validate_method, ["", "get", "GET ", "GET,POST", "**", "A" * 11, "GET\n", "G(T", "A`B", "-X"]),
    ],
    ids=["lines", "texts", "links", "limits", "methods"],
)
def test_values_that_are_refused(validate: Callable[[Any], None], values: list[Any]) -> None:
    for value in values:
        refused(validate, value)


@pytest.mark.parametrize(
    ("method", "path"), [("*", "/*"), ("GET", "/"), ("M-SEARCH", "/events/*"), ("GET", "/a%20b"), ("GET", "/%C3%A9*")]
)
def test_rules_that_are_accepted(method: str, path: str) -> None:
    validation.validate_method(method)
    validation.validate_path(path)


@pytest.mark.parametrize(
    "path",
    [
        "", "events", "*", "/a*b", "/*/b", "/a**", "/a b", "/a?b=1", "/a#b", "/a\\b", "/ü", "/a\n", "/a\x00", "/../a",
        "/a/./b", "/a/..", "https://example.com/", "/" + "a" * 300,
        # After decoding, no call could match these, so that a later rule would count; or too many would.
        "/a%", "/a%2", "/a%zz", "/%61", "/a%2F", "/a%25", "/a%2A", "/%2e%2e/a", "/%FF", "/%00", "/e%CC%81",
        "/%EF%BC%AF",
    ],
)  # fmt: skip
def test_paths_that_are_refused(path: str) -> None:
    refused(validation.validate_path, path)
