"""The demo's week: made once, the same from each place that tells of it, and good for nothing but to look at."""

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models import Count, Sum
from django.test import Client as Browser
from django.urls import reverse

from accounts.models import Account
from api.models import ApiKey, RequestLog, UsageBucket, UsageDay, UsageHour, UsageTotal
from core import clock
from core.credentials import digest
from devportal.console.models import AuditEvent, SignInDay, SignInEvent, SignInHour
from devportal.operations.provisioning import demo, demo_week, provision
from devportal.operations.provisioning.demo_week.people import NAMES, address
from devportal.review.submission import developer_actions
from devportal.review.submission.requirements import why_not_approvable
from oidc.apis.credentials import replace_credentials
from oidc.models import ApiCredential, Client, ClientSecret, Connection, Project, TokenFamily
from oidc.sign_in_log.steps import Step
from oidc.values.reasons import Reason

FILE = Path(__file__).resolve().parents[4] / "deploy" / "demo.toml"
pytestmark = pytest.mark.django_db


@pytest.fixture
def result(settings: Any) -> dict[str, Any]:
    settings.EMBEDDED = True
    return provision(FILE)


@pytest.fixture
def made(result: dict[str, Any]) -> dict[str, Any]:
    assert demo_week.make_week(result)
    return result


def steps(model: Any) -> Counter[tuple[int, str, str]]:
    rows = model.objects.values_list("client", "step", "error").annotate(times=Sum("count"))
    return Counter({(client, step, error): times for client, step, error, times in rows})


def test_the_app_of_the_readme_can_be_submitted_as_it_says(result: dict[str, Any]) -> None:
    readme = (FILE.parents[1] / "README.md").read_text(encoding="utf-8")
    step = readme.partition("\n4. ")[2].partition("\n\n")[0]
    name, (home_page, privacy_policy, support) = step.split("*")[1], re.findall(r"`([^`]+)`", step)
    client, developer = Client.objects.get(name=name), Account.objects.get(email="developer@example.com")
    branding = {"home_page_url": home_page, "privacy_policy_url": privacy_policy, "support_address": support}
    developer_actions.save_submission(client, developer, {"name": name} | branding)
    review = developer_actions.submit(client, developer)
    assert why_not_approvable(client, review.snapshot) == ""


def test_the_demo_week_is_created_once(made: dict[str, Any]) -> None:
    before = [model._default_manager.count() for model in (SignInEvent, RequestLog, Account, SignInHour, ClientSecret)]
    assert not demo_week.make_week(made)
    # Nor by a start after everything was deleted on purpose: the trail remembers.
    Connection.objects.all().delete()
    assert not demo_week.make_week(made)
    after = [model._default_manager.count() for model in (SignInEvent, RequestLog, Account, SignInHour, ClientSecret)]
    assert before == after
    assert AuditEvent.objects.filter(action=demo_week.MADE).count() == 1


def test_the_demo_week_is_not_created_in_production_or_with_used_apps(result: dict[str, Any], settings: Any) -> None:
    settings.EMBEDDED = False
    assert not demo_week.make_week(result)
    settings.EMBEDDED = True
    now = clock.now()
    Connection.objects.create(client=Client.objects.all()[0], first_authorized_at=now, last_authorized_at=now)
    assert not demo_week.make_week(result)
    assert not SignInEvent.objects.exists()


def test_the_demo_week_is_not_created_with_used_keys(result: dict[str, Any]) -> None:
    project = Project.objects.get(public_id=result["projects"][0]["id"])
    RequestLog.objects.create(project=project, at=clock.now(), method="GET", path="/v1/me", status=200, milliseconds=3)
    assert not demo_week.make_week(result)
    assert not AuditEvent.objects.filter(action=demo_week.MADE).exists()


def test_provisioning_the_same_file_makes_none(settings: Any) -> None:
    settings.EMBEDDED = True
    call_command("provision", str(FILE), stdout=StringIO())
    assert not SignInEvent.objects.exists()


def test_the_demo_makes_a_week_and_its_secrets_stay_readable_after_another_start(settings: Any, tmp_path: Path) -> None:
    settings.EMBEDDED, settings.DATA_DIR = True, tmp_path
    told = demo.prepare_demo(FILE)
    assert SignInEvent.objects.exists()
    assert "developer@example.com" in told
    assert not any(address(name) in told for name in NAMES)
    first = (tmp_path / demo.CREDENTIALS_FILE).read_text()
    assert "http://localhost:3100  calendar; `make api` starts it" in demo.prepare_demo(FILE)
    assert (tmp_path / demo.CREDENTIALS_FILE).read_text() == first
    (api,) = json.loads(first)["apis"]
    assert digest(api["credential"]["secret"]) == ApiCredential.objects.get().digest
    # One that an operator created since is not in the file, which then has no secret to offer.
    replace_credentials(ApiCredential.objects.get().api)
    demo.prepare_demo(FILE)
    (api,) = json.loads((tmp_path / demo.CREDENTIALS_FILE).read_text())["apis"]
    assert api["credential"] == {"id": ApiCredential.objects.live().get().public_id, "secret": None}


