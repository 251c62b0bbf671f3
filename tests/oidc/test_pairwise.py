"""Pairwise ids: nothing that an app sees tells an account id, another project's `sub`, or links two projects."""

import logging
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from oidc.models import Client
from tests.factories import make_account, make_client, make_project
from tests.relying_party import RelyingParty, answer_of, claims_of, header_of, sign_in

ACCOUNT_ID = 918_273_645


@pytest.fixture
def known(db: None) -> Account:
    """A person whose account id would be seen wherever it appears."""
    return make_account("ada@example.com", pk=ACCOUNT_ID)


def everything_shown(app: RelyingParty) -> list[str]:
    """Collect all that an app, or a person on the way to it, gets to see."""
    seen: list[str] = []

    def note(response: Any) -> Any:
        seen.append(response.content.decode(errors="replace"))
        seen.append(str(dict(response.headers)))
        seen.append(str(response.cookies))
        return response

    note(app.authorize(scope="openid nonsense"))
    note(app.authorize(prompt="none"))
    page = note(app.authorize())
    answer = note(app.answer_consent(page))
    code = answer_of(answer)["code"]
    response = note(app.exchange(code))
    tokens = response.json()
    for token in (tokens["access_token"], tokens["id_token"]):
        seen += [str(claims_of(token)), str(header_of(token))]
    refreshed = note(app.refresh(tokens["refresh_token"])).json()
    seen += [str(claims_of(refreshed["access_token"])), str(claims_of(refreshed["id_token"]))]
    note(app.call("/connect/userinfo", tokens["access_token"]))
    note(app.call("/v1/me", tokens["access_token"]))
    note(app.call("/v1/nothing", tokens["access_token"]))
    note(app.call("/connect/userinfo", "wrong"))
    note(app.browser.get("/connect/logout"))
    note(app.browser.get("/account/apps/"))
    note(app.post("/connect/revoke", {"token": refreshed["refresh_token"]} | app.credentials()))
    return seen


def test_nothing_shows_the_account_id(
    known: Account, spa: Client, client: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    Account.objects.filter(pk=known.pk).update(picture="pictures/face.webp")
    with caplog.at_level(logging.DEBUG):
        seen = everything_shown(RelyingParty(spa, sign_in(client, known)))
    seen.append(caplog.text)
    assert len(seen) > 40
    for text in seen:
        assert str(ACCOUNT_ID) not in text


def test_nothing_shows_another_projects_sub(known: Account, spa: Client, client: Browser) -> None:
    browser = sign_in(client, known)
    other = RelyingParty(make_client(make_project(), name="Other"), browser)
    other_sub = claims_of(other.tokens()["id_token"])["sub"]
    seen = everything_shown(RelyingParty(spa, browser))
    assert len(seen) > 40
    for text in seen:
        assert other_sub not in text


def test_one_project_one_sub_another_project_another(app: RelyingParty, web_app: RelyingParty) -> None:
    sibling = RelyingParty(make_client(app.client.project, name="Orbit Mobile"), app.browser)
    subs = [claims_of(party.tokens()["id_token"])["sub"] for party in (app, sibling, web_app)]
    assert subs[0] == subs[1] != subs[2]


def test_every_endpoint_returns_the_same_sub(app: RelyingParty) -> None:
    tokens = app.tokens()
    access = tokens["access_token"]
    subs = {
        claims_of(tokens["id_token"])["sub"],
        claims_of(access)["sub"],
        app.call("/connect/userinfo", access).json()["sub"],
        app.call("/v1/me", access).json()["id"],
        claims_of(app.refresh(tokens["refresh_token"]).json()["id_token"])["sub"],
    }
    assert len(subs) == 1


def test_two_projects_share_nothing_that_links_a_person(
    app: RelyingParty, web_app: RelyingParty, person: Account
) -> None:
    Account.objects.filter(pk=person.pk).update(picture="pictures/face.webp")
    shared_on_purpose = {"iss", "email", "email_verified", "name", "given_name", "family_name", "aud", "iat", "exp"}
    shared_on_purpose |= {"scope", "auth_time"}
    first, second = app.tokens(), web_app.tokens()
    for name in ("access_token", "id_token"):
        mine, theirs = claims_of(first[name]), claims_of(second[name])
        for claim in set(mine) - shared_on_purpose:
            assert mine[claim] != theirs[claim], claim
    assert claims_of(first["id_token"])["picture"] != claims_of(second["id_token"])["picture"]
