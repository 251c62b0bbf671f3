"""Secrets that are sent through every flow turn up nowhere: logs at any level, mails, cache, tasks, database."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from celery.app.task import Task
from django.apps import apps
from django.contrib.sessions.models import Session
from django.core import mail
from django.core.cache import caches
from django.db import connection
from django.test import Client as Browser

from accounts.models import Account
from api import usage_counts
from api.keys import API_KEYS
from core.limits.counters import counters
from tests.api.calls import ME, PLAN, call
from tests.api.conftest import Key
from tests.factories import PASSWORD
from tests.relying_party import RelyingParty, basic

CALM = ("oauthlib", "oauth2_provider", "requests_oauthlib", "django.template")


class Records(logging.Handler):
    """Keeps all that a record holds, before any filter has seen it."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.kept: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        parts = [record.name, str(record.msg), repr(record.args), record.getMessage()]
        if record.exc_info:
            parts.append(logging.Formatter().formatException(record.exc_info))
        self.kept.append(" ".join(parts))


@pytest.fixture
def payloads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is handed to background tasks."""
    seen: list[str] = []
    real = Task.apply_async

    def note(self: Any, args: Any = None, kwargs: Any = None, **options: Any) -> Any:
        seen.append(repr((self.name, args, kwargs, options)))
        return real(self, args, kwargs, **options)

    monkeypatch.setattr(Task, "apply_async", note)
    return seen


@pytest.fixture
def debugging() -> Iterator[None]:
    """Every logger that there is at DEBUG, and statements kept as Django does while it debugs."""
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict]
    before = {logger: (logger.level, logger.disabled) for logger in [logging.root, *loggers]}
    connection.force_debug_cursor = True
    for logger in before:
        logger.setLevel(logging.DEBUG)
    yield
    connection.force_debug_cursor = False
    for logger, (level, disabled) in before.items():
        logger.setLevel(level)
        logger.disabled = disabled


def go_everywhere(app: RelyingParty, key: Key, person: Account) -> dict[str, str]:
    """Send each kind of secret wherever it can be sent, rightly and wrongly; return the secrets."""
    secrets = {"verifier": app.verifier, "client secret": app.secret or "", "key": key.raw, "password": PASSWORD}
    secrets["code"] = app.code()
    tokens = app.exchange(secrets["code"]).json()
    for name in ("access_token", "refresh_token", "id_token"):
        secrets[name] = tokens[name]
    app.exchange(secrets["code"], code_verifier="x" * 43)
    secrets["second code"] = app.code()
    again = {"code": secrets["second code"], "grant_type": "authorization_code", "code_verifier": app.verifier}
    header = basic(app.client.client_id, app.secret or "")
    tokens = app.post("/connect/token", again | {"redirect_uri": app.redirect_uri}, Authorization=header).json()
    secrets["second refresh_token"] = tokens["refresh_token"]
    for _ in range(2):
        answer = app.refresh(secrets["second refresh_token"])
        secrets |= {f"newer {name}": value for name, value in answer.json().items() if name.endswith("_token")}

    browser = Browser()
    browser.post("/account/login/", {"login": person.email, "password": PASSWORD + "!"})
    browser.post("/account/login/", {"login": person.email, "password": PASSWORD})
    browser.post("/account/password/reset/", {"email": person.email})
    browser.post("/account/signup/", {"email": "new@example.com", "password1": PASSWORD, "given_name": "N"})

    # A password is no credential here, and nobody types one into a program's token field.
    for secret in [value for name, value in secrets.items() if name != "password"]:
        for path in (ME, PLAN, "/connect/userinfo", "/v1/none"):
            call(path, secret)
            call(f"{path}?token={quote(secret)}", secret + "x")
            call(path, None, "POST", Authorization=f"Basic {secret}", Cookie=f"a={secret}")
        call(f"/connect/logout?id_token_hint={quote(secret)}")
        call(f"/connect/authorize?code_challenge={quote(secret)}&state={quote(secret)}")
        app.post("/connect/token", {"grant_type": "refresh_token", "refresh_token": secret, **app.credentials()})
        app.post("/connect/token", {"grant_type": "authorization_code", "code": secret, **app.credentials()})
        app.post("/connect/token", {}, Authorization=basic(app.client.client_id, secret))
    app.post("/connect/revoke", {"token": secrets["refresh_token"], **app.credentials()})
    API_KEYS.revoke(key.row)
    call(ME, key.raw)
    usage_counts.flush_usage()
    return secrets


def found_in(secrets: dict[str, str], *texts: str) -> list[str]:
    whole = "\n".join(texts)
    return [name for name, secret in secrets.items() if secret and secret in whole]


def everything_cached() -> str:
    cache: Any = caches["default"]
    held = counters()
    waiting = [held._finished, held._entries, held.local._usage, held.local._entries]
    return repr(cache._cache) + repr(held.local._counts) + repr(waiting)


def everything_stored() -> str:
    rows: list[Any] = []
    with connection.cursor() as cursor:
        for model in apps.get_models(include_auto_created=True):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(model._meta.db_table)}")
            rows += [tuple(map(repr, row)) for row in cursor.fetchall()]
    sessions = [json.dumps(session.get_decoded(), default=repr) for session in Session.objects.all()]
    return repr(rows) + "".join(sessions)


def test_in_no_record_as_the_service_logs(
    web_app: RelyingParty, key: Key, person: Account, payloads: list[str], debugging: None
) -> None:
    # These stay at INFO whatever LOG_LEVEL says (settings); everything else tells all it can.
    for name in logging.root.manager.loggerDict:
        if name.startswith(CALM):
            logging.getLogger(name).setLevel(logging.INFO)
    records = Records()
    watched = [
        logging.root,
        *(logger for logger in map(logging.getLogger, logging.root.manager.loggerDict) if not logger.propagate),
    ]
    for logger in watched:
        logger.addHandler(records)
    try:
        secrets = go_everywhere(web_app, key, person)
    finally:
        for logger in watched:
            logger.removeHandler(records)
    assert len(secrets) >= 12
    assert len(records.kept) > 200
    assert found_in(secrets, *records.kept) == []
    assert found_in(secrets, *(str(message.message()) for message in mail.outbox)) == []
    assert found_in(secrets, everything_cached()) == []
    assert found_in(secrets, *payloads) == []
    assert found_in(secrets, everything_stored()) == []


def test_in_no_line_even_when_the_libraries_tell_all(
    web_app: RelyingParty, key: Key, person: Account, debugging: None
) -> None:
    written = io.StringIO()
    handlers = {handler for name in ("", "django") for handler in logging.getLogger(name).handlers}
    ours = [h for h in handlers if type(h) is logging.StreamHandler and h.filters]
    assert ours
    before = [handler.setStream(written) for handler in ours]
    try:
        secrets = go_everywhere(web_app, key, person)
    finally:
        for handler, stream in zip(ours, before, strict=True):
            if stream is not None:
                handler.setStream(stream)
    lines = written.getvalue()
    assert "oauthlib" in lines
    assert "[redacted]" in lines
    assert found_in(secrets, lines) == []
