"""The limits of docs/api.md#limits, counted in the process: windows, what a refusal costs, and many at once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from api import keys
from core import clock
from core.limits import counters
from core.limits.counters import Counters, Finished, Limit, LocalCounters
from oidc.models import Client
from tests.api.calls import ME, PLAN, call, refusal
from tests.api.conftest import Key, Mover
from tests.factories import make_access_token, make_account, make_client, make_key, make_project


def use_up(calls: int, credential: str, path: str = ME) -> list[int]:
    return [call(path, credential).status_code for _ in range(calls)]


# --- How many ---


def test_six_hundred_for_a_key(key: Key, mid_minute: Mover) -> None:
    limits = counters.counters()
    for _ in range(598):
        limits.take([Limit(f"key:{key.row.public_id}", 600)])
    first, last, beyond = call(ME, key.raw), call(PLAN, key.raw), call(ME, key.raw)
    assert [first["RateLimit-Remaining"], last["RateLimit-Remaining"]] == ["1", "0"]
    assert (first.status_code, last.status_code) == (200, 200)
    assert refusal(beyond) == (429, "rate_limited")
    assert (beyond["RateLimit-Limit"], beyond["RateLimit-Remaining"]) == ("600", "0")


def test_persons_and_apps_are_counted_apart(spa: Client, person: Account, mid_minute: Mover, settings: Any) -> None:
    settings.API_CALLS_PER_PERSON_PER_MINUTE = 2
    eve = make_account()
    sibling = make_client(spa.project, name="Sibling")
    assert use_up(3, make_access_token(spa, person)) == [200, 200, 429]
    # Another token of the same person and app is no way around it.
    assert use_up(1, make_access_token(spa, person)) == [429]
    assert use_up(3, make_access_token(spa, eve)) == [200, 200, 429]
    assert use_up(3, make_access_token(sibling, person)) == [200, 200, 429]


def test_an_app_has_one_limit_for_all_its_people(spa: Client, mid_minute: Mover, settings: Any) -> None:
    settings.API_CALLS_PER_MINUTE, settings.API_CALLS_PER_PERSON_PER_MINUTE = 5, 3
    ada, eve, joe = (make_access_token(spa, make_account()) for _ in range(3))
    assert use_up(3, ada) == [200] * 3
    response = call(ME, eve)
    # The tightest is told: one left for the app, two for the person.
    assert (response["RateLimit-Limit"], response["RateLimit-Remaining"]) == ("5", "1")
    assert use_up(2, eve) == [200, 429]
    assert use_up(1, joe) == [429]


def test_keys_are_counted_apart(person: Account, mid_minute: Mover, settings: Any) -> None:
    settings.API_CALLS_PER_MINUTE = 1
    project = make_project(person)
    for _ in range(2):
        assert use_up(2, make_key(project, person)[1]) == [200, 429]


def test_both_endpoints_share_one_limit(key: Key, mid_minute: Mover, settings: Any) -> None:
    settings.API_CALLS_PER_MINUTE = 2
    assert use_up(1, key.raw, PLAN) + use_up(1, key.raw) + use_up(1, key.raw, PLAN) == [200, 200, 429]


# --- What costs, and what does not ---


def test_a_rejected_call_is_not_counted(spa: Client, mid_minute: Mover, settings: Any) -> None:
    settings.API_CALLS_PER_MINUTE, settings.API_CALLS_PER_PERSON_PER_MINUTE = 4, 1
    ada, eve = (make_access_token(spa, make_account()) for _ in range(2))
    assert use_up(10, ada) == [200] + [429] * 9
    # Nine refusals of one person took nothing from the app.
    assert call(ME, eve)["RateLimit-Remaining"] == "0"
    assert use_up(1, make_access_token(spa, make_account())) == [200]
    assert use_up(1, make_access_token(spa, make_account())) == [200]
    assert use_up(1, make_access_token(spa, make_account())) == [429]


def test_calls_rejected_before_the_limits_are_not_counted(key: Key, mid_minute: Mover) -> None:
    for path, credential, method in ((ME, None, "POST"), ("/v1/x", None, "GET"), (ME, key.raw + "x", "GET")):
        call(path, credential, method)
    assert call(ME, key.raw)["RateLimit-Remaining"] == "599"


# --- Windows ---


def test_a_window_is_a_minute_of_the_clock(key: Key, mid_minute: Mover, settings: Any) -> None:
    settings.API_CALLS_PER_MINUTE = 2
    mid_minute(50)
    assert use_up(3, key.raw) == [200, 200, 429]
    refused = call(ME, key.raw)
    assert int(refused["Retry-After"]) == int(refused["RateLimit-Reset"]) <= 10
    mid_minute(int(refused["Retry-After"]))
    assert use_up(3, key.raw) == [200, 200, 429]


@pytest.mark.parametrize(("second", "wait"), [(0, 60), (1, 59), (30, 30), (59, 1), (59.999, 1)])
def test_the_wait_is_from_one_to_sixty(
    second: float, wait: int, key: Key, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.API_CALLS_PER_MINUTE = 1
    moment = datetime.fromtimestamp(1_800_000_000 + second, UTC)
    monkeypatch.setattr(clock, "now", lambda: moment)
    call(ME, key.raw)
    assert call(ME, key.raw)["Retry-After"] == str(wait)


def test_a_clock_that_goes_back_harms_nothing(key: Key, mid_minute: Mover, settings: Any) -> None:
    settings.API_CALLS_PER_MINUTE = 1
    assert use_up(2, key.raw) == [200, 429]
    mid_minute(-120)
    assert use_up(2, key.raw) == [200, 429]


# --- Many at once ---


@pytest.mark.parametrize("threads", [4, 32])
def test_a_thousand_at_the_edge_of_a_window(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    local = LocalCounters()
    base, started = 1_800_000_000 // 60 * 60 + 59, threading.Event()
    calls = iter(range(10**9))
    # The edge comes in the middle of the calls.
    monkeypatch.setattr(clock, "timestamp", lambda: base + (next(calls) >= 700))

    def one(number: int) -> bool:
        started.wait()
        return local.take([Limit("app:x", 600), Limit("person:x", 10_000)], Finished()).allowed

    with ThreadPoolExecutor(threads) as pool:
        waiting = [pool.submit(one, number) for number in range(2000)]
        started.set()
        allowed = [future.result() for future in waiting]
    # Two windows: the first gives 600 of 700, the second 600 of 1,300.
    assert sum(allowed) == 1200


def test_no_count_is_lost_between_threads() -> None:
    local = LocalCounters()
    with ThreadPoolExecutor(16) as pool:
        allowed = list(pool.map(lambda _: local.take([Limit("a", 500)], Finished({"f": 1})).allowed, range(1000)))
    # A minute may pass in the middle of it.
    assert sum(allowed) in (500, 1000)
    drained = local.drain()
    assert drained is not None
    assert drained[1] == Finished({"f": 1000}, [])


# --- Bounds ---


def test_counters_are_kept_for_their_minute_and_no_longer(mid_minute: Mover) -> None:
    local = LocalCounters()
    for number in range(500):
        local.take([Limit(str(number), 1)], Finished())
    assert sum(map(len, local._counts.values())) == 500
    mid_minute(120)
    local.take([Limit("another", 1)], Finished())
    assert sum(map(len, local._counts.values())) == 1


def test_a_flood_of_others_resets_no_limit(mid_minute: Mover) -> None:
    local = LocalCounters()
    for _ in range(20):
        local.take([Limit("key:quiet", 20)], Finished())
    for number in range(20_000):
        local.take([Limit(f"guesses:{number}", 300)], Finished())
    assert not local.take([Limit("key:quiet", 20)], Finished()).allowed


# --- Guesses ---


def test_guesses_are_limited_by_address(db: None, mid_minute: Mover, settings: Any) -> None:
    settings.API_GUESSES_PER_MINUTE = 2
    assert [refusal(call(ME, guess)) for guess in ("op_key_1", "x", "y")] == [
        (401, "invalid_api_key"),
        (401, "invalid_token"),
        (429, "rate_limited"),
    ]
    response = call(ME, "z")
    assert 1 <= int(response["Retry-After"]) <= 60
    assert "RateLimit-Limit" not in response
    mid_minute(60)
    assert refusal(call(ME, "x")) == (401, "invalid_token")


def test_guesses_do_not_count_for_others(key: Key, token: str, mid_minute: Mover, settings: Any) -> None:
    settings.API_GUESSES_PER_MINUTE = 3
    use_up(10, "op_key_guess")
    assert call(ME, key.raw)["RateLimit-Remaining"] == "599"
    assert call(ME, token)["RateLimit-Remaining"] == "119"
    assert use_up(1, "op_key_guess") == [429]


def test_a_caller_at_its_limit_is_no_guesser(key: Key, mid_minute: Mover, settings: Any) -> None:
    settings.API_CALLS_PER_MINUTE, settings.API_GUESSES_PER_MINUTE = 1, 1
    use_up(5, key.raw)
    assert refusal(call(ME, "op_key_guess")) == (401, "invalid_api_key")


def test_a_dead_credential_is_no_guess(key: Key, mid_minute: Mover, settings: Any) -> None:
    # It proves that its sender had it; an app whose access was removed is told so, however often.
    settings.API_GUESSES_PER_MINUTE = 1
    keys.API_KEYS.revoke(key.row)
    assert use_up(4, key.raw) == [401] * 4
    assert refusal(call(ME, "op_key_guess")) == (401, "invalid_api_key")


def test_an_odd_address_harms_nothing(db: None) -> None:
    for address in ("", "unix:", "127.0.0.1:80", "\x00", "::ffff:192.0.2.1", "fe80::1%eth0"):
        response = Browser(REMOTE_ADDR=address).get(ME, headers={"Authorization": "Bearer x"})
        assert response.status_code == 401, address


def test_the_result_names_the_tightest_limit() -> None:
    both = [Limit("a", 600), Limit("b", 120)]
    result = Counters(None).take(both)
    assert (result.limit, result.remaining) == (120, 119)
