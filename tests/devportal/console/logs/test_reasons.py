"""Every reason that the sign-in service logs has a fix that leads somewhere, from real requests."""

from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from api import usage_counts
from devportal.console.logs.fixes import fix_for
from devportal.console.models import SignInEvent
from oidc.models import Client
from tests.oidc.test_sign_in_log import REFUSED
from tests.relying_party import RelyingParty, sign_in


@pytest.fixture
def party(spa: Client, person: Account) -> RelyingParty:
    """A browser app, which acts for a person who is signed in."""
    browser = Browser()
    sign_in(browser, person)
    return RelyingParty(spa, browser)


def logged(client: Client) -> SignInEvent:
    usage_counts.flush_usage()
    return SignInEvent.objects.filter(client=client).latest("pk")


@pytest.mark.parametrize(("changes", "error", "reason"), REFUSED)
def test_real_refusals_of_the_authorization_endpoint(
    changes: dict[str, str | None], error: str, reason: str, party: RelyingParty
) -> None:
    party.authorize(**changes)
    event = logged(party.client)
    assert (event.error, event.reason) == (error, reason)
    fix = fix_for(party.client, event)
    assert fix is not None
    assert fix.url.startswith(("/docs/", "/console/p/"))
    assert fix.text
    assert fix.label


@pytest.mark.parametrize(
    ("form", "page"),
    [
        ({"grant_type": "authorization_code", "code": "x", "code_verifier": "y" * 43}, "/docs/sign-in/tokens#code"),
        ({"grant_type": "refresh_token", "refresh_token": "x"}, "/docs/sign-in/tokens#refresh"),
        ({"grant_type": "authorization_code", "code": "x", "code_verifier": None}, "/docs/sign-in/tokens#code"),
        ({"grant_type": "authorization_code", "code": "x", "client_secret": "wrong"}, "/secrets"),
        ({"grant_type": "authorization_code", "code": "x", "client_secret": ""}, "/secrets"),
    ],
)
def test_real_refusals_of_the_token_endpoint(form: dict[str, Any], page: str, web_app: RelyingParty) -> None:
    sent = {"redirect_uri": "https://app.example.com/callback", **web_app.credentials()} | form
    assert web_app.post("/connect/token", sent).status_code in (400, 401)
    event = logged(web_app.client)
    fix = fix_for(web_app.client, event)
    assert fix is not None
    assert page in fix.url


def test_a_wrong_verifier_leads_to_the_lines_of_the_quick_start(party: RelyingParty) -> None:
    party.exchange(party.code(), code_verifier="x" * 43)
    fix = fix_for(party.client, logged(party.client))
    assert fix is not None
    assert fix.url.endswith("/quick-start")
