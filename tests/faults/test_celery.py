"""Celery is killed in the middle of its tasks, and two beats run: nothing is lost, and nothing is done twice."""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from tests.faults.load import Ledger, declare, load
from tests.faults.mail_servers import MailServer
from tests.faults.people import NewPerson
from tests.faults.rig import Rig, rig, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.redis, pytest.mark.postgres]

PEOPLE = 3
SECONDS = 45


@pytest.fixture(scope="module")
def mail_server() -> MailServer:
    return MailServer()


@pytest.fixture(scope="module")
def production(mail_server: MailServer) -> Iterator[Rig]:
    with rig(EMAIL_URL=mail_server.url) as made:
        for number in range(2):
            made.service.start_celery("beat", "--schedule", str(made.service.home / f"beat-{number}"))
        yield made


def test_tasks_of_a_killed_worker_are_done_once_by_the_next_one(production: Rig, mail_server: MailServer) -> None:
    service, database = production.service, production.postgres
    client_id = declare(service, 2)
    people = [NewPerson(service, f"new{number}", Ledger()) for number in range(PEOPLE)]
    worker = service.start_celery("worker", "--concurrency", "4")
    with (
        load(service, client_id, apps=2) as running,
        mail_server.behaving("hangs after DATA"),
        database.locked("api_usagebucket"),
    ):
        for person in people:
            person.sign_up()
        # One email at least is on its way, and counts of usage wait for the table in the middle of their transaction.
        wait_until(lambda: mail_server.asked > 0, "no email is under way")
        wait_until(lambda: _waits_for_the_table(production), "no counts are being written")
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
    # As if the claims of the dead worker had run out.
    database.execute("UPDATE accounts_outbox SET not_before = now() - interval '1 second' WHERE sent_at IS NULL")
    service.start_celery("worker", "--concurrency", "4")
    with mail_server.behaving("well"):
        for person in people:
            code = mail_server.wait_for(person.email, SECONDS)
            assert person.type_code(code).status_code == 302
        calls = running.ledger.calls
        wait_until(lambda: _counted(production) >= calls, f"{calls} calls were made, {_counted(production)} counted")
        # Both beats have every periodic task run again.
        time.sleep(11)
    assert _counted(production) == calls
    assert [len(mail_server.to(person.email)) for person in people] == [1] * PEOPLE
    assert running.ledger.difference(database) == []


def _waits_for_the_table(production: Rig) -> bool:
    sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%api_usagebucket%'"
    return bool(production.postgres.execute(sql)[0][0])


def _counted(production: Rig) -> int:
    """Return how many calls of /v1 are in the database."""
    return int(
        production.postgres.execute("SELECT coalesce(sum(count), 0) FROM api_usagetotal WHERE status = 200")[0][0]
    )
