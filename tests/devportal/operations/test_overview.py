"""The operator's overview: what it says, to whom, in how many statements, and when something is lost."""

from datetime import timedelta
from smtplib import SMTPRecipientsRefused
from typing import Any

import pytest
from django.core.cache import cache
from django.db import OperationalError, connection
from django.test import Client as Browser
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from redis.exceptions import ConnectionError as RedisLost

from accounts.mail.outbox import store_mail, withdraw_mail
from accounts.mail.rendering import Mail
from accounts.models import Account, Outbox
from core import clock
from devportal.console.models import SignInEvent
from devportal.operations import overview, readers
from devportal.operations.models import TaskRun
from devportal.operations.overview import Card
from devportal.review.models import AppReview, ReviewCase
from oidc.authorization import consent
from oidc.models import Connection, SigningKey
from tests.devportal.admin.conftest import World
from tests.factories import make_account

MOST_STATEMENTS = 14


def cards_of(person: Account) -> dict[str, Card]:
    request = RequestFactory().get("/admin/")
    request.user = person
    return {card.title: card for card in overview.cards(request)}


def mail(**fields: Any) -> None:
    given = {"to": "a@example.com", "created_at": clock.now(), "not_before": clock.now()}
    Outbox.objects.create(message_id=str(Outbox.objects.count()), **(given | fields))


def test_an_operator_sees_every_card_but_the_reviews(as_operator: Browser, world: World) -> None:
    page = as_operator.get("/admin/").content.decode()
    titles = {panel.title for panel in overview.PANELS}
    assert {title for title in titles if f">{title}</a>" in page} == titles - {"Review queue", "Cases"}


def test_a_reviewer_sees_the_queue_the_cases_and_projects_near_their_limit(as_reviewer: Browser, world: World) -> None:
    page = as_reviewer.get("/admin/").content.decode()
    assert page.count('<section class="card') == 3
    assert "1 waiting" in page
    assert ">Cases</a>" in page
    assert "limit of people" in page


def test_open_and_late_cases_are_counted(superuser: Account, world: World, settings: Any) -> None:
    assert cards_of(superuser)["Cases"].value == "None"
    settings.CASE_TARGET_DAYS = 2
    ages = {"report": 1, "domain_lost": 3, "re_review": 9}
    for kind, days in ages.items():
        ReviewCase.objects.create(
            project=world.project, client=world.client, kind=kind, opened_at=clock.now() - timedelta(days=days)
        )
    closed = {"closed_at": clock.now(), "opened_at": clock.now() - timedelta(days=30)}
    ReviewCase.objects.create(project=world.project, kind="appeal", **closed)
    card = cards_of(superuser)["Cases"]
    assert (card.value, card.notes[0], card.state) == ("3 open", "1 late", "attention")
    settings.CASE_TARGET_DAYS = 4
    assert cards_of(superuser)["Cases"].state == "neutral"


def test_mails_with_a_code_do_not_count_as_given_up(superuser: Account) -> None:
    """Anyone who mistypes an email address at sign-up causes one, so OpenportMailGivenUp would fire every hour."""
    Outbox.objects.all().delete()
    soon = clock.now() + timedelta(minutes=15)
    replaced = store_mail("a@example.com", Mail("subject", "text", ""), expires_at=soon)
    assert withdraw_mail(replaced.pk)
    refused = store_mail("nobody@example.com", Mail("subject", "text", ""), expires_at=soon)
    refused.note_failure(SMTPRecipientsRefused({}), is_final=True)
    assert Outbox.objects.filter(given_up_at=None).count() == 0
    assert readers.given_up_mail() == 0
    assert cards_of(superuser)["Outbox"].state == "good"


def test_a_mailbox_that_refuses_a_mail_is_no_outage(superuser: Account) -> None:
    """It is tried for three days, during which OpenportMailWaits would fire although all other email is sent."""
    Outbox.objects.all().delete()
    before = clock.now() - timedelta(hours=3)
    refused = store_mail("gone@example.com", Mail("subject", "text", ""))
    refused.note_failure(SMTPRecipientsRefused({"gone@example.com": (550, b"no such mailbox")}))
    Outbox.objects.update(created_at=before)
    # The mail server may refuse everything.
    assert readers.waiting_mail() == (1, before)
    mail(sent_at=clock.now())
    assert readers.waiting_mail() == (1, None)
    assert cards_of(superuser)["Outbox"].notes[0] == "The mail server refuses the ones that wait."
    Outbox.objects.filter(pk=refused.pk).update(last_error="TimeoutError: the mail server took longer")
    assert readers.waiting_mail() == (1, before)


