"""GET /v1/me/plan: the plan object and how it may be cached (docs/api.md#get-v1meplan)."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from accounts.plans import resolution
from accounts.profile.sources import HttpSource
from tests.api.calls import ME, PLAN, call, refusal
from tests.api.conftest import Key

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


def test_a_plan_that_may_not_be_kept_says_so(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolution.DatabasePlans, "plan", lambda self, account: PAID | {"cache_max_age": 0})
    assert call(PLAN, key.raw)["Cache-Control"] == "private, max-age=0"


@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', '"a",{} , "b"', "*"])
def test_an_unchanged_plan_is_304(form: str, key: Key) -> None:
    first = call(PLAN, key.raw)
    again = call(PLAN, key.raw, **{"If-None-Match": form.format(first["ETag"])})
    assert again.status_code == 304
    assert again.content == b""
    # RFC 9110 §15.4.5: what a 200 would have said of caching.
    for name in ("ETag", "Cache-Control", "Vary"):
        assert again[name] == first[name]
    assert again["RateLimit-Remaining"] == str(int(first["RateLimit-Remaining"]) - 1)


@pytest.mark.parametrize("form", ['"other"', "", "nonsense", '"{}', '"\xff"', '"*"', "W/", ","])
def test_a_changed_plan_is_sent(form: str, key: Key) -> None:
    etag = call(PLAN, key.raw)["ETag"].strip('"')
    assert call(PLAN, key.raw, **{"If-None-Match": form.format(etag[:-1])}).status_code == 200


def test_another_plan_has_another_etag(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    free = call(PLAN, key.raw)["ETag"]
    monkeypatch.setattr(resolution.DatabasePlans, "plan", lambda self, account: PAID)
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


# --- A plan that lives elsewhere ---


def use(monkeypatch: pytest.MonkeyPatch, answer: Callable[[httpx.Request], httpx.Response]) -> None:
    """Have plans come from the operator's own service."""
    source = HttpSource("https://billing.example/plan", "", httpx.MockTransport(answer))
    monkeypatch.setattr(resolution, "_source", resolution.HttpPlans(source))


def test_the_plan_is_passed_on_unchanged_without_other_fields(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, lambda request: httpx.Response(200, json=PAID | {"account_id": 7, "customer": "cus_1"}))
    response = call(PLAN, key.raw)
    assert response.json() == PAID
    assert response["Cache-Control"] == "private, max-age=17"


@pytest.mark.parametrize(
    "changes",
    [
        {"plan_id": None},
        {"plan_id": ""},
        {"plan_display_name": 7},
        {"source": "gift"},
        {"state": "active"},
        {"state": "free"},
        {"read_only": "no"},
        {"read_only": True},
        {"cache_max_age": -1},
        {"cache_max_age": True},
        {"cache_max_age": 1.5},
        {"apps": "notes"},
        {"apps": [1]},
        {"addons": []},
        {"addons": {"storage": 2}},
        {"addons": {"storage": {"quantity": 0}}},
        {"entitlements": None},
        {"entitlements": {"a": {"status": "maybe", "limit": None, "unit": None}}},
        {"entitlements": {"a": {"status": "granted", "limit": "12", "unit": None}}},
        {"entitlements": {"a": {"status": "granted", "limit": 1, "unit": 2}}},
    ],
    ids=str,
)
def test_an_invalid_plan_is_rejected(changes: dict[str, Any], key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, lambda request: httpx.Response(200, json=PAID | changes))
    response = call(PLAN, key.raw)
    assert refusal(response) == (502, "upstream_unavailable")
    assert response["Cache-Control"] == "no-store"
    assert "ETag" not in response
    assert call(ME, key.raw).status_code == 200


@pytest.mark.parametrize("name", sorted(PAID))
def test_a_plan_without_one_of_its_fields_is_none(name: str, key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, lambda request: httpx.Response(200, json={k: v for k, v in PAID.items() if k != name}))
    assert refusal(call(PLAN, key.raw)) == (502, "upstream_unavailable")


def test_an_old_etag_does_not_hide_that_it_is_down(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, lambda request: httpx.Response(200, json=PAID))
    etag = call(PLAN, key.raw)["ETag"]
    use(monkeypatch, lambda request: httpx.Response(503))
    assert refusal(call(PLAN, key.raw, **{"If-None-Match": etag})) == (502, "upstream_unavailable")
