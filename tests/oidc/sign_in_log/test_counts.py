"""What is counted of sign-ins: each step once for a request, exactly, and nobody's name."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import DatabaseError
from django.db.models import Sum
from django.test import Client as Browser

from accounts.models import Account
from api import usage_counts
from api.models import UsageBatch
from core import clock
from core.limits import log_buffer
from core.limits.counters import counters
from devportal.console.analytics import store
from devportal.console.models import SignInDay, SignInEvent, SignInHour
from devportal.console.tasks import clear_sign_in_counts
from oidc.authorization import consent
from oidc.models import Client
from oidc.sign_in_log import steps
from tests.factories import make_account
from tests.relying_party import RelyingParty, sign_in

Mover = Callable[[float], None]


def counted(client: Client) -> dict[str, int]:
    """Return what was counted of a client, `step` or `step:error`, and empty the tables."""
    usage_counts.flush_usage()
    tables = []
    for model in (SignInHour, SignInDay):
        rows = model._default_manager.filter(client=client).values("step", "error").annotate(times=Sum("count"))
        tables.append({f"{row['step']}:{row['error']}".rstrip(":"): row["times"] for row in rows})
        model._default_manager.all().delete()
    assert tables[0] == tables[1]
    return tables[0]


WITH_CONSENT = {"started": 1, "shown": 1, "allowed": 1, "issued": 1, "exchanged": 1, "new_person": 1}


def test_a_first_sign_in_and_what_follows(app: RelyingParty) -> None:
    tokens = app.tokens()
    assert counted(app.client) == WITH_CONSENT
    newest = app.refresh(tokens["refresh_token"]).json()["refresh_token"]
    for _ in range(2):
        app.post("/connect/revoke", {"token": newest, **app.credentials()})
    assert counted(app.client) == {"refreshed": 1, "revoked": 1}
    app.refresh(newest)
    assert counted(app.client) == {"not_refreshed:invalid_grant": 1}


def test_a_request_that_waits_for_its_person_starts_once(spa: Client, person: Account) -> None:
    app = RelyingParty(spa, Browser())
    for _ in range(3):
        assert app.authorize().status_code == 302
    assert counted(spa) == {"started": 1}
    sign_in(app.browser, person)
    for _ in range(3):
        page = app.authorize()
    assert counted(spa) == {"shown": 1}
    app.answer_consent(page)
    assert counted(spa) == {"allowed": 1, "issued": 1, "new_person": 1}


def test_a_form_that_is_sent_twice_counts_once(app: RelyingParty) -> None:
    page = app.authorize()
    app.answer_consent(page)
    app.answer_consent(page)
    assert counted(app.client) == {"started": 1, "shown": 1, "allowed": 1, "issued": 1, "new_person": 1}


def test_a_remembered_consent_and_days(app: RelyingParty, person: Account, later: Mover) -> None:
    later(86400 - clock.now().timestamp() % 86400)
    app.code()
    app.code()
    found = counted(app.client)
    assert found == {"started": 2, "shown": 1, "allowed": 1, "skipped": 1, "issued": 2, "new_person": 1}
    later(86400)
    sign_in(app.browser, person)
    for _ in range(3):
        app.code()
    assert counted(app.client) == {"started": 3, "skipped": 3, "issued": 3, "returning": 1}


def test_silent_requests_are_counted_separately(app: RelyingParty) -> None:
    app.authorize(prompt="none")
    assert counted(app.client) == {"silent": 1, "refused:consent_required": 1}
    app.code()
    counted(app.client)
    app.authorize(prompt="none")
    assert counted(app.client) == {"silent": 1, "skipped": 1, "issued": 1}


def test_cancelled_and_refused(app: RelyingParty, settings: Any) -> None:
    page = app.authorize()
    app.answer_consent(page, "cancel")
    app.answer_consent(page, "cancel")
    assert counted(app.client) == {"started": 1, "shown": 1, "cancelled:access_denied": 1}
    app.authorize(redirect_uri="https://elsewhere.example.com/")
    app.authorize(state=None)
    app.authorize(scope="email")
    assert counted(app.client) == {"turned_away:invalid_request": 2, "turned_away:invalid_scope": 1}
    settings.UNVERIFIED_APP_PEOPLE = 1
    consent.record_consent(make_account(), app.client, ["openid"])
    page = app.authorize()
    app.authorize()
    app.answer_consent(page, "cancel")
    assert counted(app.client) == {"started": 1, "refused:app_full": 1}


def test_refusals_of_the_endpoints_for_apps(web_app: RelyingParty) -> None:
    code = web_app.code()
    counted(web_app.client)
    web_app.exchange(code, client_secret="x")
    web_app.exchange(code, code_verifier="x" * 43)
    web_app.post("/connect/revoke", {"token": "x", "client_id": web_app.client.client_id, "client_secret": "x"})
    assert counted(web_app.client) == {
        "not_exchanged:invalid_client": 1,
        "not_exchanged:invalid_grant": 1,
        "not_revoked:invalid_client": 1,
    }


def test_a_flood_is_counted_to_the_last(app: RelyingParty, settings: Any) -> None:
    settings.SIGN_IN_LOG_PER_MINUTE, settings.FAILURES_PER_MINUTE = 5, 1000
    for _ in range(40):
        app.authorize(redirect_uri="https://elsewhere.example.com/")
        app.exchange("x", client_id="op_client_" + "x" * 22)  # of nobody: no room is taken
    waiting = counters()
    assert sum(field.startswith("sign_in|") for field in [*waiting._finished, *waiting.local._usage]) <= 2  # two hours
    assert counted(app.client) == {"turned_away:invalid_request": 40}
    assert SignInEvent.objects.count() <= 10


def test_a_repeated_batch_adds_nothing(app: RelyingParty, monkeypatch: pytest.MonkeyPatch) -> None:
    app.code()
    batches = list(counters().drain())
    for _ in range(2):
        usage_counts._write_batches(batches)
    assert counted(app.client)["issued"] == 1
    assert UsageBatch.objects.count() == len(batches)


def test_failed_counts_are_written_later(app: RelyingParty, monkeypatch: pytest.MonkeyPatch) -> None:
    app.code()

    def fail(*args: Any) -> None:
        raise DatabaseError

    with monkeypatch.context() as broken:
        broken.setattr(store, "_add_to", fail)
        with pytest.raises(DatabaseError):
            usage_counts.flush_usage()
    assert counted(app.client)["issued"] == 1


@pytest.mark.parametrize(
    "text", ["", "x", "op_client_x|1|issued", "op_client_x|x|issued|", "op_client_x|9999999|issued|"]
)
def test_an_unreadable_batch_does_not_stop_the_others(text: str, app: RelyingParty) -> None:
    app.code()
    log_buffer.count(steps.KIND, text)
    assert counted(app.client)["issued"] == 1


def test_hourly_counts_are_deleted_before_daily_ones(app: RelyingParty, settings: Any) -> None:
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    for days in (settings.SIGN_IN_HOUR_DAYS, settings.SIGN_IN_COUNT_DAYS):
        for age in (days, days + 1):
            start = today - timedelta(days=age)
            store.add_counts([store.SignInCount(app.client.pk, start, "issued", "", 1)])
    assert clear_sign_in_counts() == 4
    assert [today - row.hour for row in SignInHour.objects.all()] == [timedelta(days=settings.SIGN_IN_HOUR_DAYS)]
    assert max(today - row.day for row in SignInDay.objects.all()) == timedelta(days=settings.SIGN_IN_COUNT_DAYS)


def test_a_client_that_is_deleted_takes_its_counts_and_its_log(app: RelyingParty) -> None:
    app.code()
    usage_counts.flush_usage()
    assert all(model._default_manager.exists() for model in (SignInHour, SignInDay, SignInEvent))
    app.client.project.delete()
    assert not any(model._default_manager.exists() for model in (SignInHour, SignInDay, SignInEvent))
