"""A form does its work once, however often it is sent."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.http import HttpRequest
from django.test import RequestFactory

from accounts.models import Account
from devportal.console import idempotency
from devportal.console.models import IdempotencyToken
from devportal.console.tasks import forget_sent_forms
from tests.at_once import at_once
from tests.factories import make_account


def request_with(account: Account, **fields: Any) -> HttpRequest:
    request = RequestFactory().post("/", fields)
    request.user = account
    return request


def spend(account: Account, token: str, made: str = "") -> str:
    """Return what the form made: just now, or when it came first."""
    try:
        with transaction.atomic():
            form = idempotency.consume_token(request_with(account, once=token))
            idempotency.record_result(form, made)
    except idempotency.AlreadyProcessed as repeated:
        return f"again: {repeated.made}"
    return made


def test_a_repeated_token_returns_the_first_result(person: Account) -> None:
    token = idempotency.new_token()
    assert spend(person, token, "op_one") == "op_one"
    assert spend(person, token, "op_two") == "again: op_one"
    assert spend(person, idempotency.new_token(), "op_two") == "op_two"


def test_work_that_fails_leaves_the_token_unspent(person: Account) -> None:
    token = idempotency.new_token()
    with transaction.atomic():
        idempotency.consume_token(request_with(person, once=token))
        transaction.set_rollback(True)
    assert spend(person, token, "op_one") == "op_one"


def test_a_token_reveals_nothing_to_another_person(person: Account) -> None:
    token = idempotency.new_token()
    spend(person, token, "op_one")
    assert spend(make_account(), token) == "again: "


@pytest.mark.parametrize("token", ["", "short", "x" * 21, "x" * 23, "x" * 21 + "\x00", "é" * 22, "x" * 100_000])
def test_invalid_tokens_are_rejected_and_not_stored(person: Account, token: str) -> None:
    with pytest.raises(idempotency.MissingToken), transaction.atomic():
        idempotency.consume_token(request_with(person, once=token))
    assert not IdempotencyToken.objects.exists()


def test_tokens_are_forgotten_after_a_day(person: Account, later: Callable[[float], None]) -> None:
    spend(person, idempotency.new_token())
    later(timedelta(hours=23).total_seconds())
    spend(person, idempotency.new_token())
    assert forget_sent_forms() == 0
    later(timedelta(hours=2).total_seconds())
    assert forget_sent_forms() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_ten_concurrent_uses_one_does_the_work() -> None:
    account, token = make_account(), idempotency.new_token()
    answers = at_once(10, lambda number: spend(account, token, f"op_{number}"))
    made = [answer for answer in answers if not answer.startswith("again")]
    assert len(made) == 1
    assert set(answers) == {made[0], f"again: {made[0]}"}
