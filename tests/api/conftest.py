"""Callers of the developer API, a secret scanner, and counters that begin at zero."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import redis

from accounts.models import Account
from accounts.profile import sources
from api.models import ApiKey
from core import clock
from core.limits.counters import Counters, RedisCounters, counters
from oidc.models import Client, Project
from tests.api.scanning import ScannerKey
from tests.factories import make_access_token, make_client, make_key, make_project

Mover = Callable[[float], None]  # moves the clock of the service ahead by so many seconds


@pytest.fixture(autouse=True)
def fresh_counters() -> Iterator[None]:
    """Reset the counters and the cached sources of profiles."""
    _forget()
    yield
    _forget()


def _forget() -> None:
    counters.cache_clear()
    sources._sources = None


@pytest.fixture
def count() -> Counters:
    """The counters that the service uses in this test."""
    return counters()


@pytest.fixture
def scanner(settings: Any) -> ScannerKey:
    """A secret scanner whose key the service knows."""
    key = ScannerKey()
    settings.LEAK_REPORT_KEYS = key.document
    return key


@pytest.fixture
def mid_minute(later: Callable[[float], None]) -> Callable[[float], None]:
    """Move the clock to the first second of a minute, so that a test's calls fall into one window."""
    later(60 - clock.now().timestamp() % 60)
    return later


@dataclass
class Key:
    """An API key, with the raw value that its owner has."""

    row: ApiKey
    raw: str
    project: Project
    owner: Account


@pytest.fixture
def key(person: Account) -> Key:
    project = make_project(person)
    row, raw = make_key(project, person)
    return Key(row, raw, project, person)


@pytest.fixture
def approved(db: None) -> Client:
    """An app that is approved to read plans."""
    return make_client(approved_scopes="account.read")


@pytest.fixture
def token(spa: Client, person: Account) -> str:
    """An access token of `person` for the app `spa`, with the basic scopes."""
    return make_access_token(spa, person)


@pytest.fixture
def store(redis_url: str) -> Any:
    """An empty Redis."""
    client = redis.Redis.from_url(redis_url)
    client.flushall()
    return client


@pytest.fixture
def shared(redis_url: str, store: Any, monkeypatch: pytest.MonkeyPatch) -> Counters:
    """The service's counters, on Redis."""
    made = Counters(RedisCounters(redis_url))
    for module in ("api.throttling", "api.usage_counts", "core.limits.counters", "core.limits.log_buffer"):
        monkeypatch.setattr(f"{module}.counters", lambda: made)
    return made
