"""Tabs of one browser that switch and sign out at the same moment, on PostgreSQL with separate connections."""

import itertools

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.test import Client as Browser

from accounts.sessions.browser_accounts import cookie_name
from core.http.sessions import hash_of
from tests.at_once import at_once
from tests.factories import make_account
from tests.several_accounts import CHOOSE, SIGN_OUT_OF_ALL, choices_of, key_of, other_keys, present, with_accounts

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

TABS = 9


def tab_of(browser: Browser) -> Browser:
    """Return another browser with the same cookies: what each sets afterwards is its own."""
    tab = Browser()
    for name in (settings.SESSION_COOKIE_NAME, cookie_name()):
        tab.cookies[name] = browser.cookies[name].value
    return tab


def test_switching_does_not_restore_a_signed_out_account() -> None:
    accounts = [make_account(f"p{number}@example.com") for number in range(3)]
    browser = with_accounts(*accounts)
    keys = [key_of(browser), *other_keys(browser)]
    references = itertools.cycle(choices_of(browser.get(CHOOSE)).values())
    forms = [SIGN_OUT_OF_ALL if number == TABS // 2 else {"account": next(references)} for number in range(TABS)]
    tabs = [tab_of(browser) for _ in range(TABS)]

    def press(number: int) -> int:
        return tabs[number].post(CHOOSE, forms[number]).status_code

    # 400: a session that ended between being read and being saved (django.contrib.sessions).
    assert set(at_once(TABS, press)) <= {302, 400}
    assert not Session.objects.filter(pk__in=[hash_of(key) for key in keys]).exists()
    assert {present(tab) for tab in (browser, *tabs)} == {None}


def test_switches_at_once_leave_each_tab_with_all_accounts() -> None:
    accounts = [make_account(f"p{number}@example.com") for number in range(4)]
    browser = with_accounts(*accounts)
    references = choices_of(browser.get(CHOOSE))
    wanted = [account.email for account in accounts[:3]] * 3
    tabs = [tab_of(browser) for _ in wanted]

    def switch(number: int) -> int:
        return tabs[number].post(CHOOSE, {"account": references[wanted[number]]}).status_code

    assert at_once(len(tabs), switch) == [302] * len(tabs)
    # Whichever answer the browser hears last decides, and each of them is whole.
    assert [present(tab) for tab in tabs] == wanted
    assert all({*choices_of(tab.get(CHOOSE))} == {*references} for tab in tabs)
