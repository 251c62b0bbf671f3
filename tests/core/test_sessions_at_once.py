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


def test_both_requests_keep_what_they_stored() -> None:
    one, other = two_of(kept=1, changed=1, removed=1)
    one["changed"], one["new"] = 2, 1
    one.save()
    del other["removed"]
    other["other"] = 1
    other.save()
    assert as_stored(one) == {"kept": 1, "changed": 2, "new": 1, "other": 1}
    assert dict(other.items()) == as_stored(one)


def test_what_one_request_removed_does_not_come_back() -> None:
    one, other = two_of(code="once", kept=1)
    del one["code"]
    one.save()
    other["kept"] = 2
    other.save()
    assert as_stored(one) == {"kept": 2}


def test_each_request_that_waits_for_a_sign_in_is_a_separate_value() -> None:
    one, other = two_of(waiting={"a": {"query": "?a"}, "b": {"query": "?b"}})
    one["waiting"] = one["waiting"] | {"c": {"query": "?c"}}
    one.save()
    other["waiting"] = {"b": {"query": "?b", "answered": True}, "d": {"query": "?d"}}
    other.save()
    left = {"b": {"query": "?b", "answered": True}, "c": {"query": "?c"}, "d": {"query": "?d"}}
    assert as_stored(one) == {"waiting": left}


def test_what_two_tabs_note_about_the_same_request_is_kept() -> None:
    waiting = {"a": {"query": "?a", "dismissed": True}}
    one, other = two_of(**{interactions.SESSION_KEY: waiting})
    one[interactions.SESSION_KEY] = {"a": {"query": "?a", "dismissed": True, "answered": True}}
    one.save()
    other[interactions.SESSION_KEY] = {"a": {"query": "?a", "steps": ["seen"]}}
    other.save()
    assert as_stored(one)[interactions.SESSION_KEY] == {"a": {"query": "?a", "answered": True, "steps": ["seen"]}}


def test_the_last_entry_can_be_removed_while_another_is_added() -> None:
    one, other = two_of(waiting={"a": {"query": "?a"}})
    one["waiting"] = one["waiting"] | {"b": {"query": "?b"}}
    one.save()
    del other["waiting"]
    other.save()
    assert as_stored(one) == {"waiting": {"b": {"query": "?b"}}}
    one, other = two_of(waiting={"a": {"query": "?a"}})
    one["seen"] = 1
    one.save()
    del other["waiting"]
    other.save()
    assert as_stored(one) == {"seen": 1}


def test_a_value_about_one_account_is_not_mixed_with_that_of_another() -> None:
    one, other = two_of(proved={"of": "1", "ids": [1]})
    one["proved"] = {"of": "2", "ids": [5]}
    one.save()
    other["proved"] = {"of": "1", "ids": [1, 7]}
    other.save()
    assert as_stored(one) == {"proved": {"of": "1", "ids": [1, 7]}}


def test_a_sign_in_is_not_mixed_with_another_one() -> None:
    one, other = two_of(account_login="ada", account_code="ada's", waiting=1)
    one["account_login"], one["account_code"], one["account_stamp"] = "bob", "bob's", 1
    one["waiting"] = 2
    one.save()
    other["account_code"] = "ada's, typed once"
    other.save()
    assert as_stored(one) == {"account_login": "ada", "account_code": "ada's, typed once", "waiting": 2}


def test_a_request_that_changes_nothing_of_a_sign_in_keeps_it() -> None:
    one, other = two_of(account_login="ada", account_code="ada's")
    one["account_login"], one["account_code"] = "bob", "bob's"
    one.save()
    other["waiting"] = 1
    other.save()
    assert as_stored(one) == {"account_login": "bob", "account_code": "bob's", "waiting": 1}


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
