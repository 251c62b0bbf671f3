"""Fixtures of all tests."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import datetime, timedelta
from queue import Queue
from types import SimpleNamespace
from typing import Any

import django_ratelimit.core
import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.test import Client as Browser

from accounts.activity import audit_lines, wrong_guesses
from accounts.mail import delivery, outbox
from accounts.models import Account, Outbox
from accounts.plans import catalogue, resolution
from api import request_log
from core import clock, tasks
from core.limits.counters import counters
from core.limits.redis import process_breaker
from devportal.console.logs import sign_in_writer
from oidc.apis import registry
from oidc.domains.proofs import Code, ProofCheck, ProofResult
from oidc.models import Client, ProjectDomain, SigningKey
from oidc.tokens import jwt, signing_keys
from tests import browsing
from tests.factories import make_account, make_client, make_project, make_web_client
from tests.relying_party import RelyingParty
from tests.services import flushing, template

ENTRY_BUDGETS = (
    audit_lines._budget,
    request_log.refused_budget,
    request_log.unknown_budget,
    request_log.unproven_budget,
    sign_in_writer.entry_budget,
    wrong_guesses.budget,
)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> Iterator[None]:
    """Let pytest-django create the test database as a copy of a migrated one."""
    with template.copied(connection):
        yield


@pytest.fixture(autouse=True, scope="session")
def fast_flush() -> Iterator[None]:
    """Empty the database faster than Django does, on PostgreSQL, where Django takes long."""
    with flushing.fast() if connection.vendor == "postgresql" else nullcontext():
        yield


@pytest.fixture(autouse=True)
def fresh_process() -> None:
    """Clear everything that the process keeps between requests."""
    cache.clear()
    counters.cache_clear()
    process_breaker.cache_clear()
    signing_keys.clear_keyring()
    registry.use_registry(registry.Registry())
    jwt.verified_lately.clear()
    catalogue.clear_snapshot()
    resolution.reset()
    delivery.resume()
    for budget in ENTRY_BUDGETS:
        budget._had.clear()


@pytest.fixture(autouse=True)
def codes_are_mailed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send emails of the sign-in pages although the transaction around a test is never committed."""
    real = outbox.store_mail

    def store(*args: Any, **options: Any) -> Outbox:
        row: Outbox = real(*args, **options)
        blocks: Any = connection.atomic_blocks
        if not blocks or blocks[0]._from_testcase:
            delivery.send_queued(row.pk)
        return row

    patched = SimpleNamespace(store_mail=store, withdraw_mail=outbox.withdraw_mail)
    monkeypatch.setattr("accounts.mail.codes.outbox", patched)


START_TASK_THREADS = tasks._start


@pytest.fixture(autouse=True)
def queued_tasks_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run no queued task, not even in a thread that another test has started."""
    monkeypatch.setattr("core.tasks._waiting", Queue(tasks.MOST_WAITING))
    monkeypatch.setattr("core.tasks._threads", [])
    monkeypatch.setattr("core.tasks._start", lambda: None)


@pytest.fixture
def task_threads(queued_tasks_wait: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads run the queued tasks of this test, as in the service."""
    monkeypatch.setattr("core.tasks._start", START_TASK_THREADS)


@pytest.fixture(autouse=True, scope="session")
def keys_parsed_once() -> Iterator[None]:
    """Parse each signing key once for all tests, because parsing takes longer than the rest of most tests."""
    real = signing_keys._parse
    parsed: dict[tuple[str, str], signing_keys.PublishedKey] = {}

    def remember(row: SigningKey) -> signing_keys.PublishedKey:
        known_by = (row.private_encrypted, f"{settings.KEY_ENCRYPTION_KEY} {settings.KEY_ENCRYPTION_KEY_FALLBACKS}")
        if known_by not in parsed:
            parsed[known_by] = real(row)
        return parsed[known_by]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signing_keys, "_parse", remember)
        yield


@pytest.fixture(autouse=True, scope="session")
def browsers_hold_keys() -> Iterator[None]:
    """Let every test client, including that of pytest-django, handle session cookies as `browsing.Browser` does."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("session", "_set_login_cookies"):
            patch.setattr(Browser, name, vars(browsing.Browser)[name])
        yield


@pytest.fixture(autouse=True)
def cheap_passwords(request: pytest.FixtureRequest) -> None:
    """Use a fast password hash, because tests don't need the protection of a slow one."""
    settings = request.getfixturevalue("settings")
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    # Each test client loads the middleware again, which would otherwise read all static files at the first request.
    settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture
def lost_redis(request: pytest.FixtureRequest) -> None:
    """Let the service count in a Redis that can't be reached."""
    settings = request.getfixturevalue("settings")
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    backend = "core.limits.store.FailoverCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": settings.REDIS_URL}}


@pytest.fixture(autouse=True)
def windows_by_the_services_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the windows of limits use the clock that tests can move."""
    moved = SimpleNamespace(time=lambda: clock.now().timestamp())
    monkeypatch.setattr(django_ratelimit.core, "time", moved)


@pytest.fixture
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock where all windows of limits have just started, so that none ends within a test.

    A test that also uses `later` requests this one first.
    """
    moment = clock.now()
    monkeypatch.setattr(clock, "now", lambda: moment)
    # The library derives from a key's CRC when its windows end. In their last second no hit is undone.
    just_started = SimpleNamespace(crc32=lambda key: int(moment.timestamp()) - 1)
    monkeypatch.setattr(django_ratelimit.core, "zlib", just_started)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return a function that moves the service's clock: each call of `later(60)` moves it ahead by another minute."""
    ahead = timedelta(0)
    real = clock.now

    def move(seconds: float) -> None:
        nonlocal ahead
        ahead += timedelta(seconds=seconds)

    def moved() -> datetime:
        return real() + ahead

    monkeypatch.setattr(clock, "now", moved)
    return move


@pytest.fixture
def person(db: None) -> Account:
    return make_account("ada@example.com")


@pytest.fixture
def spa(db: None) -> Client:
    return make_client()


@pytest.fixture
def signed_in(client: Browser, person: Account) -> Browser:
    """A browser in which `person` is signed in, through the sign-in page."""
    from tests.factories import PASSWORD

    response = client.post("/account/login/", {"login": person.email, "password": PASSWORD})
    assert response.status_code == 302, response.content
    return client


@pytest.fixture
def app(spa: Client, signed_in: Browser) -> RelyingParty:
    """A browser app, and the browser of a person who is signed in."""
    return RelyingParty(spa, signed_in)


@pytest.fixture
def web_app(signed_in: Browser) -> RelyingParty:
    """A web app with a secret, in a separate project."""
    web, secret = make_web_client(make_project(name="Another project"), name="Web Notes")
    return RelyingParty(web, signed_in, secret)


@pytest.fixture(autouse=True)
def domains_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the lookups of app review find every proof, so that no test uses the internet."""

    def found(domain: ProjectDomain) -> ProofCheck:
        by_file = domain.method == ProjectDomain.Method.FILE
        proof = ProofResult(True)
        return ProofCheck(ProofResult(False, Code.NO_RECORD), proof) if by_file else ProofCheck(proof)

    monkeypatch.setattr("devportal.review.submission.domain_lookups.check_proofs", found)
