"""People with all kinds of second factors, and functions that use these factors."""

import re
import time
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from allauth.mfa.webauthn.internal.auth import WebAuthn
from django.core import mail as django_mail
from django.test import Client as Browser

from accounts.models import Account
from tests.factories import PASSWORD
from tests.security.crawl_world import dead_credential

NEW_PASSWORD = "another horse 8 battery"


def give_app(account: Account) -> str:
    """Give a person an authenticator app, and return its secret."""
    secret: str = generate_totp_secret()
    TOTP.activate(account, secret)
    return secret


def give_codes(account: Account) -> list[str]:
    """Give a person recovery codes, and return them."""
    codes: list[str] = RecoveryCodes.activate(account).get_unused_codes()
    return codes


def give_passkey(account: Account) -> Authenticator:
    """Give a person a passkey whose private key does not exist, so that no test can use it."""
    row: Authenticator = WebAuthn.add(account, "Laptop", dead_credential()).instance
    return row


def confirm(browser: Browser, account: Account) -> None:
    """Store in the browser's session that the person has just reauthenticated with each of their factors."""
    session = browser.session
    records = session.get("account_authentication_methods", [])
    for row in Authenticator.objects.filter(user=account).exclude(type=Authenticator.Type.RECOVERY_CODES):
        shown = {"method": "mfa", "type": row.type, "id": row.pk, "at": time.time(), "reauthenticated": True}
        records = [*records, shown]
    session["account_authentication_methods"] = records
    session.save()


def sign_in_as_far_as_possible(account: Account, password: str = PASSWORD) -> tuple[Browser, Any]:
    """Send the sign-in form from a new browser, and return it and the page that follows."""
    browser = Browser()
    return browser, browser.post("/account/login/", {"login": account.email, "password": password}, follow=True)


def code_mailed_to(address: str) -> str:
    """Return the code of the newest email, which was sent to this email address."""
    [*_, mail] = django_mail.outbox
    assert mail.to == [address]
    found = re.search(r"^ {4}(\S+)$", str(mail.body), re.MULTILINE)
    assert found, mail.body
    return found[1]


def sign_in_by_mail(account: Account) -> Browser:
    """Choose a new password by a code from the mail, and return the browser, which two-step verification may follow."""
    return choose_by_mail(Browser(), account)


def choose_by_mail(browser: Browser, account: Account) -> Browser:
    """Choose a new password by a code from the email in this browser."""
    browser.post("/account/password/reset/", {"email": account.email})
    answer = browser.post("/account/password/reset/confirm/", {"code": code_mailed_to(account.email)})
    assert answer.status_code == 302, answer.content
    browser.post(answer["Location"], {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD})
    return browser
