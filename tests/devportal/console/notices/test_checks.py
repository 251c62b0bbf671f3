"""Notices that time brings: expiry, unused credentials, the limit of people and error rates."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from api.keys import API_KEYS
from api.models import ApiKey, UsageHour, UsageTotal
from core import clock
from devportal.console.models import Notice, SignInHour
from devportal.console.notices import checks, error_rates, tasks
from devportal.console.notices.error_rates import LEAST_ERRORS, LEAST_USUAL
from devportal.console.notices.kinds import NoticeKind
from oidc.authorization import consent
from oidc.clients.secrets import CLIENT_SECRETS
from oidc.models import Client, ClientSecret, Project
from oidc.projects.roles import lock_project
from oidc.sign_in_log.steps import Step
from tests.devportal.console.notices.noticing import titles_of
from tests.factories import make_account, make_client, make_key, make_web_client

pytestmark = pytest.mark.django_db
Later = Callable[[float], None]
DAY, HOUR = 86400, 3600
OWNER = "olga@example.com"


@pytest.fixture(autouse=True)
def moving_clock(later: Later) -> None:
    later(0)


def new_titles() -> list[str]:
    """Return the titles of the owner's notices since the last call."""
    found = titles_of(OWNER, lambda row: row.in_console)
    Notice.objects.all().delete()
    return found


# --- Expiry ---


def test_a_secret_that_expires_is_noticed_14_and_3_days_before(project: Project, later: Later) -> None:
    client, _ = make_web_client(project, name="Orbit")
    CLIENT_SECRETS.set_expiry(client.secrets.get(), clock.from_now(20 * DAY))
    new_titles()
    seen = {}
    for day in range(21):
        tasks.notice_expiry()
        tasks.notice_expiry()
        if titles := new_titles():
            seen[day] = titles
        later(DAY)
    assert seen == {6: ["A secret of Orbit expires in 14 days"], 17: ["A secret of Orbit expires in 3 days"]}


def test_a_key_that_expires_is_noticed_and_again_if_its_expiry_changes(project: Project, later: Later) -> None:
    key, _ = make_key(project, name="Nightly", expires_at=clock.from_now(14 * DAY - 60))
    new_titles()
    assert tasks.notice_expiry() == 1
    assert new_titles() == ["The API key Nightly expires in 14 days"]
    API_KEYS.set_expiry(key, clock.from_now(30 * DAY))
    later(16 * DAY + 60)
    assert tasks.notice_expiry() == 1


def test_a_check_that_did_not_run_for_a_day_misses_nothing(project: Project, later: Later) -> None:
    make_key(project, expires_at=clock.from_now(15 * DAY))
    later(2 * DAY)
    assert tasks.notice_expiry() == 1


@pytest.mark.parametrize("ended", ["revoked", "suspended", "deleted", "expired"])
def test_ended_credentials_are_not_noticed(project: Project, ended: str, later: Later) -> None:
    make_key(project, expires_at=clock.from_now(3 * DAY - 60))
    client, _ = make_web_client(project)
    CLIENT_SECRETS.set_expiry(client.secrets.get(), clock.from_now(3 * DAY - 60))
    if ended == "revoked":
        ApiKey.objects.update(revoked_at=clock.now())
        ClientSecret.objects.update(revoked_at=clock.now())
    elif ended == "expired":
        later(3 * DAY)
    else:
        Project.objects.update(**{f"{ended}_at": clock.now()})
    assert tasks.notice_expiry() == 0


def test_a_replaced_key_is_noticed_only_if_it_is_still_used(project: Project, later: Later) -> None:
    key, _ = make_key(project, name="Nightly")
    later(60)
    API_KEYS.rotate(key, clock.from_now(3 * DAY - 60))
    new_titles()
    assert tasks.notice_expiry() == 0
    ApiKey.objects.filter(pk=key.pk).update(last_used_at=clock.from_now(60))
    later(120)
    assert tasks.notice_expiry() == 1


