"""OpenID Connect Back-Channel Logout 1.0, section by section, as a provider has to show it to a relying party.

The relying party is at an https URL of this machine with a self-signed certificate and any port, as that of OpenID's
conformance suite is. Its redirect URI has the same host.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest
from django.core.exceptions import ValidationError
from django.test import Client as Browser

from accounts.models import Account
from oidc.events import registration
from oidc.models import Delivery
from tests import inbox
from tests.factories import make_client
from tests.inbox import Inbox, Received, send_due, status
from tests.relying_party import RelyingParty, answer_of, claims_of, sign_in
from tests.services import names
from tests.services.certificates import Authority

pytestmark = pytest.mark.django_db
SUITE = "localhost.emobix.co.uk"  # its public DNS record is 127.0.0.1


def listening(browser: Browser, at: Inbox, *, session_required: bool = False, **columns: Any) -> RelyingParty:
    """Return a relying party that is registered with the URLs of an inbox."""
    callback, signed_out = at.url("/callback"), at.url("/signed-out")
    client = make_client(redirect_uris=callback, post_logout_redirect_uris=signed_out, **columns)
    registration.change_logout_receiver(client, None, url=at.url("/logout"), session_required=session_required)
    return RelyingParty(client, browser, redirect_uri=callback)


@pytest.fixture
def suite() -> Iterator[Inbox]:
    """The inbox of the relying party."""
    with inbox.serve(Authority().server_context("localhost", self_signed=True)) as served:
        yield served


@pytest.fixture
def party(signed_in: Browser, suite: Inbox) -> RelyingParty:
    """The relying party, with the person's browser in front of it."""
    return listening(signed_in, suite, session_required=True)


def log_out(party: RelyingParty, suite: Inbox, id_token: str) -> Any:
    """Send the browser to the end_session_endpoint as RP-Initiated Logout says."""
    query = {"id_token_hint": id_token, "post_logout_redirect_uri": suite.url("/signed-out"), "state": "left"}
    return party.browser.get(f"/connect/logout?{urlencode(query)}")


def logged_out(party: RelyingParty, suite: Inbox) -> tuple[dict[str, Any], Received]:
    """Sign in, sign out, and return the claims of the ID token and the request of the logout."""
    id_token = party.tokens()["id_token"]
    answered = log_out(party, suite, id_token)
    assert (answered.status_code, answered["Location"]) == (302, f"{suite.url('/signed-out')}?state=left")
    assert send_due() == 1
    return claims_of(id_token), suite.received[-1]


# 2.1 Indicating support, and the claim `sid`


def test_sid_identifies_the_browser_session(party: RelyingParty, person: Account) -> None:
    first, again = (claims_of(party.tokens(prompt=prompt)["id_token"])["sid"] for prompt in (None, "none"))
    elsewhere = party.beside(sign_in(Browser(), person))
    assert isinstance(first, str)
    assert first == again != claims_of(elsewhere.tokens()["id_token"])["sid"]


# 2.2 Registration


@pytest.mark.parametrize("path", ["/logout#part", "@other.example.com/logout"])
def test_the_logout_uri_is_absolute_and_has_no_fragment(party: RelyingParty, suite: Inbox, path: str) -> None:
    with pytest.raises(ValidationError):
        registration.change_logout_receiver(party.client, None, url=suite.url(path), session_required=False)


def test_the_logout_uri_keeps_its_query(party: RelyingParty, suite: Inbox) -> None:
    url = suite.url("/logout?tenant=a%20b&x")
    registration.change_logout_receiver(party.client, None, url=url, session_required=False)
    _, received = logged_out(party, suite)
    assert received.path == "/logout?tenant=a%20b&x"


@pytest.mark.parametrize("session_required", [True, False])
def test_a_logout_token_always_has_sub_and_sid(signed_in: Browser, suite: Inbox, session_required: bool) -> None:
    party = listening(signed_in, suite, session_required=session_required)
    id_token, received = logged_out(party, suite)
    assert (received.claims["sub"], received.claims["sid"]) == (id_token["sub"], id_token["sid"])