def test_it_takes_a_bounded_number_of_statements(superuser: Account, world: World) -> None:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert len(cards_of(superuser)) == len(overview.PANELS)
    asked = [query["sql"] for query in queries if "SAVEPOINT" not in query["sql"]]
    assert len(asked) <= MOST_STATEMENTS, asked


def test_the_overview_shows_what_works(superuser: Account) -> None:
    TaskRun.objects.update(watched_since=clock.now())
    found = cards_of(superuser)
    assert {title: found[title].state for title in ("Outbox", "Signing key", "Periodic tasks")} == {
        "Outbox": "good", "Signing key": "good", "Periodic tasks": "good",
    }  # fmt: skip
    assert "The next key is published on" in found["Signing key"].notes[0]


def test_the_overview_shows_problems(superuser: Account, world: World) -> None:
    long_ago = clock.now() - timedelta(days=120)
    Outbox.objects.all().delete()
    mail(created_at=clock.now() - timedelta(hours=1))
    mail(given_up_at=clock.now())
    mail(sent_at=clock.now(), created_at=long_ago)
    SigningKey.objects.update(activated_at=long_ago)
    TaskRun.objects.update(watched_since=clock.now())
    TaskRun.objects.filter(task="oidc.tasks.rotate_keys").update(watched_since=long_ago)
    AppReview.objects.update(submitted_at=long_ago)
    for number in range(80):
        Connection.objects.create(
            client=world.client, first_authorized_at=clock.now(), last_authorized_at=clock.now(),
            account=make_account(f"person{number}@example.com"),
        )  # fmt: skip
    found = cards_of(superuser)
    assert (found["Outbox"].value, found["Outbox"].state) == ("1 waiting", "bad")
    assert found["Outbox"].notes == ("The oldest has waited for 1\xa0hour", "1 given up")
    assert found["Signing key"].state == "bad"
    assert found["Periodic tasks"].value.startswith("1 of ")
    assert found["Periodic tasks"].notes == ("oidc.tasks.rotate_keys: never, for 3\xa0months",)
    assert found["Review queue"].state == "attention"
    assert found["Projects near the limit of people"].links[0][0] == world.client.project.name


def test_a_project_below_its_share_of_the_limit_is_not_near_it(superuser: Account, world: World, settings: Any) -> None:
    assert cards_of(superuser)["Projects near the limit of people"].state == "good"
    settings.UNVERIFIED_APP_PEOPLE = 1
    assert cards_of(superuser)["Projects near the limit of people"].state == "good", "owners do not count"
    consent.record_consent(make_account(), world.client, ["openid"])
    assert cards_of(superuser)["Projects near the limit of people"].state == "attention"


def test_sign_ins_of_a_day_and_of_the_day_before(superuser: Account, world: World) -> None:
    SignInEvent.objects.all().delete()
    for hours, outcome in ((1, "signed_in"), (2, "refused"), (30, "signed_in"), (31, "signed_in"), (60, "signed_in")):
        at = clock.now() - timedelta(hours=hours)
        SignInEvent.objects.create(client=world.client, at=at, endpoint="token", outcome=outcome, request_id="x")
    card = cards_of(superuser)["Sign-ins to apps, 24 hours"]
    assert card.value == "1"
    assert card.notes == ("1 refused, 0 cancelled", "The 24 hours before: 2 signed in, 0 refused")


@pytest.mark.parametrize("table", ["accounts_outbox", "console_signinevent", "operations_taskrun", "oidc_signingkey"])
def test_one_figure_that_cannot_be_read_leaves_the_others(superuser: Account, table: str) -> None:
    def lost(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if table in sql:
            raise OperationalError("canceling statement due to statement timeout")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(lost):
        found = cards_of(superuser)
    assert [card.state for card in found.values()].count("unknown") == 1
    assert len(found) == len(overview.PANELS)


@pytest.mark.postgres
def test_a_statement_that_takes_too_long_ends(superuser: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    def sleep() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(30)")
        return 0

    monkeypatch.setattr(overview, "STATEMENT_MILLISECONDS", 100)
    monkeypatch.setattr("devportal.operations.readers.given_up_mail", sleep)
    found = cards_of(superuser)
    assert found["Outbox"].state == "unknown"
    assert found["Signing key"].state == "good"


def test_a_lost_redis_is_shown(superuser: Account, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cards_of(superuser)["Redis"].value == "Not used"
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    def lost(*args: Any) -> None:
        raise RedisLost

    monkeypatch.setattr(cache, "get", lost)
    assert cards_of(superuser)["Redis"].state == "bad"
