"""Pages about an app: what it sees, how it is reached, that it is suspended; and the ways on when a sign-in ends."""

from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from accounts.plans import resolution as plan_sources
from accounts.profile.sources import SourceFailed
from core import clock
from oidc.apis.scopes import ONLY_ID
from oidc.models import Client, Project
from tests.factories import as_reviewed, make_account
from tests.relying_party import RelyingParty, sign_in

HOME, SUPPORT = "https://orbit.example.com/start", "help@orbit.example.com"


def change(app: RelyingParty, **fields: Any) -> None:
    Client.objects.filter(pk=app.client.pk).update(**fields)


def suspend(app: RelyingParty) -> None:
    Project.objects.filter(pk=app.client.project_id).update(suspended_at=clock.now())


def values_of(page: Any) -> dict[str, list[str]]:
    return {access["scope"]: access["values"] for access in page.context["scope_descriptions"]}


# --- The consent page ---


def test_only_openid_is_to_sign_in_and_nothing_more(app: RelyingParty) -> None:
    page = app.authorize(scope="openid")
    text = page.content.decode()
    assert "Sign in to Orbit Notes</h1>" in text
    assert values_of(page) == {"openid": [ONLY_ID]}
    assert "asks for access" not in text
    assert ONLY_ID not in values_of(app.authorize(scope="openid email"))["openid"]


def test_a_value_is_shown_for_one_scope_only(app: RelyingParty) -> None:
    change(app, approved_scopes="account.read")
    alone = app.authorize(scope="openid account.read")
    assert values_of(alone)["account.read"] == ["ada@example.com", "Ada Lovelace", "Plan: Free"]
    beside = app.authorize(scope="openid email profile account.read")
    assert values_of(beside)["account.read"] == ["Plan: Free"]
    assert [access["title"] for access in beside.context["scope_descriptions"]][-1] == "See your plan"
    half = app.authorize(scope="openid profile account.read")
    assert values_of(half)["account.read"] == ["ada@example.com", "Plan: Free"]


def test_optional_values_are_shown_again_for_required_scopes(app: RelyingParty) -> None:
    change(app, approved_scopes="account.read", optional_scopes="email account.read")
    page = app.authorize(scope="openid email profile account.read")
    values = {access["scope"]: access["values"] for access in page.context["optional_scope_descriptions"]}
    assert values == {"email": ["ada@example.com"], "account.read": ["ada@example.com", "Plan: Free"]}


def test_the_photo_is_shown_where_the_app_would_see_it(app: RelyingParty, person: Account) -> None:
    shown = 'alt="Your photo, as the app would see it"'
    assert shown not in app.authorize().content.decode()
    Account.objects.filter(pk=person.pk).update(picture="pictures/photo.webp")
    assert app.authorize().content.decode().count(shown) == 1
    without = app.authorize(scope="openid email").content.decode()
    assert shown not in without
    assert "/account/picture" not in without


def test_a_plan_that_can_not_be_read_is_left_out(app: RelyingParty, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Any, account: Account) -> Any:
        raise SourceFailed("down")

    monkeypatch.setattr(plan_sources.DatabasePlans, "plan", fail)
    change(app, approved_scopes="account.read")
    assert values_of(app.authorize(scope="openid email profile account.read"))["account.read"] == []


@pytest.mark.parametrize("verified", [False, True])
def test_only_a_verified_app_is_reached_by_links(app: RelyingParty, verified: bool) -> None:
    change(app, home_page_url=HOME, support_address=SUPPORT, **(as_reviewed() if verified else {}))
    text = app.authorize().content.decode()
    assert (f'href="{HOME}"' in text) is verified
    assert ('href="mailto:help@orbit.example.com"' in text) is verified
    assert ("Openport has not reviewed this app." in text) is not verified
    assert SUPPORT in text
    assert "orbit.example.com" in text


# --- Suspended and turned off ---


@pytest.mark.parametrize(
    ("suspended", "says"),
    [(True, "Openport has suspended Orbit Notes."), (False, "Orbit Notes is turned off at the moment.")],
)
def test_a_disabled_app_is_described_as_disabled(app: RelyingParty, suspended: bool, says: str) -> None:
    app.tokens()
    change(app, enabled=suspended, home_page_url=HOME, support_address=SUPPORT, **as_reviewed())
    if suspended:
        suspend(app)
    for page in (app.browser.get("/account/apps/"), app.authorize()):
        text = page.content.decode()
        assert says in text
        assert "it gets no data from your account." in text
        assert (HOME in text) is not suspended, "no link to what was suspended"
        assert ("Suspended <time" in text) is suspended, "since when"
        assert "You did nothing wrong" in text or "Nothing is wrong with your account" in text
        assert ("remove it" in text and "/account/apps/" in text) or not suspended, "it can be removed"
    assert "You did nothing wrong" in app.browser.get("/account/apps/").content.decode()


def test_the_sign_in_page_shows_a_suspension_during_a_sign_in(app: RelyingParty) -> None:
    stranger = app.beside(Browser())
    page = stranger.browser.get(stranger.authorize()["Location"])
    assert "has suspended this app" not in page.content.decode()
    suspend(app)
    assert "Openport has suspended this app" in stranger.browser.get("/account/login/").content.decode()


def test_staff_see_it_in_their_lists(app: RelyingParty) -> None:
    app.tokens()
    suspend(app)
    operator = sign_in(Browser(), make_account("operator@example.com", is_staff=True, is_superuser=True))
    for path in ("/admin/oidc/client/", "/admin/oidc/connection/"):
        assert "project suspended" in operator.get(path).content.decode(), path


# --- Errors ---


def test_an_error_page_names_the_registered_app(app: RelyingParty) -> None:
    response = app.authorize(redirect_uri="https://evil.example.net/cb")
    text = response.content.decode()
    assert response.status_code == 400
    assert "Only the developer of Orbit Notes can fix this" in text
    assert "evil.example.net" not in text
    fold = text[text.index("<details") : text.index("</details>")]
    assert "invalid_request" in fold
    assert "does not exactly match" in fold
    assert response["X-Request-ID"] in fold
    assert "invalid_request" not in text.replace(fold, "")
    assert "Back to your account" in text


def test_an_app_that_nobody_registered_is_not_named(app: RelyingParty) -> None:
    text = app.authorize(client_id="Openport%20Support").content.decode()
    assert "Support" not in text
    assert "Only the developer of the app can fix this" in text


@pytest.mark.parametrize("verified", [True, False])
def test_only_a_verified_app_has_a_link_home(app: RelyingParty, verified: bool) -> None:
    change(app, home_page_url=HOME, support_address=SUPPORT, **(as_reviewed() if verified else {}))
    text = app.authorize(redirect_uri="https://evil.example.net/cb").content.decode()
    assert (f'href="{HOME}"' in text) is verified
    assert ("mailto:" in text) is verified
    assert "orbit.example.com" in text


def test_hostile_names_are_escaped(app: RelyingParty) -> None:
    home = "https://x.example.com/'\"><b>"
    change(app, name='"><script>alert(1)</script>', home_page_url=home, **as_reviewed())
    Account.objects.update(given_name="<b>Ada</b>")
    requests: list[dict[str, str]] = [{}, {"redirect_uri": "https://evil.example.net/"}, {"scope": "openid"}]
    for page in (app.authorize(**changes) for changes in requests):
        assert b"<script>alert" not in page.content
        assert b"<b>" not in page.content