def test_usage_is_the_same_by_minute_hour_day_and_in_the_log(made: dict[str, Any]) -> None:
    sums = [
        model._default_manager.aggregate(n=Sum("count"))["n"]
        for model in (UsageBucket, UsageHour, UsageDay, UsageTotal)
    ]
    assert len({*sums, RequestLog.objects.count()}) == 1
    logged = Counter(RequestLog.objects.values_list("status", "code", "client", "credential"))
    rows = UsageBucket.objects.values_list("status", "code", "client", "credential").annotate(n=Sum("count"))
    assert logged == Counter({tuple(kind): n for *kind, n in rows})
    assert {401, 403, 429, 500} <= {status for status, *_ in logged}
    assert set(RequestLog.objects.exclude(client="").values_list("client", flat=True)) <= set(
        Client.objects.values_list("client_id", flat=True)
    )


def test_steps_are_the_same_in_the_log_the_counts_and_the_families(made: dict[str, Any]) -> None:
    counted = steps(SignInHour)
    assert counted == steps(SignInDay)
    logged = Counter(SignInEvent.objects.values_list("client", "outcome", "error"))
    by_outcome = {"issued": "issued", "signed_in": "exchanged", "refreshed": "refreshed", "revoked": "revoked"}
    refused = ("refused", "turned_away", "not_exchanged", "not_refreshed")
    told = Counter[tuple[int, str, str]]()
    for (client, step, error), times in counted.items():
        outcome = "refused" if step in refused else step
        outcome = next((name for name, of in by_outcome.items() if of == step), outcome)
        if outcome in SignInEvent.Outcome.values:
            told[client, outcome, error] += times
    assert told == logged
    assert Client.objects.count() > 1
    for client in Client.objects.all():
        found = {step.value: counted[client.pk, step.value, ""] for step in Step}
        assert found["started"] + found["silent"] >= found["shown"] + found["skipped"] > 0
        assert found["shown"] >= found["allowed"]
        assert found["issued"] == found["allowed"] + found["skipped"] >= found["exchanged"] > 0
    of = dict(TokenFamily.objects.values_list("pk", "connection__client"))
    assert SignInEvent.objects.filter(family__in=of).exists()
    for event in SignInEvent.objects.all():
        if event.family is None:
            assert event.outcome in ("refused", "cancelled")
        else:
            assert of[event.family] == event.client_id
    at_token = SignInEvent.objects.filter(outcome="refused").exclude(endpoint="authorize")
    reasons = set(at_token.values_list("reason", flat=True))
    assert len(reasons) >= 6
    assert reasons <= set(Reason)


@pytest.mark.parametrize("hour", [0, 13])
def test_people_are_the_same_in_the_counts_and_the_connections(
    hour: int, result: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = clock.now().replace(hour=hour, minute=25)
    monkeypatch.setattr(clock, "now", lambda: now)
    assert demo_week.make_week(result)
    new = Counter(dict(Connection.objects.values_list("client").annotate(n=Count("pk")).order_by()))
    counted = {client: n for (client, step, _), n in steps(SignInDay).items() if step == "new_person"}
    assert new == counted
    days = Counter[tuple[int, datetime]]()
    first_days = {(row.pk, row.first_authorized_at.date()) for row in Connection.objects.all()}
    seen = {(row.connection_id, row.created_at.date()) for row in TokenFamily.objects.all()}
    clients = dict(Connection.objects.values_list("pk", "client"))
    for connection, day in seen - first_days:
        days[clients[connection], datetime(day.year, day.month, day.day, tzinfo=UTC)] += 1
    returning = SignInDay.objects.filter(step="returning").values_list("client", "day", "count")
    assert days == Counter({(client, day): n for client, day, n in returning})
    assert clients
    for row in Connection.objects.prefetch_related("families"):
        assert row.first_authorized_at <= row.last_authorized_at <= clock.now()
        assert (
            max((family.created_at for family in row.families.all()), default=row.last_authorized_at)
            == row.last_authorized_at
        )


def test_the_demo_week_has_no_data_older_than_its_retention(result: dict[str, Any], settings: Any) -> None:
    settings.SIGN_IN_LOG_DAYS, settings.REQUEST_LOG_DAYS = 2, 3
    demo_week.make_week(result)
    now = clock.now()
    assert SignInEvent.objects.earliest("at").at >= now - timedelta(days=2, minutes=3)
    assert RequestLog.objects.earliest("at").at >= now - timedelta(days=3, minutes=3)
    assert SignInDay.objects.earliest("day").day < now - timedelta(days=6)
    assert SignInEvent.objects.latest("at").at <= now


def test_the_demo_fills_the_pages_with_people_who_can_not_sign_in(made: dict[str, Any], client: Browser) -> None:
    people = Account.objects.filter(email__in=[address(name) for name in NAMES])
    assert people.count() == len(NAMES) <= 25
    assert not any(account.has_usable_password() for account in people)
    assert all(account.email.endswith("@example.com") for account in people)
    assert set(Connection.objects.values_list("account", flat=True)) <= set(people.values_list("pk", flat=True))
    client.force_login(Account.objects.get(email="developer@example.com"))
    project = Project.objects.get(public_id=made["projects"][0]["id"])
    for name in ("project_analytics", "usage", "requests", "people"):
        assert client.get(reverse(f"console:{name}", args=[project.public_id])).status_code == 200
    assert ApiKey.objects.get(name=demo_week.KEY_NAME).last_used_at is not None