# 2.3 Remembering logged-in relying parties


def test_each_relying_party_of_the_session_is_told_with_its_own_ids(party: RelyingParty, suite: Inbox) -> None:
    other = listening(party.browser, suite, name="Other notes")
    never = listening(party.browser, suite, name="Never used")
    expected = {each.client.client_id: claims_of(each.tokens()["id_token"]) for each in (party, other)}
    log_out(party, suite, party.tokens()["id_token"])
    assert send_due() == 2
    told = {each.claims["aud"]: each.claims for each in suite.received}
    assert told.keys() == expected.keys()
    assert never.client.client_id not in told
    for client_id, id_token in expected.items():
        assert (told[client_id]["sub"], told[client_id]["sid"]) == (id_token["sub"], id_token["sid"])
    assert len({each["sid"] for each in told.values()}) == 2


def test_the_session_of_another_browser_is_not_told(party: RelyingParty, person: Account, suite: Inbox) -> None:
    elsewhere = party.beside(sign_in(Browser(), person))
    continuing = claims_of(elsewhere.tokens()["id_token"])["sid"]
    id_token, received = logged_out(party, suite)
    assert [each.claims["sid"] for each in suite.received] == [id_token["sid"]]
    assert received.claims["sid"] != continuing
    assert answer_of(elsewhere.authorize(prompt="none"))["code"]


# 2.4 The logout token


def test_each_logout_has_another_jti(party: RelyingParty, person: Account, suite: Inbox) -> None:
    logged_out(party, suite)
    sign_in(party.browser, person)
    logged_out(party, suite)
    assert len({each.claims["jti"] for each in suite.received}) == 2


# 2.5 The request


def test_the_request_is_a_form_with_nothing_but_the_logout_token(party: RelyingParty, suite: Inbox) -> None:
    _, received = logged_out(party, suite)
    assert received.content_type == "application/x-www-form-urlencoded"
    assert parse_qs(received.body.decode(), strict_parsing=True) == {"logout_token": [received.token]}


def test_the_browser_does_not_wait_for_the_relying_party(party: RelyingParty, suite: Inbox) -> None:
    """The logout is stored when the browser is sent back, and sent before or after that."""
    log_out(party, suite, party.tokens()["id_token"])
    assert Delivery.objects.get().state == Delivery.State.WAITING
    assert suite.received == []


def test_an_unproven_request_tells_nobody(party: RelyingParty, suite: Inbox) -> None:
    id_token = party.tokens()["id_token"]
    answered = log_out(party, suite, f"{id_token[:-4]}AAAA")
    assert b'value="sign-out"' in answered.content, "the person is asked"
    assert Delivery.objects.count() == 0


# 2.8 The response


@pytest.mark.parametrize("code", [200, 204])
def test_these_responses_are_a_success(party: RelyingParty, suite: Inbox, code: int) -> None:
    suite.answer = status(code)
    logged_out(party, suite)
    assert Delivery.objects.get().state == Delivery.State.DELIVERED


@pytest.mark.parametrize("code", [400, 500])
def test_after_an_error_the_same_logout_is_sent_again(party: RelyingParty, suite: Inbox, code: int, later: Any) -> None:
    suite.answer = status(code, b'{"error": "invalid_request"}')
    log_out(party, suite, party.tokens()["id_token"])
    assert send_due() == 0
    suite.answer = status(200)
    later(60)
    assert send_due() == 1
    first, second = suite.received
    assert first.claims["jti"] == second.claims["jti"]
    assert first.claims["iat"] < second.claims["iat"], "each try has a fresh token"


# The conformance suite as a receiver


def test_a_public_name_of_this_machine_receives_logout_tokens(signed_in: Browser, settings: Any) -> None:
    tls = Authority().server_context(SUITE, self_signed=True)
    with names.serve() as name_server, inbox.serve(tls, SUITE) as served:
        name_server.set(SUITE, "A", "127.0.0.1")
        settings.DNS_SERVERS = [name_server.address]
        logged_out(listening(signed_in, served), served)
