"""Chooses the database the suite runs on, and hands out the services that marked tests need.

TEST_ENGINE=sqlite (the default) or postgres. The settings are read once, when Django starts, so the choice
is made before that: this is a pytest plugin, named in pyproject.toml, and not a conftest. With pytest-xdist
the main process starts PostgreSQL and its workers inherit the address; each has its own database there.

What a test needs beyond the database it says with a marker (redis, node, browser and so on), and gets from the fixture
of that service. A service that is missing skips the test with the reason; with CI=true it fails.
"""

import contextlib
import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.services import chromium, keeper, migrated, node, podman, postgres, proxies, redis, scheduling

# A shell in which the service is run must not change what the tests see.
SETTINGS = (
    "ADMIN_IDLE_SECONDS",
    "ADMIN_SECOND_FACTOR",
    "ADMIN_URL",
    "ALLOWED_HOSTS",
    "API_KEY_PREFIX",
    "AUDIT_DAYS",
    "AUTH_URL",
    "BASE_URL",
    "BILLING_EVENT_DAYS",
    "BEAT_METRICS_PORT",
    "BILLING_SECRET",
    "BROKER_URL",
    "CASE_TARGET_DAYS",
    "CLIENT_ID_PREFIX",
    "CLIENT_SECRET_PREFIX",
    "DATABASE_CONNECT_TIMEOUT_SECONDS",
    "DATABASE_IDLE_TRANSACTION_TIMEOUT_SECONDS",
    "DATABASE_LOCK_TIMEOUT_SECONDS",
    "DATABASE_POOLING",
    "DATABASE_STATEMENT_TIMEOUT_SECONDS",
    "DATABASE_TASK_STATEMENT_TIMEOUT_SECONDS",
    "DATABASE_URL",
    "DNS_SERVERS",
    "EMAIL_URL",
    "ENVIRONMENT",
    "GEOIP_DATABASE",
    "KEY_ENCRYPTION_KEY",
    "KEY_ENCRYPTION_KEY_FALLBACKS",
    "KEY_ENCRYPTION_KEY_FALLBACKS_FILE",
    "KEY_ENCRYPTION_KEY_FILE",
    "MEDIA_STORAGE_URL",
    "MEDIA_STORAGE_URL_FILE",
    "LOG_FORMAT",
    "METRICS_ADDRESS",
    "METRICS_PORT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OUTBOUND_LOOPBACK_PORT",
    "PASSWORD_THREADS",
    "PASSWORD_WAIT_SECONDS",
    "PLAN_SOURCE_URL",
    "PORT",
    "PROFILE_SOURCE_URL",
    "REDIS_TIMEOUT_SECONDS",
    "REDIS_URL",
    "REFRESH_GRACE_SECONDS",
    "REPLICA_DATABASE_URL",
    "REPLICA_MAX_LAG_SECONDS",
    "SECRET_KEY",
    "ADDRESS_REVERSAL_DAYS",
    "SECURITY_EVENT_DAYS",
    "SUPPORT_EMAIL",
    "HELP_URL",
    "PLANS_URL",
    "PRIVACY_URL",
    "TERMS_URL",
    "SECRET_KEY_FALLBACKS",
    "SECRET_KEY_FALLBACKS_FILE",
    "SECRET_KEY_FILE",
    "SECURITY_CONTACT",
    "SERVICE_NAME",
    "SESSION_IDLE_SECONDS",
    "SOURCE_TOKEN",
    "TRUSTED_PROXIES",
    "WORKER_METRICS_PORT",
    "WRONG_CODES_PER_ACCOUNT",
)
MARKED: dict[str, Callable[[], str | None]] = {
    "redis": redis.why_missing,
    "node": node.why_missing,
    "browser": chromium.why_missing,
    "image": podman.why_missing,
    "proxy": proxies.why_missing,
}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    """Sets the environment that the settings are read from; pytest-django reads them inside this hook."""
    engine = os.environ.get("TEST_ENGINE", "sqlite")
    if engine not in ("sqlite", "postgres"):
        raise pytest.UsageError(f"TEST_ENGINE is sqlite or postgres, not {engine!r}")
    for name in SETTINGS:
        os.environ.pop(name, None)
    services = contextlib.ExitStack()
    early_config.add_cleanup(services.close)
    os.environ["DATA_DIR"] = str(services.enter_context(keeper.folder()))
    if engine == "postgres" and postgres.why_missing() is None:
        url = services.enter_context(postgres.start(migrated.cluster))
        os.environ["DATABASE_URL"] = url
        os.environ["TEST_DATABASE_URL"] = url  # What the workers find, so that they start none.
    return (yield)


def pytest_report_header() -> str:
    """Names the engine at the top of each run."""
    return f"database: {'PostgreSQL' if on_postgres() else 'SQLite'}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--apart`."""
    parser.addoption("--apart", action="store_true", help="read only files with tests that `make test` leaves out")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves out files with everyday tests only, with `--apart`."""
    is_test = collection_path.suffix == ".py" and collection_path.name.startswith("test_")
    return True if config.getoption("apart") and is_test and not scheduling.has_apart(collection_path) else None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Marks the tests that use the database, as the others say the same on every engine, and thorough ones.

    Puts first what takes longest.
    """
    for item in items:
        fixtures: list[str] = getattr(item, "fixturenames", [])
        if item.get_closest_marker("django_db") or not {"db", "transactional_db"}.isdisjoint(fixtures):
            item.add_marker("database")
    scheduling.check_apart(items)
    scheduling.mark_thorough(items)
    yield
    if not config.getoption("loadscopereorder", True):
        scheduling.put_first(items)


# Until the tests are collected: looking for garbage takes half of the time that this takes, and there is none.
gc.disable()


def pytest_collection_finish() -> None:
    """Looks for garbage rarely, and not among what is loaded: it takes a tenth of the time of all tests otherwise."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> scheduling.Scheduling | None:
    """Shares tests that need services by what they share."""
    return scheduling.Scheduling(config, log) if config.getoption("dist") == "loadscope" else None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a test whose service is missing, or fails it in CI."""
    if os.environ.get("TEST_ENGINE") == "postgres" and not on_postgres():
        _give_up(postgres.why_missing())
    if item.get_closest_marker("postgres") and not on_postgres():
        pytest.skip("runs on PostgreSQL only: set TEST_ENGINE=postgres")
    for name, why_missing in MARKED.items():
        if item.get_closest_marker(name):
            _give_up(why_missing())


def on_postgres() -> bool:
    """Says whether this run is on PostgreSQL."""
    return "DATABASE_URL" in os.environ


def _give_up(reason: str | None) -> None:
    if reason is None:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """The address of a Redis that this test process has to itself; mark the test `redis`."""
    with redis.start() as url:
        yield url


@pytest.fixture(scope="session")
def node_clients() -> Iterator[Path]:
    """The folder of the Node scripts, their libraries installed; mark the test `node`."""
    with node.start() as folder:
        yield folder


@pytest.fixture(scope="session")
def browser() -> Iterator[chromium.Chromium]:
    """A headless browser; mark the test `browser`."""
    with chromium.start() as found:
        yield found
