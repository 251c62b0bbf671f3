"""What is counted, under labels that nobody outside can choose."""

from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from core.limits.counters import Throttled, check_rate
from core.telemetry import metrics
from tests.api.calls import ME, call
from tests.core.telemetry.conftest import Value
from tests.factories import PASSWORD
from tests.relying_party import RelyingParty

pytestmark = pytest.mark.django_db


def labels_in_use() -> list[str]:
    """Return every label value that was exported."""
    return [
        value
        for metric in metrics.enable().registry.collect()
        for sample in metric.samples
        for value in sample.labels.values()
    ]


def test_requests_are_counted_by_the_name_of_their_url(value: Value) -> None:
    browser = Browser()
    browser.get("/health/live")
    browser.get("/nowhere/op_secret_planted?code=planted")
    browser.generic("BREW", "/v1/me")
    call("/v1/anything-planted")
    assert value("http_requests_total", route="health_live", method="GET", status="200") == 1
    assert value("http_requests_total", route="other", method="GET", status="404") == 1
    assert value("http_requests_total", route="v1_me", method="other", status="405") == 1
    assert value("http_request_duration_seconds_count", route="health_live", method="GET") == 1
    assert value("api_refusals_total", code="not_found") == 1
    assert not [label for label in labels_in_use() if "planted" in label or "/" in label]


def test_tokens_refusals_and_the_end_of_a_family_are_counted(app: RelyingParty, value: Value, later: Any) -> None:
    first = app.exchange(app.code()).json()["refresh_token"]
    app.refresh(first)
    app.refresh(first)
    later(60)
    app.refresh(first)
    app.exchange("no-such-code")
    assert value("tokens_issued_total", grant="authorization_code") == 1
    assert value("tokens_issued_total", grant="refresh_token") == 1
    reuse = {"endpoint": "token", "error": "invalid_grant", "reason": "refresh_token_superseded"}
    assert value("refusals_total", **reuse) == 1
    repeated = {"endpoint": "token", "error": "invalid_grant", "reason": "refresh_token_repeated"}
    assert value("refusals_total", **repeated) == 1
    assert value("family_revocations_total", reason="ended_refresh_token_reused") == 1
    assert value("app_sign_ins_total", endpoint="authorize", outcome="issued") == 1
    assert value("app_sign_ins_total", endpoint="token", outcome="signed_in") == 1
    assert value("app_sign_ins_total", endpoint="token", outcome="refreshed") == 1
    assert value("refusals_total", endpoint="token", error="invalid_grant", reason="code_unknown") == 1


def test_sign_ins_are_counted_by_outcome(value: Value, person: Account) -> None:
    for password in ("wrong", PASSWORD):
        Browser().post("/account/login/", {"login": person.email, "password": password})
    assert value("sign_ins_total", outcome="wrong_password") == 1
    assert value("sign_ins_total", outcome="succeeded") == 1


def test_a_limit_is_counted_by_its_name(value: Value) -> None:
    check_rate("guesses", "192.0.2.7", 1)
    with pytest.raises(Throttled):
        check_rate("guesses", "192.0.2.7", 1)
    assert value("limits_met_total", limit="guesses") == 1
    assert "192.0.2.7" not in labels_in_use()


def test_a_refused_call_of_the_api_is_counted_by_its_code(value: Value) -> None:
    call(ME, "no-token")
    assert value("api_refusals_total", code="invalid_token") == 1
