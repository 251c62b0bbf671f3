"""The service behind pgbouncer in transaction mode, with DATABASE_POOLING=transaction."""

import os
import time

import pytest

from tests.faults.load import declare, load
from tests.faults.rig import rig
from tests.services import pgbouncer
from tests.services.service import Service

APPS = 6
# Fewer than the service has slots: transactions of several take turns on each.
POOL_SIZE = 3

pytestmark = [
    pytest.mark.slow,
    pytest.mark.quiet,
    pytest.mark.redis,
    pytest.mark.postgres,
    pytest.mark.skipif(
        pgbouncer.why_missing() is not None and os.environ.get("CI") != "true", reason="no pgbouncer on the PATH"
    ),
]


def test_a_load_through_a_transaction_pooler_meets_no_error_and_loses_nothing() -> None:
    with rig(start=False) as made, pgbouncer.running(made.postgres.url, POOL_SIZE) as url:
        made.service.settings |= {"DATABASE_URL": url, "DATABASE_POOLING": "transaction"}
        client_id = declare(made.service, APPS)
        made.service.start()
        made.service.start_celery("worker", "--beat", "--concurrency", "1", "--schedule", _beat(made.service))
        with load(made.service, client_id, APPS) as running:
            time.sleep(5)  # some hundred transactions on three connections
            running.wait_until_back(5)
        assert running.ledger.outcomes() == {"200"}
        assert running.pages.outcomes() <= {"200", "302", "303"}
        assert running.ledger.difference(made.postgres) == []
        sql = "SELECT coalesce(sum(count), 0) FROM api_usagebucket"
        deadline = time.monotonic() + 20
        while not made.postgres.execute(sql)[0][0] and time.monotonic() < deadline:
            time.sleep(0.5)
        assert made.postgres.execute(sql)[0][0] > 0  # tasks work through it as well
        prepared = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'devportal %'"
        assert 1 <= made.postgres.execute(prepared)[0][0] <= POOL_SIZE
        assert "Traceback" not in made.service.logged(), made.service.logged()[-4000:]


def _beat(service: Service) -> str:
    return str(service.home / "beat")