def test_a_notice_that_can_not_be_raised_does_not_stop_the_others(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_web_client(name="Comet")[0]
    for client in (make_web_client(project, name="Orbit")[0], other):
        CLIENT_SECRETS.set_expiry(client.secrets.get(), clock.from_now(14 * DAY - 60))

    def lock(pk: int) -> Project:
        if pk == project.pk:
            raise OperationalError("canceling statement due to lock timeout")
        return lock_project(pk)

    monkeypatch.setattr("devportal.console.notices.checks.lock_project", lock)
    assert tasks.notice_expiry() == 1
    assert Notice.objects.filter(kind="secret_expires").get().client == other


# --- Unused ---


def test_credentials_that_are_not_used_for_90_days_are_noticed_once(project: Project, later: Later) -> None:
    make_key(project, name="Nightly")
    make_web_client(project, name="Orbit")
    ApiKey.objects.update(created_at=clock.now())
    ClientSecret.objects.update(created_at=clock.now(), last_used_at=clock.from_now(30 * DAY))
    new_titles()
    seen = {}
    later(80 * DAY)
    for day in range(80, 130):
        tasks.notice_unused()
        if titles := new_titles():
            seen[day] = titles
        later(DAY)
    assert seen == {
        90: ["The API key Nightly has not been used for 90 days"],
        120: ["A secret of Orbit has not been used for 90 days"],
    }


def test_credentials_that_were_unused_for_long_before_the_check_exists_are_not_noticed(project: Project) -> None:
    make_key(project)
    ApiKey.objects.update(created_at=clock.now() - timedelta(days=300))
    assert tasks.notice_unused() == 0


def test_unused_credentials_are_found_in_every_range(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_KEYS_AT_ONCE", 2)
    for _ in range(7):
        make_key(project)
    ApiKey.objects.update(created_at=clock.now() - timedelta(days=90, hours=1))
    assert tasks.notice_unused() == 7


# --- People ---


def join(client: Client, count: int) -> None:
    for _ in range(count):
        consent.record_consent(make_account(), client, ["openid"])
    hour = clock.now().replace(minute=0, second=0, microsecond=0)
    SignInHour.objects.get_or_create(client=client, hour=hour, step=Step.NEW_PERSON, error="", defaults={"count": 1})


def test_80_and_100_of_100_people_are_noticed_once(project: Project, settings: Any, later: Later) -> None:
    settings.UNVERIFIED_APP_PEOPLE = 10
    client = make_client(project, name="Orbit")
    seen = []
    for joined in (7, 1, 1, 1):
        join(client, joined)
        tasks.notice_errors_and_people()
        tasks.notice_errors_and_people()
        seen.append(new_titles())
    assert seen == [
        [],
        ["Orbit Notes has 8 of 10 people"],
        [],
        ["Orbit Notes has reached the limit of 10 people"],
    ]


def test_a_project_at_its_limit_keeps_no_other_from_its_notice(owner: Account, project: Project, settings: Any) -> None:
    settings.UNVERIFIED_APP_PEOPLE = 5
    earlier = make_client(project, name="Orbit")
    noticed = make_client(name="Comet")
    join(noticed, 5)
    assert tasks.notice_errors_and_people() == 1
    new_titles()
    join(earlier, 5)
    assert tasks.notice_errors_and_people() == 1
    assert new_titles() == ["Orbit Notes has reached the limit of 5 people"]


def test_reviewed_apps_have_no_limit_to_notice(project: Project, settings: Any) -> None:
    settings.UNVERIFIED_APP_PEOPLE = 3
    join(make_client(project, verified_at=clock.now()), 5)
    assert tasks.notice_errors_and_people() == 0
    settings.UNVERIFIED_APP_PEOPLE = 0
    assert tasks.notice_errors_and_people() == 0


# --- Errors ---


def sign_ins(client: Client, hours_ago: int, worked: int = 0, failed: int = 0, error: str = "invalid_scope") -> None:
    hour = clock.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=hours_ago)
    for step, code, count in ((Step.ISSUED, "", worked), (Step.REFUSED, error, failed)):
        if count:
            SignInHour.objects.update_or_create(
                client=client, hour=hour, step=step, error=code, defaults={"count": count}
            )


def test_errors_well_above_the_usual_rate_are_noticed_once_an_episode(project: Project, later: Later) -> None:
    client = make_client(project, name="Orbit")
    for hours in range(2, 24):
        sign_ins(client, hours, worked=50, failed=1)
    seen = {}
    for hour in range(20):
        sign_ins(client, 0, worked=50, failed=30 if hour in (2, 3, 4, 16) else 1)
        tasks.notice_errors_and_people()
        tasks.notice_errors_and_people()
        if titles := new_titles():
            seen[hour] = titles
        later(HOUR)
    assert seen == {2: ["More sign-in errors than usual in Orbit"], 16: ["More sign-in errors than usual in Orbit"]}


@pytest.mark.parametrize(
    ("usual", "now"),
    [
        ((50, 1), (50, LEAST_ERRORS - 1)),  # too few errors
        ((LEAST_USUAL // 22 - 1, 0), (0, 200)),  # the usual rate is not known
        ((50, 20), (50, 40)),  # it always has many errors
        ((5000, 50), (5000, 200)),  # still a small part
    ],
)
def test_other_errors_are_not_noticed(project: Project, usual: tuple[int, int], now: tuple[int, int]) -> None:
    client = make_client(project)
    for hours in range(2, 24):
        sign_ins(client, hours, *usual)
    sign_ins(client, 0, *now)
    assert tasks.notice_errors_and_people() == 0


def test_answers_that_working_apps_get_are_no_errors(project: Project) -> None:
    client = make_client(project)
    for hours in range(2, 24):
        sign_ins(client, hours, worked=50)
    sign_ins(client, 0, worked=10, failed=500, error="login_required")
    assert tasks.notice_errors_and_people() == 0


def calls(project: Project, hours_ago: int, worked: int, failed: int, **who: str) -> None:
    hour = clock.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=hours_ago)
    for status, count in ((200, worked), (403, failed)):
        code = "insufficient_scope" if status == 403 else ""
        same = {"project": project, "hour": hour, "endpoint": "me", "status": status, "code": code}
        if count:
            UsageHour.objects.create(**same, **who, count=count)
            total, _ = UsageTotal.objects.get_or_create(**same, defaults={"count": 0})
            UsageTotal.objects.filter(pk=total.pk).update(count=total.count + count)


def test_errors_of_calls_are_noticed_by_caller(project: Project) -> None:
    key, _ = make_key(project, name="Nightly")
    client = make_client(project, name="Orbit")
    new_titles()
    for hours in range(2, 12):
        calls(project, hours, 50, 1, credential=key.public_id)
        calls(project, hours, 50, 1, client=client.client_id)
    calls(project, 0, 10, 40, credential=key.public_id)
    calls(project, 0, 50, 1, client=client.client_id)
    assert tasks.notice_errors_and_people() == 1
    assert tasks.notice_errors_and_people() == 0
    assert new_titles() == ["More API errors than usual with Nightly"]
    calls(project, 1, 10, 40, client=client.client_id)
    assert tasks.notice_errors_and_people() == 1
    assert new_titles() == ["More API errors than usual with Orbit"]


# --- What they cost ---


def test_the_checks_take_no_statement_more_for_more_projects(owner: Account, project: Project) -> None:
    def taken() -> int:
        with CaptureQueriesContext(connection) as found:
            tasks.notice_expiry()
            tasks.notice_unused()
            tasks.notice_errors_and_people()
        return len(found)

    few = taken()
    for _ in range(5):
        client, _ = make_web_client(make_client(project).project)
        make_key(project, expires_at=clock.from_now(40 * DAY))
        sign_ins(client, 0, worked=1000, failed=5)
    assert taken() <= few + 2, "one range of each table that now has rows"


def test_a_notice_for_a_client_or_project_that_is_deleted_meanwhile_is_left_out(project: Project) -> None:
    client = make_client(project)
    due = checks.Due(project.pk, NoticeKind.SIGN_IN_ERRORS, "1", {}, client)
    Client.objects.filter(pk=client.pk).delete()
    assert checks.raise_due([due]) == 0
    Project.objects.update(deleted_at=clock.now())
    assert checks.raise_due([checks.Due(project.pk, NoticeKind.PEOPLE_AT_LIMIT, "1", {})]) == 0
    assert error_rates.check_error_rates() == 0
