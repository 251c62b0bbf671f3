"""A mail server that refuses, is down, hangs or drips: people go on at once, and their codes come when it is back."""

import time
from collections.abc import Iterator

import pytest
from django.conf import settings

from tests.faults.load import Ledger
from tests.faults.mail_servers import FAULTS, MailServer, text_of
from tests.faults.people import NewPerson
from tests.faults.rig import Rig, rig
from tests.services.service import running

pytestmark = [pytest.mark.slow, pytest.mark.quiet]

# For every request. One that waited for the mail server would take EMAIL_TIMEOUT.
MOST_SECONDS = 0.8 * settings.EMAIL_TIMEOUT
# The periodic task runs every ten seconds, a code is tried every fifteen, and a worker that waits for an answer when
# the server ends has its next task after that.
BACK_SECONDS = 90
AT_ONCE_SECONDS = 5  # before the periodic task


@pytest.fixture(scope="module")
def mail_server() -> MailServer:
    return MailServer()


@pytest.fixture(scope="module")
def production(mail_server: MailServer) -> Iterator[Rig]:
    with rig(EMAIL_URL=mail_server.url) as made:
        made.service.start_celery("worker", "--concurrency", "2")
        made.service.start_celery("beat", "--schedule", str(made.service.home / "beat"))
        with mail_server.behaving("well"):  # until Celery is there
            first = NewPerson(made.service, "first", Ledger())
            first.sign_up()
            mail_server.wait_for(first.email, 40)
        yield made


@pytest.mark.redis
@pytest.mark.postgres
def test_sign_up_works_and_codes_arrive_after_recovery(production: Rig, mail_server: MailServer) -> None:
    ledger = Ledger()
    people: dict[str, NewPerson] = {}
    for fault in FAULTS:
        asked = mail_server.asked
        with mail_server.behaving(fault):
            person = NewPerson(production.service, fault.replace(" ", "-"), ledger)
            assert "code" in person.sign_up().text
            people[fault] = person
            deadline = time.monotonic() + BACK_SECONDS
            while fault != "down" and mail_server.asked == asked:
                assert time.monotonic() < deadline, f"nobody asked the server that is {fault}"
                time.sleep(0.1)
    assert ledger.outcomes() <= {"200", "302"}
    assert ledger.slowest() < MOST_SECONDS
    with mail_server.behaving("well"):
        for fault, person in people.items():
            if fault == "refuses":  # for good: it is given up
                continue
            code = mail_server.wait_for(person.email, BACK_SECONDS)
            assert person.type_code(code).status_code == 302, fault
    refused = people["refuses"].email
    rows = production.postgres.execute(
        'SELECT given_up_at IS NOT NULL, last_error, body_encrypted FROM accounts_outbox WHERE "to" = %s',
        "portal",
        refused,
    )
    assert [(row[0], "no such mailbox" in row[1], row[2]) for row in rows] == [(True, True, "")]
    assert production.postgres.execute("SELECT count(*) FROM accounts_outbox WHERE body_encrypted <> ''") == [(0,)]
    for person in people.values():
        assert len(mail_server.to(person.email)) <= 1, "an email went out twice"
    codes = [text_of(message).split() for _, message in mail_server.taken]
    logged = production.service.logged()
    assert not [word for words in codes for word in words if len(word) == 9 and word[4] == "-" and word in logged]


@pytest.mark.parametrize("fault", ["silent", "down"])
def test_sign_up_works_in_the_embedded_environment_too(fault: str) -> None:
    mail_server = MailServer()
    ledger = Ledger()
    with running(EMAIL_URL=mail_server.url) as service:
        with mail_server.behaving(fault):
            people = [NewPerson(service, f"p{number}", ledger) for number in range(3)]
            for person in people:
                assert "code" in person.sign_up().text
        assert ledger.outcomes() <= {"200", "302"}
        assert ledger.slowest() < MOST_SECONDS
        with mail_server.behaving("well"):
            for person in people:
                code = mail_server.wait_for(person.email, BACK_SECONDS)
                assert person.type_code(code).status_code == 302
            last = NewPerson(service, "last", ledger)
            last.sign_up()
            assert mail_server.wait_for(last.email, AT_ONCE_SECONDS)
