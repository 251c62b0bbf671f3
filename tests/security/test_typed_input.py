"""Whatever is given to a reader of files, answers or reports ends in its own error, or in a valid result."""

import datetime as dt
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Account, Plan
from accounts.plans import billing
from accounts.plans.resolution import validate_plan
from accounts.profile.sources import HttpProfiles, SourceFailed
from core.http.webhooks import WebhookError
from devportal.operations import provisioning
from devportal.operations.provisioning import InvalidFile, provision
from tests.accounts.plans.test_sources import GOOD as GOOD_PLAN
from tests.api.test_profile_source import GOOD as GOOD_PROFILE
from tests.factories import make_account

pytestmark = pytest.mark.django_db

NOT_TEXTS = ["", "\x00", "half \ud800", "2031-13-01T00:00:00Z", "2031-01-01T00:00:00", "x" * 5000]
# What is nearly right, and what some library stumbles over.
AWKWARD: list[Any] = [*NOT_TEXTS, None, True, 0, -1, 1.5, float("nan"), 10**4000, [], {}, [[]], ["a", "a"]]
TEXTS = st.text(st.characters(exclude_categories=[]), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS


def nested(scalars: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)

    return st.recursive(scalars, around, max_leaves=6)


JSON = nested(SCALARS)
TOML = nested(SCALARS | st.datetimes(timezones=st.none() | st.just(dt.UTC)) | st.dates() | st.times())


def spoilings(good: Any, values: list[Any]) -> Iterator[Any]:
    """Yields a good value with one thing wrong at a time: one of `values` in a place, a name, or what is gone."""
    yield from values
    if isinstance(good, list):
        yield from ([*good, value] for value in values)
        for position, inner in enumerate(good):
            rest = good[:position], good[position + 1 :]
            yield from ([*rest[0], spoilt, *rest[1]] for spoilt in spoilings(inner, values))
    if isinstance(good, dict):
        for key, inner in good.items():
            yield {other: good[other] for other in good if other != key}
            yield from (good | {key: spoilt} for spoilt in spoilings(inner, values))
            # A good value under a name that is none: the name alone is to blame.
            yield from (good | {name: inner} for name in NOT_TEXTS)


def some(good: Any, anything: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Anything, or a good value of which some part is anything."""
    last = len(list(spoilings(good, [None]))) - 1

    def spoil(value: Any, which: int) -> Any:
        return list(spoilings(good, [value]))[which]

    return anything | st.builds(spoil, anything, st.integers(0, last))


def many(count: int) -> settings:
    return settings(max_examples=count, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def outcome(read: Callable[[], Any], error: type[Exception]) -> tuple[Any, Any]:
    """Returns what was read, or the reader's own error; any other is the test's failure."""
    try:
        return read(), None
    except error as refusal:
        str(refusal).encode()  # it can be shown
        return None, refusal


def read_plan(answer: Any) -> None:
    plan, failure = outcome(lambda: validate_plan(answer)[0], SourceFailed)
    if failure is None:
        assert set(plan) == set(GOOD_PLAN)
        # What is passed on can be shown, as JSON and on a page.
        assert json.dumps(plan, allow_nan=False, ensure_ascii=False).encode()


@many(300)
@given(some(GOOD_PLAN, JSON))
def test_any_response_of_a_plan_source_is_handled(answer: Any) -> None:
    read_plan(answer)


def read_profile(answer: Any) -> None:
    source: Any = mock.Mock(ask=lambda account: answer)
    account = Account(email="ada@example.com")
    profile, failure = outcome(lambda: HttpProfiles(source).profile(account, ""), SourceFailed)
    if failure is None:
        assert profile.email == "ada@example.com"
        assert isinstance(profile.name, str)
        assert isinstance(profile.given_name, str)
        assert profile.picture is None or profile.picture.startswith("https://")


@many(300)
@given(some(GOOD_PROFILE, JSON))
def test_any_response_of_a_profile_source_is_handled(answer: Any) -> None:
    read_profile(answer)


REPORT = {
    "id": "evt_1",
    "holder": {"account": "ada@example.com"},
    "plan": "pro",
    "state": "Active",
    "trial_end": "2031-01-01T00:00:00Z",
    "period_end": None,
    "addons": {"fax": {"quantity": 2}},
}


def apply_report(report: Any) -> None:
    if not Account.objects.exists():
        make_account(email="ada@example.com")
        Plan.objects.create(plan_id="pro", display_name="Pro")
    applied, refused = outcome(lambda: billing.apply_notification(json.dumps(report).encode()), WebhookError)
    if refused is None:
        assert applied in (True, False)
    else:
        assert refused.status in (400, 409, 422)
        assert refused.message.encode()


@many(200)
@given(some(REPORT, JSON))
def test_any_report_of_a_billing_system_is_handled(report: Any) -> None:
    apply_report(report)


@many(200)
@given(st.binary(max_size=64))
def test_any_request_of_a_billing_system_is_handled(body: bytes) -> None:
    with pytest.raises(WebhookError) as refused:
        billing.parse_notification(body)
    assert (refused.value.status, refused.value.code) == (400, "malformed")


FILE = {
    "plans": [
        {
            "id": "pro",
            "display_name": "Pro",
            "rank": 1,
            "apps": ["notes"],
            "cache_max_age": 60,
            "entitlements": {"storage": {"status": "granted_with_limit", "limit": 1.5, "unit": "TB"}},
        }
    ],
    "people": [
        {
            "email": "ada@example.com",
            "given_name": "Ada",
            "email_verified": True,
            "roles": ["reviewer"],
            "subscription": {
                "plan": "pro",
                "state": "Trial",
                "trial_end": dt.datetime(2031, 1, 1, tzinfo=dt.UTC),
                "addons": {"fax": {"quantity": 2}},
            },
        }
    ],
    "families": [{"owner": "ada@example.com", "members": []}],
    "organizations": [{"name": "Acme", "members": ["ada@example.com"]}],
    "projects": [
        {
            "name": "Orbit",
            "owner": "ada@example.com",
            "members": [{"email": "ada@example.com", "role": "owner"}],
            "suspended": False,
            "clients": [{"name": "Live", "type": "spa", "redirect_uris": ["http://localhost:3001/a"]}],
            "api_keys": [
                {"name": "Nightly", "owner": "ada@example.com", "expires": dt.datetime(2031, 1, 1, tzinfo=dt.UTC)}
            ],
        }
    ],
}


@pytest.mark.parametrize(
    ("read", "good"),
    [(read_plan, GOOD_PLAN), (read_profile, GOOD_PROFILE), (apply_report, REPORT)],
    ids=["plan", "profile", "report"],
)
def test_each_part_of_an_answer_may_be_wrong(read: Callable[[Any], None], good: Any) -> None:
    for answer in spoilings(good, AWKWARD):
        read(answer)


AWKWARD_FILES = [document for document in spoilings(FILE, AWKWARD) if isinstance(document, dict)]


@many(200)
@given(st.sampled_from(AWKWARD_FILES) | some(FILE, TOML).filter(lambda document: isinstance(document, dict)))
def test_any_provisioning_file_is_applied_or_rejected(document: Any) -> None:
    with mock.patch.object(provisioning, "read_toml", return_value=document):
        result, refused = outcome(lambda: provision(Path("state.toml")), InvalidFile)
    if refused is None:
        assert json.dumps(result, ensure_ascii=False).encode()
    else:
        key, _, why = str(refused).partition(": ")
        assert key
        assert why


@pytest.mark.parametrize("text", ["a = " + "9" * 5000, "a = " + "[" * 5000, "\x00", "a = 1\na = 2"])
def test_invalid_toml_is_rejected(text: str, tmp_path: Path) -> None:
    file = tmp_path / "state.toml"
    file.write_text(text)
    with pytest.raises(InvalidFile):
        provision(file)
