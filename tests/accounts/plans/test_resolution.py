"""Which plan counts: every state, source and time; ties; and random histories."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Account, Plan, Subscription
from accounts.models.plans import State
from accounts.plans import lifecycle, resolution
from accounts.plans.catalogue import CatalogueSnapshot, PlanSnapshot
from accounts.plans.resolution import Candidate, choose_plan
from core import clock
from tests.accounts.plans.factories import ahead, family_of, make_plan, organization_of, subscribe
from tests.accounts.plans.shape import check_shape
from tests.factories import make_account

pytestmark = pytest.mark.django_db

SOURCES = ("own", "family", "organization")
# Where the one date that matters to a state lies, and whether it holds then.
WHEN = {"no date": None, "before the moment": 60, "at the moment": 0, "long past": -(10**6)}


def holder_for(source: str, person: Account) -> Any:
    match source:
        case "own":
            return person
        case "family":
            return family_of(make_account(), person)
        case _:
            return organization_of(person, name=f"Acme {person.pk}")


def expected(state: str, when: str) -> tuple[str, bool]:
    """What a subscription in `state` is, with a window that is open if it lapses by its date."""
    past = WHEN[when] is not None and WHEN[when] <= 0  # type: ignore[operator]
    if state == "Trial":
        return ("Expired", True) if past else ("Trial", False)
    if state == "CancelledPeriodActive":
        return ("Cancelled", True) if past else ("CancelledPeriodActive", False)
    if state in ("Cancelled", "Expired"):
        return (state, True)
    return state, False


@pytest.mark.parametrize(
    ("source", "when"), [*(("own", when) for when in WHEN), *((source, "before the moment") for source in SOURCES[1:])]
)
@pytest.mark.parametrize("state", State.values)
def test_every_state_source_and_time(person: Account, pro: Plan, state: str, source: str, when: str) -> None:
    moment = clock.now()
    seconds = WHEN[when]
    date = None if seconds is None else moment + timedelta(seconds=seconds)
    window = moment + timedelta(seconds=90)
    subscribe(holder_for(source, person), pro, state, trial_end=date, period_end=date, read_only_until=window)
    answer = resolution.resolve_plan(person, moment).answer
    check_shape(answer)
    state_then, read_only = expected(state, when)
    if state == "free":
        assert (answer["plan_id"], answer["source"], answer["state"]) == ("free", "free", "free")
        return
    assert (answer["source"], answer["state"], answer["read_only"]) == (source, state_then, read_only)
    assert answer["plan_id"] == "pro"
    assert answer["entitlements"]["storage"] == {"status": "granted_with_limit", "limit": 200, "unit": "GB"}
    has_end = state in ("Trial", "CancelledPeriodActive")
    limit = seconds if seconds and seconds > 0 and has_end else 300
    assert answer["cache_max_age"] == (90 if read_only else limit)
    # Beyond the window there is nothing left of it.
    after = resolution.resolve_plan(person, window).answer
    assert (after["state"] == "free") is (read_only or (has_end and seconds is not None))


def test_nobody_subscribed_is_free(person: Account, pro: Plan) -> None:
    answer = resolution.resolve_plan(person).answer
    check_shape(answer)
    assert (answer["plan_id"], answer["plan_display_name"], answer["source"]) == ("free", "Free", "free")
    assert answer["entitlements"] == {"storage": {"status": "denied", "limit": None, "unit": None}}


def test_the_free_plan_may_be_redeclared(person: Account, pro: Plan) -> None:
    make_plan("free", apps=["notes"], age=60, storage=("granted_with_limit", 1.5, "GB"))
    answer = resolution.resolve_plan(person).answer
    assert (answer["apps"], answer["cache_max_age"], answer["state"]) == (["notes"], 60, "free")
    assert answer["entitlements"]["storage"]["limit"] == 1.5


def test_features_of_other_plans_are_denied(person: Account, pro: Plan, team: Plan) -> None:
    subscribe(person, team)
    answer = resolution.resolve_plan(person).answer
    assert answer["entitlements"] == {
        "seats": {"status": "granted", "limit": None, "unit": None},
        "storage": {"status": "denied", "limit": None, "unit": None},
    }


def test_a_changed_catalogue_is_seen_at_once(person: Account, pro: Plan) -> None:
    subscribe(person, pro)
    resolution.resolve_plan(person)
    pro.display_name = "Professional"
    pro.save()
    pro.entitlements.all().delete()
    answer = resolution.resolve_plan(person).answer
    assert answer["plan_display_name"] == "Professional"
    assert answer["entitlements"]["storage"]["status"] == "denied"


# --- Which of several counts, decided without a database ---

NOW = datetime(2031, 5, 1, 12, tzinfo=UTC)
PLANS = {
    1: PlanSnapshot("low", "Low", 1, (), 300, {}),
    2: PlanSnapshot("high", "High", 2, (), 300, {}),
    3: PlanSnapshot("same", "Same", 2, (), 300, {}),
}
KNOWN = CatalogueSnapshot("v", PLANS, PlanSnapshot("free", "Free", 0, (), 300, {}), {})


def candidate(pk: int, source: str, plan: int, state: str, seconds: int | None = 1000) -> Candidate:
    date = None if seconds is None else NOW + timedelta(seconds=seconds)
    row = Subscription(pk=pk, plan_id=plan, state=state, trial_end=date, period_end=date, read_only_until=date)
    return Candidate(source, row)


TIES = [
    # live before lapsed, whatever rank and source
    ([("own", 2, "Expired"), ("organization", 1, "PastDue")], "organization"),
    ([("own", 2, "Cancelled"), ("family", 1, "Trial")], "family"),
    # the higher rank, whatever the source and the live state
    ([("own", 1, "Active"), ("organization", 2, "PastDue")], "organization"),
    ([("own", 1, "Expired"), ("family", 2, "Cancelled")], "family"),
    # own, family, organization
    ([("organization", 2, "Active"), ("family", 2, "Trial"), ("own", 2, "PastDue")], "own"),
    ([("organization", 2, "Active"), ("family", 3, "CancelledPeriodActive")], "family"),
    ([("organization", 2, "Expired"), ("family", 3, "Cancelled")], "family"),
    # what is over counts for nothing
    ([("own", 2, "free"), ("organization", 1, "Expired")], "organization"),
    ([("own", 2, "free")], "free"),
]


@pytest.mark.parametrize(("given", "source"), TIES)
def test_equal_plans_are_ordered_by_rule(given: Any, source: str) -> None:
    for order in itertools.permutations(enumerate(given)):
        candidates = [candidate(pk + 1, *what) for pk, what in order]
        assert choose_plan(candidates, KNOWN, NOW).answer["source"] == source


def test_the_older_subscription_of_two_families_is_used() -> None:
    pair = [candidate(7, "family", 2, "Active"), candidate(3, "family", 3, "Active")]
    assert choose_plan(pair, KNOWN, NOW).subscription == choose_plan(pair[::-1], KNOWN, NOW).subscription == 3


def test_the_age_never_reaches_past_any_candidates_next_change() -> None:
    own = candidate(1, "own", 2, "Active")
    assert choose_plan([own], KNOWN, NOW).answer["cache_max_age"] == 300
    assert choose_plan([own, candidate(2, "family", 1, "Trial", 20)], KNOWN, NOW).answer["cache_max_age"] == 20
    almost = NOW + timedelta(seconds=19, microseconds=1)
    assert choose_plan([own, candidate(2, "family", 1, "Trial", 20)], KNOWN, almost).answer["cache_max_age"] == 0
    assert choose_plan([candidate(2, "own", 1, "Expired", 40)], KNOWN, NOW).answer["cache_max_age"] == 40


DATES = st.one_of(st.none(), st.integers(-100, 100))
ADDONS = st.dictionaries(st.text(min_size=1, max_size=5), st.builds(lambda n: {"quantity": n}, st.integers(1, 9)))
ROWS = st.tuples(
    st.sampled_from(SOURCES), st.sampled_from(sorted(PLANS)), st.sampled_from(State.values), DATES, DATES, DATES, ADDONS
)


@settings(max_examples=300, deadline=None)
@given(rows=st.lists(ROWS, max_size=5), moments=st.lists(st.integers(-120, 120), min_size=1, max_size=5))
def test_random_sets_of_subscriptions(rows: Any, moments: list[int]) -> None:
    def date(seconds: int | None) -> datetime | None:
        return None if seconds is None else NOW + timedelta(seconds=seconds)

    candidates = [
        Candidate(source, Subscription(pk=pk, plan_id=plan, state=state, trial_end=date(trial), period_end=date(period),
                                       read_only_until=date(window), addons=addons))
        for pk, (source, plan, state, trial, period, window, addons) in enumerate(rows, 1)
    ]  # fmt: skip
    for seconds in sorted(moments):
        moment = NOW + timedelta(seconds=seconds)
        answer = choose_plan(candidates, KNOWN, moment).answer
        check_shape(answer)
        # Kept for as long as it may be, it is still what a fresh read would say.
        if answer["cache_max_age"]:
            last = moment + timedelta(seconds=answer["cache_max_age"], microseconds=-1)
            assert choose_plan(candidates, KNOWN, last).answer | {"cache_max_age": 0} == answer | {"cache_max_age": 0}


ACTIONS = st.one_of(
    st.tuples(st.just("move"), st.sampled_from(State.values), DATES, DATES),
    st.tuples(st.just("wait"), st.integers(0, 150), st.none(), st.none()),
    st.tuples(st.just("task"), st.none(), st.none(), st.none()),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=st.lists(ACTIONS, max_size=12))
def test_random_histories(actions: Any, person: Account, pro: Plan) -> None:
    """Two people live the same life; only one of them is read in between. They end alike."""
    twins = [make_account(), make_account()]
    start = clock.now()
    waited = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "now", lambda: start + timedelta(seconds=waited))
        rows = [
            lifecycle.start_subscription(twin, "Trial", lifecycle.Actor("test"), plan=pro, trial_end=ahead(50))
            for twin in twins
        ]
        for kind, what, end, window in actions:
            if kind == "wait":
                waited += what
            elif kind == "task":
                lifecycle.apply_due_transitions()
            else:
                details = {
                    name: ahead(seconds)
                    for name, seconds in (("trial_end", end), ("period_end", end), ("read_only_until", window))
                    if seconds is not None
                }
                outcomes = [_moved(row, what, details) for row in rows]
                assert outcomes[0] == outcomes[1]
            check_shape(resolution.resolve_plan(twins[0]).answer)
        lifecycle.apply_due_transitions()
        histories = [list(row.events.values_list("from_state", "to_state", "at", "by")) for row in rows]
        assert histories[0] == histories[1]
        for row in rows:
            row.refresh_from_db()
            assert lifecycle.effective_state(row, clock.now()).state == row.state
        Account.objects.filter(pk__in=[twin.pk for twin in twins]).delete()


def _moved(row: Subscription, to: str, details: Any) -> bool:
    try:
        lifecycle.transition(row, to, lifecycle.Actor("test"), **details)
    except lifecycle.IllegalTransition:
        return False
    return True
