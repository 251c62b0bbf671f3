"""GET /v1/me/plan: the plan object (specification 2.2), and how it may be kept (design 5)."""

from typing import Any

import pytest

from accounts.models import Account
from accounts.plans import sources
from oidc.models import Client
from tests.api.calls import PLAN, call
from tests.api.conftest import Key
from tests.factories import make_access_token

PAID: dict[str, Any] = {
    "plan_id": "pro",
    "plan_display_name": "Pro",
    "source": "family",
    "state": "PastDue",
    "read_only": False,
    "cache_max_age": 17,
    "apps": ["notes"],
    "addons": {"storage": {"quantity": 2}},
    "entitlements": {"notes.count": {"status": "granted_with_limit", "limit": 12.5, "unit": "GB"}},
}


def test_without_a_paid_plan(key: Key) -> None:
    assert call(PLAN, key.raw).json() == {
        "plan_id": "free",
        "plan_display_name": "Free",
        "source": "free",
        "state": "free",
        "read_only": False,
        "cache_max_age": 300,
        "apps": [],
        "addons": None,
        "entitlements": {},
    }


def test_an_approved_app_reads_it_too(approved: Client, person: Account) -> None:
    token = make_access_token(approved, person, ["openid", "account.read"])
    assert call(PLAN, token).json()["plan_id"] == "free"


def test_it_says_how_long_it_may_be_kept(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources.DatabasePlans, "plan", lambda self, account: PAID)
    response = call(PLAN, key.raw)
    assert response.json() == PAID
    assert response["Cache-Control"] == "private, max-age=17"
    assert response["Vary"] == "Authorization"


def test_a_plan_that_may_not_be_kept_says_so(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources.DatabasePlans, "plan", lambda self, account: PAID | {"cache_max_age": 0})
    assert call(PLAN, key.raw)["Cache-Control"] == "private, max-age=0"


@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', '"a",{} , "b"', "*"])
def test_what_is_unchanged_is_not_sent_again(form: str, key: Key) -> None:
    first = call(PLAN, key.raw)
    again = call(PLAN, key.raw, **{"If-None-Match": form.format(first["ETag"])})
    assert again.status_code == 304
    assert again.content == b""
    # RFC 9110 §15.4.5: what a 200 would have said of caching.
    for name in ("ETag", "Cache-Control", "Vary"):
        assert again[name] == first[name]
    assert again["RateLimit-Remaining"] == str(int(first["RateLimit-Remaining"]) - 1)


@pytest.mark.parametrize("form", ['"other"', "", "nonsense", '"{}', '"\xff"', '"*"', "W/", ","])
def test_what_does_not_match_is_sent(form: str, key: Key) -> None:
    etag = call(PLAN, key.raw)["ETag"].strip('"')
    assert call(PLAN, key.raw, **{"If-None-Match": form.format(etag[:-1])}).status_code == 200


def test_another_plan_has_another_etag(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    free = call(PLAN, key.raw)["ETag"]
    monkeypatch.setattr(sources.DatabasePlans, "plan", lambda self, account: PAID)
    changed = call(PLAN, key.raw, **{"If-None-Match": free})
    assert changed.status_code == 200
    assert changed["ETag"] != free
    assert changed["ETag"].startswith('"')


def test_an_etag_opens_nothing(key: Key, token: str) -> None:
    etag = call(PLAN, key.raw)["ETag"]
    for credential, status in ((None, 401), ("op_key_x", 401), (token, 403)):
        assert call(PLAN, credential, **{"If-None-Match": etag}).status_code == status


def test_a_profile_is_never_unchanged(key: Key) -> None:
    response = call("/v1/me", key.raw, **{"If-None-Match": "*"})
    assert response.status_code == 200
    assert "ETag" not in response
