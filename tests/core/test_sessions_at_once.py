"""Requests of one browser that run at the same time: none undoes what another one stores in the session."""

from typing import Any

import pytest
from django.contrib.sessions.backends.base import UpdateError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core.http.sessions import SessionStore
from oidc.authorization import interactions

pytestmark = pytest.mark.django_db


def two_of(**stored: Any) -> tuple[SessionStore, SessionStore]:
    """Return a session as two requests have read it."""
    made = SessionStore()
    made.update(stored)
    made.save()
    one, other = (SessionStore.from_cookie(made.cookie) for _ in range(2))
    assert one.items() == other.items() == stored.items()
    return one, other


def as_stored(session: SessionStore) -> dict[str, Any]:
    return dict(SessionStore(session.session_key).items())


GONE = object()  # of a value that a request removes
KEY = interactions.SESSION_KEY
# What is stored, what one request and then the other one changes, and what is stored afterwards.
CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "both requests keep what they stored": (
        {"kept": 1, "changed": 1, "removed": 1},
        {"changed": 2, "new": 1},
        {"removed": GONE, "other": 1},
        {"kept": 1, "changed": 2, "new": 1, "other": 1},
    ),
    "a removed value does not come back": ({"code": "once", "kept": 1}, {"code": GONE}, {"kept": 2}, {"kept": 2}),
    "each request that waits for a sign-in is a separate value": (
        {"waiting": {"a": {"query": "?a"}, "b": {"query": "?b"}}},
        {"waiting": {"a": {"query": "?a"}, "b": {"query": "?b"}, "c": {"query": "?c"}}},
        {"waiting": {"b": {"query": "?b", "answered": True}, "d": {"query": "?d"}}},
        {"waiting": {"b": {"query": "?b", "answered": True}, "c": {"query": "?c"}, "d": {"query": "?d"}}},
    ),
    "two tabs note something about the same request": (
        {KEY: {"a": {"query": "?a", "dismissed": True}}},
        {KEY: {"a": {"query": "?a", "dismissed": True, "answered": True}}},
        {KEY: {"a": {"query": "?a", "steps": ["seen"]}}},
        {KEY: {"a": {"query": "?a", "answered": True, "steps": ["seen"]}}},
    ),
    "the last entry is removed while another one is added": (
        {"waiting": {"a": {"query": "?a"}}},
        {"waiting": {"a": {"query": "?a"}, "b": {"query": "?b"}}},
        {"waiting": GONE},
        {"waiting": {"b": {"query": "?b"}}},
    ),
    "the last entry is removed": ({"waiting": {"a": {"query": "?a"}}}, {"seen": 1}, {"waiting": GONE}, {"seen": 1}),
    "values about two accounts are not mixed": (
        {"proved": {"of": "1", "ids": [1]}},
        {"proved": {"of": "2", "ids": [5]}},
        {"proved": {"of": "1", "ids": [1, 7]}},
        {"proved": {"of": "1", "ids": [1, 7]}},
    ),
    "two sign-ins are not mixed": (
        {"account_login": "ada", "account_code": "ada's", "waiting": 1},
        {"account_login": "bob", "account_code": "bob's", "account_stamp": 1, "waiting": 2},
        {"account_code": "ada's, typed once"},
        {"account_login": "ada", "account_code": "ada's, typed once", "waiting": 2},
    ),
    "a request that changes nothing of a sign-in keeps it": (
        {"account_login": "ada", "account_code": "ada's"},
        {"account_login": "bob", "account_code": "bob's"},
        {"waiting": 1},
        {"account_login": "bob", "account_code": "bob's", "waiting": 1},
    ),
}


@pytest.mark.parametrize(("stored", "by_one", "by_other", "left"), CHANGES.values(), ids=CHANGES)
def test_no_request_undoes_what_another_one_stores(
    stored: dict[str, Any], by_one: dict[str, Any], by_other: dict[str, Any], left: dict[str, Any]
) -> None:
    one, other = two_of(**stored)
    for session, changes in ((one, by_one), (other, by_other)):
        for name, value in changes.items():
            if value is GONE:
                del session[name]
            else:
                session[name] = value
        session.save()
    assert as_stored(one) == dict(other.items()) == left


def test_a_request_can_save_several_times() -> None:
    one, other = two_of()
    for number in range(3):
        one["one"], other["other"] = number, number
        one.save()
        other.save()
    assert as_stored(one) == {"one": 2, "other": 2}


def test_a_session_that_has_ended_is_not_stored_again() -> None:
    one, other = two_of(kept=1)
    one.flush()
    other["kept"] = 2
    with pytest.raises(UpdateError):
        other.save()
    assert not SessionStore.get_model_class().objects.exists()


def test_a_request_alone_takes_one_statement() -> None:
    one, _ = two_of(kept=1)
    one["kept"] = 2
    with CaptureQueriesContext(connection) as counted:
        one.save()
    assert len(counted) == 1
