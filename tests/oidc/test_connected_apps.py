"""Connected apps: what a person allowed, and taking it back."""

from typing import Any

from django.test import Client as Browser

from accounts.models import Account, SecurityEvent
from oidc.authorization.consent import remove_consent
from oidc.models import Connection
from tests.factories import make_account
from tests.relying_party import RelyingParty, answer_of, sign_in


def remove(app: RelyingParty) -> Any:
    return app.browser.post(f"/account/apps/{Connection.objects.get(client=app.client).pk}/remove")


def test_the_page_lists_each_app_and_what_it_may_do(app: RelyingParty, web_app: RelyingParty) -> None:
    app.tokens(scope="openid email")
    web_app.tokens(scope="openid profile")
    text = app.browser.get("/account/apps/").content.decode()
    for expected in ("Orbit Notes", "Web Notes", "See your email address", "See your name and photo"):
        assert expected in text


def test_apps_of_other_people_are_not_listed(app: RelyingParty) -> None:
    app.tokens()
    other = sign_in(Browser(), make_account())
    assert b"Orbit Notes" not in other.get("/account/apps/").content


def test_removing_asks_first(app: RelyingParty) -> None:
    tokens = app.tokens()
    page = app.browser.get(f"/account/apps/{Connection.objects.get().pk}/remove")
    assert page.status_code == 200
    assert b"Orbit Notes" in page.content
    assert app.call("/connect/userinfo", tokens["access_token"]).status_code == 200


def test_removal_ends_everything_at_once(app: RelyingParty) -> None:
    code, tokens = app.code(), app.tokens()
    assert remove(app)["Location"] == "/account/apps/"
    me = app.call("/v1/me", tokens["access_token"])
    assert (me.status_code, me.json()["error"]["code"]) == (401, "invalid_token")
    assert app.call("/connect/userinfo", tokens["access_token"]).status_code == 401
    assert app.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert app.exchange(code).json()["error"] == "invalid_grant"
    assert answer_of(app.authorize(prompt="none"))["error"] == "consent_required"
    assert b"Orbit Notes</h2>" not in app.browser.get("/account/apps/").content


def test_a_later_consent_revives_nothing(app: RelyingParty) -> None:
    code, tokens = app.code(), app.tokens()
    remove(app)
    app.tokens()
    assert app.exchange(code).json()["error"] == "invalid_grant"
    assert app.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert app.call("/connect/userinfo", tokens["access_token"]).status_code == 401


def test_other_apps_and_people_keep_theirs(app: RelyingParty, web_app: RelyingParty) -> None:
    app.tokens()
    others = web_app.tokens()
    colleague = app.beside(sign_in(Browser(), make_account()))
    theirs = colleague.tokens()
    app.browser.post(
        f"/account/apps/{Connection.objects.get(client=app.client, account__email='ada@example.com').pk}/remove"
    )
    assert app.call("/connect/userinfo", others["access_token"]).status_code == 200
    assert app.call("/connect/userinfo", theirs["access_token"]).status_code == 200


def test_removing_twice_is_404(app: RelyingParty) -> None:
    app.tokens()
    assert remove(app).status_code == 302
    assert remove(app).status_code == 404
    for number in ("0", "9" * 30):
        assert app.browser.post(f"/account/apps/{number}/remove").status_code == 404


def test_two_removals_at_once_are_one(app: RelyingParty, person: Account) -> None:
    """Both requests find the app before one of them removes it."""
    app.tokens()
    for connection in (Connection.objects.get(), Connection.objects.get()):
        remove_consent(connection)
    assert Connection.objects.get().removed_scopes == "openid email profile offline_access"
    assert SecurityEvent.objects.filter(account=person, kind="app_removed").count() == 1
