"""Choose the database of the test run, and provide the services that marked tests need.

TEST_ENGINE is sqlite (the default) or postgres. The settings are read once, when Django starts, and the choice has to
be made before that. So this is a pytest plugin, named in pyproject.toml, and not a conftest. With pytest-xdist, the
main process starts PostgreSQL and its workers inherit the URL; each worker has its own database there.

A test uses a marker for each further service that it needs (redis, node, browser and so on), and gets it from the
fixture of that service. If a service is missing, the test is skipped with the reason; with CI=true it fails.
"""

import contextlib
import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.services import chromium, keeper, migrated, node, podman, postgres, proxies, redis, scheduling

# Variables that are removed, so that a shell in which someone runs the service does not affect the tests.
SETTINGS = (
    "ADMIN_IDLE_SECONDS", "ADMIN_SECOND_FACTOR", "ADMIN_URL", "ALLOWED_HOSTS", "API_KEY_PREFIX", "AUDIT_DAYS",
    "AUTH_URL", "BASE_URL", "BILLING_EVENT_DAYS", "BEAT_METRICS_PORT", "BILLING_SECRET", "BROKER_URL",
    "CASE_TARGET_DAYS", "CLIENT_ID_PREFIX", "CLIENT_SECRET_PREFIX", "DATABASE_CONNECT_TIMEOUT_SECONDS",
    "DATABASE_IDLE_TRANSACTION_TIMEOUT_SECONDS", "DATABASE_LOCK_TIMEOUT_SECONDS", "DATABASE_POOLING",
    "DATABASE_STATEMENT_TIMEOUT_SECONDS", "DATABASE_TASK_STATEMENT_TIMEOUT_SECONDS", "DATABASE_URL", "DNS_SERVERS",
    "EMAIL_URL", "ENVIRONMENT", "GEOIP_DATABASE", "KEY_ENCRYPTION_KEY", "KEY_ENCRYPTION_KEY_FALLBACKS",
    "KEY_ENCRYPTION_KEY_FALLBACKS_FILE", "KEY_ENCRYPTION_KEY_FILE", "MEDIA_STORAGE_URL", "MEDIA_STORAGE_URL_FILE",
    "LOG_FORMAT", "METRICS_ADDRESS", "METRICS_PORT", "OTEL_EXPORTER_OTLP_ENDPOINT", "OUTBOUND_LOOPBACK_PORT",
    "PASSWORD_THREADS", "PASSWORD_WAIT_SECONDS", "PLAN_SOURCE_URL", "PORT", "PROFILE_SOURCE_URL",
    "REDIS_TIMEOUT_SECONDS", "REDIS_URL", "REFRESH_GRACE_SECONDS", "REPLICA_DATABASE_URL", "REPLICA_MAX_LAG_SECONDS",
    "SECRET_KEY", "ADDRESS_REVERSAL_DAYS", "SECURITY_EVENT_DAYS", "SUPPORT_EMAIL", "HELP_URL", "PLANS_URL",
    "PRIVACY_URL", "TERMS_URL", "SECRET_KEY_FALLBACKS", "SECRET_KEY_FALLBACKS_FILE", "SECRET_KEY_FILE",
    "SECURITY_CONTACT", "SERVICE_NAME", "SESSION_IDLE_SECONDS", "SOURCE_TOKEN", "TRUSTED_PROXIES",
    "WORKER_METRICS_PORT", "WRONG_CODES_PER_ACCOUNT",
)  # fmt: skip
MARKED: dict[str, Callable[[], str | None]] = {
    "redis": redis.why_missing,
    "node": node.why_missing,
    "browser": chromium.why_missing,
    "image": podman.why_missing,
    "proxy": proxies.why_missing,
}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    """Set the environment that the settings are read from; pytest-django reads the settings inside this hook."""
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
        os.environ["TEST_DATABASE_URL"] = url  # for the workers, so that they start no server
    return (yield)


def pytest_report_header() -> str:
    """Print the engine at the top of each run."""
    return f"database: {'PostgreSQL' if on_postgres() else 'SQLite'}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options `--apart` and `--everyday`."""
    parser.addoption("--apart", action="store_true", help="read only files with tests that `make test` leaves out")
    parser.addoption("--everyday", action="store_true", help="leave out the files that only `make test-all` runs")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files that a run does not need, because importing them takes long."""
    if collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    if config.getoption("apart") and not scheduling.has_apart(collection_path):
        return True
    name = collection_path.relative_to(config.rootpath).as_posix()
    return True if config.getoption("everyday") and name.startswith(scheduling.THOROUGH) else None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Mark the tests that use the database, because the others need to run on one engine only, and the thorough ones.

    The tests that take longest come first.
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


# Off until the tests are collected: garbage collection would take half of that time, and there is no garbage.
gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage rarely, and not among loaded modules: otherwise it takes a tenth of the time of all tests."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> scheduling.Scheduling | None:
    """Keep tests that share a server together in one worker."""
    return scheduling.Scheduling(config, log) if config.getoption("dist") == "loadscope" else None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose service is missing, or fail it in CI."""
    if os.environ.get("TEST_ENGINE") == "postgres" and not on_postgres():
        _give_up(postgres.why_missing())
    if item.get_closest_marker("postgres") and not on_postgres():
        pytest.skip("runs on PostgreSQL only: set TEST_ENGINE=postgres")
    for name, why_missing in MARKED.items():
        if item.get_closest_marker(name):
            _give_up(why_missing())


def on_postgres() -> bool:
    """Return whether this run uses PostgreSQL."""
    return "DATABASE_URL" in os.environ


def _give_up(reason: str | None) -> None:
    if reason is None:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """The URL of a Redis that only this test process uses; mark the test `redis`."""
    with redis.start() as url:
        yield url


@pytest.fixture(scope="session")
def node_clients() -> Iterator[Path]:
    """The folder of the Node scripts, with their libraries installed; mark the test `node`."""
    with node.start() as folder:
        yield folder


@pytest.fixture(scope="session")
def browser() -> Iterator[chromium.Chromium]:
    """A headless browser; mark the test `browser`."""
    with chromium.start() as found:
        yield found
