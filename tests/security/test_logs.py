"""No code, token, secret, verifier or password is ever logged, at any level, in any logger."""

import io
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import Client as Browser

from accounts.models import Account
from core.logging import RedactingFilter, redact
from oidc.tokens import store
from tests.factories import PASSWORD
from tests.relying_party import RelyingParty, basic

PINNED = ("oauthlib", "oauth2_provider")


@pytest.fixture
def lines(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    """What is logged, without any filter, with all loggers at DEBUG except the ones that the settings pin."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    loggers = [logging.getLogger(name) for name in list(logging.Logger.manager.loggerDict)] + [logging.getLogger()]
    before = [(logger, logger.level) for logger in loggers]
    for logger in loggers:
        if logger.name.partition(".")[0] not in PINNED and logger.name != "faker":
            logger.setLevel(logging.DEBUG)
        if not logger.propagate or logger.name == "root":
            logger.addHandler(handler)
    yield stream
    for logger, level in before:
        logger.setLevel(level)
        logger.removeHandler(handler)


def go_all_the_way(app: RelyingParty) -> list[str]:
    """Sign in, authorize, exchange, refresh, replay, fail and revoke; return every secret that was in play."""
    browser = Browser()
    browser.post("/account/login/", {"login": "ada@example.com", "password": PASSWORD})
    code = app.code()
    first = app.exchange(code).json()
    app.exchange(code)
    app.exchange(app.code(), code_verifier="wrong" * 10)
    again = app.exchange(app.code()).json()
    second = app.refresh(again["refresh_token"]).json()
    app.refresh(again["refresh_token"])
    app.refresh(second["refresh_token"], scope="openid nonsense")
    header = basic(app.client.client_id, "op_secret_wrongwrongwrongwrongwrong")
    app.post(
        "/connect/token",
        {"grant_type": "refresh_token", "refresh_token": second["refresh_token"]},
        Authorization=header,
    )
    for token in (second["access_token"], first["id_token"], "eyJ.garbage.garbage"):
        app.call("/connect/userinfo", token)
        app.call("/v1/me", token)
    app.browser.get(f"/connect/logout?id_token_hint={first['id_token']}")
    app.post("/connect/revoke", {"token": second["refresh_token"]} | app.credentials())
    return [
        code,
        first["access_token"],
        first["id_token"],
        first["refresh_token"],
        again["refresh_token"],
        second["refresh_token"],
        second["access_token"],
        app.secret or "no secret here",
        app.verifier,
        "op_secret_wrongwrong",
        PASSWORD,
        "wrong" * 10,
    ]


def assert_silent(text: str, secrets: list[str]) -> None:
    assert text
    for secret in secrets:
        # Of a JWT, claims and signature; every token shares the header.
        for piece in secret.split(".")[1:] if secret.count(".") == 2 else [secret]:
            found = text.find(piece)
            assert found < 0, text[max(0, found - 300) : found + 100]


def test_nothing_secret_is_logged_at_debug(web_app: RelyingParty, lines: io.StringIO) -> None:
    secrets = go_all_the_way(web_app)
    assert_silent(lines.getvalue(), secrets)


def test_a_crash_logs_no_secrets(web_app: RelyingParty, lines: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    code = web_app.code()

    def crash(*args: Any, **kwargs: Any) -> None:
        from django.db import OperationalError

        raise OperationalError("gone")

    monkeypatch.setattr(store, "store_tokens", crash)
    assert web_app.exchange(code).status_code == 503
    assert "gone" in lines.getvalue()
    assert_silent(lines.getvalue(), [code, web_app.verifier, web_app.secret or "-"])


def test_queries_in_addresses_are_not_logged(app: RelyingParty, lines: io.StringIO) -> None:
    app.browser.get("/connect/authorize?client_id=x&code=canary12345678&login_hint=ada@example.com")
    app.browser.get("/nothing?access_token=canary12345678")
    assert "canary12345678" not in lines.getvalue()
    assert "login_hint" not in lines.getvalue()


def test_the_libraries_that_print_credentials_are_pinned() -> None:
    for name in PINNED:
        assert settings.LOGGING["loggers"][name]["level"] != "DEBUG"
        assert logging.getLogger(name).getEffectiveLevel() >= logging.INFO


def test_the_filter_removes_credentials_even_without_pinned_log_levels(web_app: RelyingParty) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(RedactingFilter())
    loggers = [logging.getLogger(name) for name in (*PINNED, "oauthlib.oauth2", "django")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
    for logger in loggers[:2]:
        logger.addHandler(handler)
    try:
        secrets = go_all_the_way(web_app)
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
            logger.removeHandler(handler)
    assert_silent(stream.getvalue(), secrets)


@pytest.mark.parametrize(
    "text",
    [
        "code=canary1234567890&state=x",
        "{'code_verifier': 'canary1234567890'}",
        '{"refresh_token": "canary1234567890"}',
        "Authorization: Bearer canary1234567890",
        "Authorization: Basic canary1234567890==",
        "client_secret: canary1234567890",
        "('client_secret', 'canary1234567890')",
        "op_secret_canary1234567890",
        "op_key_abc_canary1234567890",
        "token eyJhbGciOiJub25lIn0.canary1234567890.sig",
        "password='canary1234567890'",
        "id_token_hint=canary1234567890",
    ],
)
def test_the_filter_recognizes_credentials(text: str) -> None:
    assert "canary1234567890" not in redact(text)


def test_the_filter_rewrites_arguments_and_tracebacks() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(RedactingFilter())
    logger = logging.getLogger("tests.logs")
    logger.addHandler(handler)
    try:
        try:
            raise ValueError("refresh_token=canary1234567890")
        except ValueError:
            logger.exception("It failed with %s", {"access_token": "canary1234567890"})
    finally:
        logger.removeHandler(handler)
    assert "canary1234567890" not in stream.getvalue()
    assert "ValueError" in stream.getvalue()


def test_every_handler_has_the_filter() -> None:
    assert settings.LOGGING["handlers"]
    for handler in settings.LOGGING["handlers"].values():
        assert "no_secrets" in handler["filters"]


def test_error_pages_show_nothing_of_the_request(app: RelyingParty, person: Account) -> None:
    for path in ("/connect/authorize?client_id=x&state=canary12345678", "/nothing?x=canary12345678"):
        assert b"canary12345678" not in app.browser.get(path).content
