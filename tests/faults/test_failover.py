"""PostgreSQL is lost and its standby takes over, and back again: the service goes on without a restart."""

import contextlib
import signal

import httpx
import pytest

from tests.clients.person import Person
from tests.faults.load import declare
from tests.faults.replica import caught_up, follow, replica_of
from tests.faults.rig import rig
from tests.image.stack import soon

pytestmark = [pytest.mark.slow, pytest.mark.redis, pytest.mark.postgres]

BACK_SECONDS = 10.0


def test_a_standby_takes_over_and_the_first_server_comes_back() -> None:
    with rig(start=False, workers=1) as made, replica_of(made.postgres) as standby:
        declare(made.service, 1)
        ports = f"127.0.0.1:{made.postgres.cluster.port},127.0.0.1:{standby.cluster.port}"
        credentials = made.postgres.url.partition("@")[0]
        made.service.settings["DATABASE_URL"] = f"{credentials}@{ports}/portal?target_session_attrs=read-write"
        made.service.start()
        person = Person(made.service, "p0@example.com")

        def writes() -> bool:
            """Return whether the person can change her name, and sees it."""
            with contextlib.suppress(httpx.TransportError, AssertionError):
                page = person.visit("/account/profile")
                return person.fill_in(page, "given_name", given_name="Grace").status_code == 302
            return False

        assert writes()
        for lost, heir in ((made.postgres, standby), (standby, made.postgres)):
            assert caught_up(lost, heir)
            lost.stop(signal.SIGKILL)
            heir.execute("SELECT pg_promote()")
            soon(writes, "a change", BACK_SECONDS)
            follow(heir, lost)
