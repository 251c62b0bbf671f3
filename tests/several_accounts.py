"""Several accounts in one browser, for tests: adding one, and choosing."""

from typing import Any

from django.conf import settings
from django.test import Client as Browser

from accounts.models import Account
from accounts.sessions.browser_accounts import cookie_name
from tests.relying_party import sign_in

CHOOSE = "/account/choose"
ANOTHER = {"decision": "another"}
SIGN_OUT_OF_ALL = {"decision": "sign-out-all"}


def add_account(browser: Browser, account: Account) -> Browser:
    """Sign another account in; the other accounts stay signed in."""
    response = browser.post(CHOOSE, ANOTHER)
    assert response["Location"].startswith("/account/login/"), response
    return sign_in(browser, account)


def with_accounts(*accounts: Account) -> Browser:
    """Return a browser in which all of these accounts are signed in; the last one is the current account."""
    browser = sign_in(Browser(), accounts[0])
    for account in accounts[1:]:
        add_account(browser, account)
    return browser


def choices_of(page: Any) -> dict[str, str]:
    """Return the references of the accounts that the chooser lists, by email address and in its order."""
    return {choice.account.email: choice.reference for choice in page.context["choices"]}


def choose(browser: Browser, account: Account, url: str = CHOOSE) -> Any:
    """Choose an account from the list at `url`, as the form does."""
    page = browser.get(url)
    form = {"account": choices_of(page)[account.email], "request": page.context["request_key"]}
    return browser.post(CHOOSE, form)


def present(browser: Browser) -> str | None:
    """Return the email address of the current account, None if nobody is signed in."""
    page = browser.get("/account/")
    return str(page.context["user"].email) if page.status_code == 200 else None


def key_of(browser: Browser) -> str:
    """Return the key of the current session."""
    return browser.cookies[settings.SESSION_COOKIE_NAME].value


def other_keys(browser: Browser) -> list[str]:
    """Return the keys in the cookie of the other accounts."""
    cookie = browser.cookies.get(cookie_name())
    return cookie.value.split(".") if cookie and cookie.value else []
