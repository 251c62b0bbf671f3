"""0.1.0 goes on serving while the next version migrates a million tokens and a million counts; then that one serves.

The next version is this state with three migrations more (next_version.py), so that there is always something to apply.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import psycopg
import pytest

from tests.services import keeper
from tests.services.many_rows import Filler
from tests.services.service import Service, unmigrated
from tests.upgrades import baseline, next_version
from tests.upgrades.load import App, Load

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

ROWS = 1_000_000
APPS = 4
ADA = "ada@example.com"
# No request may take longer, whatever the machine; docs/upgrades.md has what was measured.
SLOWEST_SECONDS = 5.0
OWN_PACKAGES = "PYTHONPATH"
LIMITED = ("API_CALLS_PER_MINUTE", "API_CALLS_PER_PERSON_PER_MINUTE", "CLIENT_REQUESTS_PER_MINUTE")


@pytest.fixture
def before() -> Iterator[Service]:
    """The service of 0.1.0, with its schema, a person and an app."""
    if reason := baseline.why_missing():
        pytest.skip(reason)
    with ExitStack() as open_things:
        source = open_things.enter_context(keeper.folder())
        baseline.unpack(source)
        packages = open_things.enter_context(keeper.folder())
        baseline.install_packages(source, packages)
        service = open_things.enter_context(unmigrated(**dict.fromkeys(LIMITED, "1000000")))
        service.source = source
        service.settings[OWN_PACKAGES] = str(packages)
        service.start()
        client = {"name": "Orbit", "type": "spa", "redirect_uris": ["https://orbit.example/callback"]}
        service.provision(
            people=[{"email": ADA, "password": "correct horse 9 battery"}],
            projects=[{"name": "P", "owner": ADA, "clients": [client]}],
        )
        yield service


@pytest.fixture
def after() -> Iterator[Path]:
    """The source of the next version."""
    with keeper.folder() as folder:
        next_version.write(folder)
        yield folder


def migrate(service: Service, source: Path) -> "subprocess.Popen[bytes]":
    """Start the `migrate` of a version's source on the database of a service."""
    return subprocess.Popen(
        [sys.executable, "manage.py", "migrate"],
        cwd=source,
        env={name: value for name, value in service.environment().items() if name != OWN_PACKAGES},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def fill(database: "psycopg.Connection[tuple[int, ...]]") -> tuple[Filler, list[App]]:
    filler = Filler(database, ADA, "Orbit")
    filler.add_families(ROWS // 10, age="-1 hour", codes=0, access=10, refresh=0)
    filler.add_usage(ROWS)
    apps = []
    for number in range(APPS):
        raw = f"first-refresh-token-of-app-number-{number}-padded"
        apps.append(App(filler.add_refresh_token(raw), raw))
    database.execute(b"ANALYZE")
    return filler, apps


def counts(filler: Filler) -> tuple[int, int, int]:
    """Return how many access tokens, rows of counts and counted calls there are."""
    usage = filler.one("SELECT coalesce(sum(count), 0)::bigint FROM api_usagebucket")
    tokens = filler.one("SELECT count(*) FROM oidc_accesstoken")
    return tokens, filler.one("SELECT count(*) FROM api_usagebucket"), usage


def check_ledger(filler: Filler, apps: list[App]) -> None:
    """What was acknowledged is there, and nothing else: each refresh, and each call."""
    for app in apps:
        stored = filler.one(f"SELECT count(*) FROM oidc_refreshtoken WHERE family_id = {app.family}")
        assert stored == app.refreshed + 1
        assert filler.one(f"SELECT count(*) FROM oidc_accesstoken WHERE family_id = {app.family}") == app.refreshed
    tokens, _, usage = counts(filler)
    assert tokens == ROWS + sum(app.refreshed for app in apps)
    assert usage == ROWS + sum(app.calls for app in apps)


def test_an_upgrade_under_load_loses_nothing_and_delays_nobody(before: Service, after: Path) -> None:
    with psycopg.connect(before.settings["DATABASE_URL"], autocommit=True) as database:
        filler, apps = fill(database)
        client_id = database.execute(b"SELECT client_id FROM oidc_client").fetchone()
        assert client_id is not None
        with Load(before.address, str(client_id[0]), apps) as load:
            time.sleep(1)
            calm, load.slowest = load.slowest, 0.0
            started = time.monotonic()
            migrating = migrate(before, after)
            said, _ = migrating.communicate(timeout=120)
            took = time.monotonic() - started
            time.sleep(1)
        print(f"migrate: {took:.1f} s, slowest {load.slowest:.3f} s of {load.requests} (before: {calm:.3f} s)")  # noqa: T201  # the figure
        assert migrating.returncode == 0, said.decode()
        assert b"Applying oidc.9003_index" in said
        assert filler.one("SELECT count(*) FROM oidc_family WHERE note IS NULL") == 0
        assert not load.faults
        assert load.slowest < SLOWEST_SECONDS
        assert before.stop() == 0  # which writes what it has counted
        check_ledger(filler, apps)
        _next_version_serves(before, after, load, filler)


def _next_version_serves(service: Service, source: Path, load: Load, filler: Filler) -> None:
    """The next version goes on from where 0.1.0 was stopped."""
    service.source = source
    del service.settings[OWN_PACKAGES]
    service.start()
    with httpx.Client(base_url=service.address, timeout=30) as http:
        for app in load.apps:
            load.step(http, app)
        again = http.post("/connect/token", data=load.grant(load.apps[0].before))
        assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert service.stop() == 0
    assert "Traceback" not in service.logged()
    check_ledger(filler, load.apps)
