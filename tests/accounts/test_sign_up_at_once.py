"""A form of the sign-up that is sent twice at the same moment, on PostgreSQL with separate connections."""

from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from tests.accounts.entrance.test_sign_up import code_of, sign_up
from tests.at_once import at_once

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

OTHER = "another horse 7 battery"


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("round_", range(2))
def test_a_double_click_on_the_code_signs_in_in_either_session(again: bool, round_: int, mailoutbox: list[Any]) -> None:
    """The browser keeps the session of the response that arrives last."""
    if again:
        sign_up(Browser())
    first, second = Browser(), Browser()
    sign_up(first, password1=OTHER)
    form = {"code": code_of(mailoutbox[-1])}
    second.cookies.update(first.cookies)
    clicks = (first, second)
    answers = at_once(2, lambda number: clicks[number].post("/account/confirm-email/", form))
    assert Account.objects.get().check_password(OTHER)
    # 400: Django can't store a session that another request has just renewed.
    assert {answer.status_code for answer in answers} <= {302, 400}
    completed = [answer.get("Location") == "/connect/resume" for answer in answers]
    assert any(completed)
    assert [browser.get("/account/").status_code == 200 for browser in clicks] == completed
