"""Every page about recovery keeps what the one before promised, for each kind of person who has lost all factors.

docs/accounts.md#ways-back-into-an-account has the rules.
"""

from collections.abc import Callable
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.test import Client as Browser

from accounts.mail import codes
from accounts.models import Account, AccountRecovery
from accounts.recovery import own_recovery, waiting
from accounts.recovery.tasks import advance_recoveries
from accounts.roles import set_roles
from tests.accounts.factors.conftest import (
    code_mailed_to,
    give_app,
    give_codes,
    give_passkey,
    sign_in_as_far_as_possible,
    sign_in_by_mail,
)
from tests.accounts.recovery.test_own_recovery import START, TWO_STEP_PAGE
from tests.accounts.recovery.test_waiting import leave_address

HOUR = 3600

# What the person has, what they still know, who they are, and the waiting time in hours (0: only an operator can help).
CASES = [
    ("passkey", "password", "", 72),
    ("passkey", "forgotten password", "", 168),
    ("passkey", "no password", "", 168),
    ("app", "password", "", 72),
    ("app", "forgotten password", "", 168),
    ("passkey codes", "no password", "", 168),
    ("passkey", "no password", "second email address", 168),
    ("passkey", "no password", "unverified email address", 168),
    ("passkey", "no password", "staff", 0),
    ("app", "password", "changed the email address", 0),
    ("passkey", "no password", "recovered lately", 0),
    ("app", "password", "under way, then staff", 0),
]


def prepare(account: Account, has: str, who: str, operator: Account) -> None:
    """Give the person what the case says."""
    give = {"passkey": give_passkey, "app": give_app, "codes": give_codes}
    for name in has.split():
        give[name](account)
    if who == "staff":
        set_roles(account, ["reviewer"])
    elif who == "second email address":
        EmailAddress.objects.create(user=account, email="ada@work.example.com", verified=True, primary=False)
    elif who == "unverified email address":
        EmailAddress.objects.filter(user=account).update(verified=False)
        Account.objects.filter(pk=account.pk).update(email_verified=False)
    elif who == "changed the email address":
        leave_address(account, "ada@former.example.com")
    elif who == "recovered lately":
        waiting.cancel(waiting.start(account, operator, "Lost", "Checked"), operator, "Found")
    elif who == "under way, then staff":
        waiting.create(account, account, {}, wait_hours=72)
        set_roles(account, ["reviewer"])


@pytest.mark.parametrize(("has", "knows", "who", "hours"), CASES)
def test_the_page_keeps_what_it_promises(
    has: str,
    knows: str,
    who: str,
    hours: int,
    person: Account,
    operator: Account,
    later: Callable[[float], None],
) -> None:
    prepare(person, has, who, operator)
    if knows == "no password":
        person.set_unusable_password()
        Account.objects.filter(pk=person.pk).update(password=person.password)
    browser = sign_in_as_far_as_possible(person)[0] if knows == "password" else sign_in_by_mail(person)
    page = browser.get(TWO_STEP_PAGE).content.decode()
    assert START in page
    assert ('name="code"' in page) == ("app" in has or "codes" in has)
    if not hours:
        refused(browser, person)
        return
    assert (f"{hours} hours" if hours == 72 else "7 days") in browser.get(START).content.decode()
    browser.post(START, {"action": "send"})
    shown = browser.post(START, {"code": code_mailed_to(person.email)}, follow=True).content.decode()
    assert "Your account is being recovered" in shown
    assert "Your account is being recovered" in browser.get(START).content.decode()
    later((hours - 1) * HOUR)
    advance_recoveries()
    assert AccountRecovery.objects.open().exists()
    later(HOUR + 1)
    advance_recoveries()
    person.refresh_from_db()
    assert sign_in_by_mail(person).get("/account/").status_code == 200


def refused(browser: Browser, person: Account) -> None:
    """Check that the page offers nothing, and that neither form of an earlier page does anything."""
    page: Any = browser.get(START)
    assert "You can’t recover this account here" in page.content.decode()
    assert "only an operator" in page.content.decode()
    assert 'value="send"' not in page.content.decode()
    before = AccountRecovery.objects.count()
    browser.post(START, {"action": "send"})
    browser.post(START, {"code": recovery_code(person)})
    assert AccountRecovery.objects.count() == before


def recovery_code(account: Account) -> str:
    """Return the code, as the mailbox would get it."""
    return codes.code_for(f"recovery {account.pk}", account.email, own_recovery.LASTS)
