"""The budgets of `/v1` (docs/architecture.md#budgets): SQL statements and round trips to the counters."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from core.limits.counters import Counters, RedisCounters
from oidc.tokens import signing_keys
from tests.accounts.plans.factories import family_of, make_plan, organization_of, subscribe
from tests.api import forwarding
from tests.api.calls import ME, PLAN, call
from tests.api.conftest import Key
from tests.api.introspecting import make_server
from tests.factories import make_access_token, make_account, make_client, make_key, make_project

Queries = Callable[[int], Any]


@pytest.fixture(params=["key", "token"])
def credential(request: pytest.FixtureRequest, person: Any) -> str:
    """A credential that opens both endpoints, in a process that has answered before."""
    if request.param == "key":
        raw = make_key(make_project(person), person)[1]
    else:
        client = make_client(approved_scopes="account.read")
        raw = make_access_token(client, person, ["openid", "email", "account.read"])
    signing_keys.reload_keyring()
    assert call(ME, raw).status_code == call(PLAN, raw).status_code == 200
    return raw


def test_a_profile_is_exactly_one_statement(credential: str, django_assert_num_queries: Queries) -> None:
    with django_assert_num_queries(1):
        assert call(ME, credential).status_code == 200


def test_a_plan_is_at_most_two(credential: str, django_assert_max_num_queries: Queries) -> None:
    with django_assert_max_num_queries(2):
        response = call(PLAN, credential)
    with django_assert_max_num_queries(2):
        assert call(PLAN, credential, **{"If-None-Match": response["ETag"]}).status_code == 304


def test_many_subscriptions_cost_no_more(key: Key, django_assert_max_num_queries: Queries) -> None:
    plans = [make_plan(f"p{n}", rank=n, apps=["notes"], f1=("granted", None, None)) for n in range(3)]
    family_of(make_account(), key.owner)
    organizations = [organization_of(key.owner, name=f"Acme {n}") for n in range(3)]
    subscribe(key.owner, plans[0])
    for organization, plan in zip(organizations, plans, strict=True):
        subscribe(organization, plan)
    assert call(PLAN, key.raw).json()["plan_id"] == "p2"
    with django_assert_max_num_queries(2):
        assert call(PLAN, key.raw).json()["source"] == "organization"


def test_a_dead_credential_costs_no_more(key: Key, django_assert_num_queries: Queries) -> None:
    key.owner.is_active = False
    key.owner.save()
    call(ME, key.raw)
    with django_assert_num_queries(1):
        assert call(ME, key.raw).status_code == 401


def test_requests_that_are_no_calls_run_no_statements(db: None, django_assert_num_queries: Queries) -> None:
    signing_keys.reload_keyring()
    call("/v1/openapi.json")
    with django_assert_num_queries(0):
        for path, credential, method in (
            (ME, None, "GET"),
            (ME, "op_key_x", "GET"),
            (ME, "x.y.z", "GET"),
            (ME, None, "POST"),
            ("/v1/x", "op_key_x", "GET"),
            ("/v1/openapi.json", None, "GET"),
        ):
            call(path, credential, method)


# --- Trips to Redis, as Redis itself sees them ---


class Watch:
    """The commands that reach a Redis."""

    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(url)
        self._monitor = self._client.monitor()  # type: ignore[no-untyped-call]  # the library's own
        self._marks = 0

    def __enter__(self) -> "Watch":
        self._monitor.__enter__()
        return self

    def __exit__(self, *args: Any) -> None:
        self._monitor.__exit__(*args)
        self._client.close()

    def commands(self) -> list[str]:
        """Return the commands of all others since the last time; what a script calls is no command."""
        self._marks += 1
        mark = f"MARK {self._marks}"
        self._client.echo(mark)
        seen = []
        while (command := self._monitor.next_command())["command"] != f"ECHO {mark}":
            if command["client_type"] != "lua":
                seen.append(str(command["command"]))
        return seen


@pytest.fixture
def watch(redis_url: str, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Watch]:
    """Count on Redis, and see what reaches it."""
    settings.REDIS_TIMEOUT_SECONDS = 1.0  # these tests are not about a slow Redis
    with Watch(redis_url) as watching:
        made = Counters(RedisCounters(redis_url))
        for module in ("api.throttling", "api.usage_counts", "core.limits.counters"):
            monkeypatch.setattr(f"{module}.counters", lambda: made)
        yield watching


@pytest.mark.redis
@pytest.mark.parametrize("path", [ME, PLAN])
def test_a_call_is_exactly_one_trip(path: str, credential: str, watch: Watch) -> None:
    call(path, credential)
    watch.commands()
    for _ in range(5):
        response = call(path, credential)
        assert response.status_code == 200
        (command,) = watch.commands()
        assert command.startswith("EVALSHA")
    # What was finished before travelled along.
    assert "|200||" in command


@pytest.mark.redis
@pytest.mark.parametrize("ask", ["introspection", "forward_auth"])
def test_a_call_to_another_api_is_exactly_one_trip(ask: str, person: Any, watch: Watch) -> None:
    server = make_server(rules=[("GET", "/events", "calendar.read")])
    raw = make_access_token(make_client(), person, ["calendar.read"], server.api.identifier)
    call_api = server.ask if ask == "introspection" else forwarding.ask
    call_api(raw)
    watch.commands()
    for _ in range(3):
        assert call_api(raw).status_code == 200
        (command,) = watch.commands()
        assert command.startswith("EVALSHA")


@pytest.mark.redis
def test_a_refusal_is_one_trip_at_most(key: Key, watch: Watch, settings: Any) -> None:
    call(ME, key.raw)
    settings.API_CALLS_PER_MINUTE = 0
    watch.commands()
    for credential, trips in ((key.raw, 1), ("op_key_guess", 1), (None, 0)):
        call(ME, credential)
        assert len(watch.commands()) == trips


@pytest.mark.redis
@pytest.mark.parametrize(("path", "method", "status"), [("/v1/zzz", "GET", 404), (ME, "POST", 405)])
def test_a_call_that_matches_nothing_is_one_statement_too(
    path: str, method: str, status: int, key: Key, watch: Watch
) -> None:
    call(ME, key.raw)
    watch.commands()
    for credential, trips in ((key.raw, 1), ("op_key_guess", 1), (None, 0)):
        assert call(path, credential, method).status_code == status
        assert len(watch.commands()) == trips


@pytest.mark.redis
def test_a_redis_without_the_script_gets_it_in_one_trip_more(key: Key, watch: Watch, redis_url: str) -> None:
    call(ME, key.raw)
    redis.Redis.from_url(redis_url).script_flush()
    watch.commands()
    trips = []
    for _ in range(2):
        assert call(ME, key.raw).status_code == 200
        trips.append([command.split()[0] for command in watch.commands()])
    assert trips == [["EVALSHA", "EVAL"], ["EVALSHA"]]
