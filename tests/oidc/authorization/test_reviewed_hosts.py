"""A reviewed app at a host that its review did not take in, on that very request (docs/review.md#hosts)."""

from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client as Browser

from accounts.models import Account, SecurityEvent
from api import usage_counts
from devportal.console.models import SignInEvent
from oidc.authorization import consent, user_cap
from oidc.authorization.interactions import Shown
from oidc.authorization.tester import check_request
from oidc.clients.registration import update_client
from oidc.clients.reviewed_hosts import counts_as_reviewed, outside_host, outside_hosts, set_reviewed_hosts
from oidc.errors import ConsentMissing
from oidc.models import Client, Connection
from oidc.values.redirect_uris import playground_redirect_uri
from tests.factories import REDIRECT_URI, as_reviewed, make_account, make_client, make_domain, make_project
from tests.oidc.authorization.test_user_cap import fill
from tests.oidc.test_budgets import Counted
from tests.oidc.test_page_budgets import step
from tests.relying_party import RelyingParty, answer_of, claims_of, sign_in

pytestmark = pytest.mark.django_db

FOREIGN = "https://elsewhere.test/callback"
HOST = "elsewhere.test"
BADGE = "Reviewed by Openport"
WARNING = "Openport has reviewed Orbit Notes, but not with the host that it sends you to"
LOGO = "/logos/"
CAP = 3


@pytest.fixture
def reviewed(app: RelyingParty) -> RelyingParty:
    """The app, reviewed at app.example.com, to which a developer has added an address elsewhere."""
    fields = as_reviewed() | {"redirect_uris": f"{REDIRECT_URI} {FOREIGN}", "approved_scopes": "account.read"}
    return change(app, logo="logos/orbit.webp", home_page_url="https://app.example.com/", **fields)


@pytest.fixture
def foreign(reviewed: RelyingParty) -> RelyingParty:
    """The same app and browser, whose requests lead elsewhere."""
    return RelyingParty(reviewed.client, reviewed.browser, redirect_uri=FOREIGN)


def change(app: RelyingParty, **fields: Any) -> RelyingParty:
    Client.objects.filter(pk=app.client.pk).update(**fields)
    app.client.refresh_from_db()
    return app


def text_of(response: Any) -> str:
    return " ".join(response.content.decode().split())


def newcomer(app: RelyingParty, account: Account | None = None) -> RelyingParty:
    return app.beside(sign_in(Browser(), account or make_account()))


def reason_of(client: Client) -> str:
    """Return the reason of the newest entry of the client's sign-in log."""
    usage_counts.flush_usage()
    return str(SignInEvent.objects.filter(client=client).latest("pk").reason_text)


# --- What people see ---


def test_the_badge_is_hidden_for_a_host_outside_the_review(reviewed: RelyingParty, foreign: RelyingParty) -> None:
    page = text_of(reviewed.authorize())
    assert BADGE in page
    assert LOGO in page
    assert WARNING not in page
    page = text_of(foreign.authorize())
    assert BADGE not in page
    assert LOGO not in page
    assert '<span class="tile tile--large" aria-hidden="true">O</span>' in page
    assert f'{WARNING}: <strong class="break">{HOST}</strong>' in page
    assert 'href="https://app.example.com/"' not in page, "links go to what was reviewed"
    assert BADGE in text_of(reviewed.authorize()), "and the other address is as it was"


@pytest.mark.parametrize("prompt", [None, "select_account", "create"])
def test_the_sign_in_pages_show_no_badge_either(reviewed: RelyingParty, person: Account, prompt: str | None) -> None:
    sign_up = "/account/signup/" if prompt == "create" else "/account/login/"
    for uri, shown in ((REDIRECT_URI, True), (FOREIGN, False)):
        browser = sign_in(Browser(), person) if prompt == "select_account" else Browser()
        came = RelyingParty(reviewed.client, browser, redirect_uri=uri).authorize(prompt=prompt)
        assert came["Location"].startswith("/account/choose" if prompt == "select_account" else sign_up)
        page = text_of(browser.get(came["Location"]))
        assert (LOGO in page) is shown
        assert ('<span class="small muted">app.example.com</span>' in page) is shown
        said = f'Not reviewed by Openport at the host <span class="break">{HOST}</span>'
        assert (said in page) is not shown


def test_the_newest_pending_request_says_what_the_sign_in_page_shows(reviewed: RelyingParty) -> None:
    browser = Browser()
    for uri, shown in ((FOREIGN, False), (REDIRECT_URI, True)):
        came = RelyingParty(reviewed.client, browser, redirect_uri=uri).authorize()
        assert (LOGO in text_of(browser.get(came["Location"]))) is shown


def test_mails_of_the_sign_in_pages_follow_the_request(reviewed: RelyingParty, mailoutbox: list[Any]) -> None:
    for uri, warned in ((REDIRECT_URI, False), (FOREIGN, True)):
        browser = Browser()
        RelyingParty(reviewed.client, browser, redirect_uri=uri).authorize()
        browser.post("/account/password/reset/", {"email": "ada@example.com"})
        assert ("which Openport has not reviewed" in " ".join(mailoutbox[-1].body.split())) is warned


def test_the_page_for_a_stronger_sign_in_shows_no_badge(foreign: RelyingParty) -> None:
    change(foreign, least_acr="phr")
    page = text_of(foreign.authorize())
    assert "asks for a passkey" in page
    assert f'{WARNING}: <span class="break">{HOST}</span>.' in page
    assert LOGO not in page


def test_the_unavailable_page_shows_the_letter_and_no_link(reviewed: RelyingParty, foreign: RelyingParty) -> None:
    change(reviewed, enabled=False)
    assert reviewed.authorize().status_code == foreign.authorize().status_code == 403
    assert LOGO in text_of(reviewed.authorize())
    page = text_of(foreign.authorize())
    assert LOGO not in page
    assert "not with the host that this sign-in leads to" in page
    assert 'href="https://app.example.com/"' not in page


def test_the_error_page_follows_a_registered_address(foreign: RelyingParty, reviewed: RelyingParty) -> None:
    too_long = {"x": "x" * 9000}
    assert LOGO in text_of(reviewed.authorize(**too_long))
    assert LOGO not in text_of(foreign.authorize(**too_long))


def test_connected_apps_goes_by_the_app_and_names_what_was_allowed_elsewhere(
    reviewed: RelyingParty, foreign: RelyingParty
) -> None:
    told = f'You have also allowed it at <span class="break">{HOST}</span>.'
    reviewed.code()
    assert told not in text_of(reviewed.browser.get("/account/apps/"))
    foreign.code()
    page = text_of(foreign.browser.get("/account/apps/"))
    assert LOGO in page
    assert '<p class="small muted">app.example.com</p>' in page
    assert told in page
    change(reviewed, reviewed_hosts=f"app.example.com {HOST}")
    assert told not in text_of(reviewed.browser.get("/account/apps/"))


# --- Scopes ---


def test_a_scope_that_needs_review_is_refused_with_the_reason(reviewed: RelyingParty, foreign: RelyingParty) -> None:
    assert reviewed.authorize(scope="openid account.read").status_code == 200
    answer = answer_of(foreign.authorize(scope="openid account.read"))
    assert answer["error"] == "invalid_scope"
    assert HOST not in answer["error_description"]
    assert reason_of(foreign.client) == (
        "Reviewed for this app, but elsewhere.test was not in its review: account.read."
    )
    answer_of(foreign.authorize(scope="openid account.read admin"))
    assert reason_of(foreign.client) == "Unknown, or not reviewed for this app: account.read, admin."


def test_scopes_granted_for_a_covered_host_do_not_apply_to_others(
    reviewed: RelyingParty, foreign: RelyingParty
) -> None:
    reviewed.code(scope="openid email account.read")
    assert answer_of(foreign.authorize(scope="openid email account.read"))["error"] == "invalid_scope"
    answer = answer_of(foreign.authorize(scope="openid email account.read", prompt="none"))
    assert answer["error"] == "invalid_scope"
    tokens = foreign.tokens(scope="openid email")
    assert tokens["scope"].split() == ["openid", "email"]
    assert claims_of(tokens["access_token"])["scope"] == "openid email"


def test_the_tester_reports_hosts_outside_the_review(reviewed: RelyingParty) -> None:
    for uri, passes in ((REDIRECT_URI, True), (FOREIGN, False)):
        query = RelyingParty(reviewed.client, Browser(), redirect_uri=uri)
        sent = query.parameters(scope="openid account.read")
        steps = check_request(reviewed.client, urlencode(sent))
        failed = [found for found in steps if found.passed is False]
        assert (not failed) is passes
        assert passes or "elsewhere.test was not in its review" in failed[0].reason
        notes = [found.note for found in steps if found.note]
        assert notes == (
            [] if passes else [f"People see the app as not reviewed, because {HOST} was not in its review."]
        )


# --- The cap ---


def is_full(response: Any) -> bool:
    return response.status_code == 403 and "take more people yet" in response.content.decode()


def test_the_limit_of_people_applies_only_outside_the_review(
    reviewed: RelyingParty, foreign: RelyingParty, settings: Any
) -> None:
    settings.UNVERIFIED_APP_PEOPLE = CAP
    fill(reviewed.client, CAP - 1)
    assert "code" in answer_of(foreign.answer_consent(foreign.authorize()))
    late = newcomer(foreign)
    response = late.authorize()
    assert is_full(response)
    assert f'{WARNING}, <strong class="break">{HOST}</strong>' in text_of(response)
    assert "elsewhere.test was not part of" in reason_of(foreign.client)
    answer = answer_of(late.authorize(prompt="none"))
    assert answer["error"] == "consent_required"
    assert HOST in reason_of(foreign.client)
    at_home = RelyingParty(reviewed.client, late.browser)
    assert "code" in answer_of(at_home.answer_consent(at_home.authorize()))


def test_no_more_people_are_read_than_the_cap(reviewed: RelyingParty, settings: Any) -> None:
    settings.UNVERIFIED_APP_PEOPLE = CAP
    fill(reviewed.client, CAP + 5)
    stranger = make_account()
    with Counted() as counted:
        assert user_cap.find_place(stranger, reviewed.client).is_full
    assert len(counted.statements) <= 2
    assert f"LIMIT 1 OFFSET {CAP - 1}" in counted.statements[0]


# --- Consent that was given ---


def test_remembered_consent_is_asked_again_as_unreviewed(reviewed: RelyingParty, foreign: RelyingParty) -> None:
    reviewed.code()
    assert "code" in answer_of(reviewed.authorize())
    response = foreign.authorize()
    assert response.status_code == 200
    assert WARNING in text_of(response)
    assert "code" in answer_of(foreign.answer_consent(response))
    assert "code" in answer_of(foreign.authorize()), "that very host was consented to"
    told = SecurityEvent.objects.filter(kind__startswith="app_allowed").values_list("kind", flat=True)
    assert list(told) == ["app_allowed"] * 2, "once for each of the two"
    assert "elsewhere.test was not in" in reason_of(foreign.client)


def test_silently_it_is_consent_required_until_the_host_was_consented_to(
    reviewed: RelyingParty, foreign: RelyingParty
) -> None:
    reviewed.code()
    assert "code" in answer_of(reviewed.authorize(prompt="none"))
    assert answer_of(foreign.authorize(prompt="none"))["error"] == "consent_required"
    assert reason_of(foreign.client) == (
        "The person has allowed the app, but not at elsewhere.test, which its review does not cover."
    )
    foreign.code()
    assert "code" in answer_of(foreign.authorize(prompt="none"))


def test_consent_counts_for_one_host_and_the_scopes_asked_there(reviewed: RelyingParty, foreign: RelyingParty) -> None:
    third = "https://third.test/callback"
    change(reviewed, redirect_uris=f"{REDIRECT_URI} {FOREIGN} {third} https://elsewhere.test:8443/back")
    reviewed.code(scope="openid email profile")
    foreign.code(scope="openid")
    assert answer_of(foreign.authorize(prompt="none", scope="openid email"))["error"] == "consent_required"
    assert "code" in answer_of(foreign.authorize(prompt="none", scope="openid"))
    assert "code" in answer_of(
        foreign.authorize(prompt="none", scope="openid", redirect_uri="https://elsewhere.test:8443/back")
    ), "the same host at another port"
    assert answer_of(foreign.authorize(prompt="none", scope="openid", redirect_uri=third))["error"] == (
        "consent_required"
    )
    foreign.code(scope="openid email")
    assert "code" in answer_of(foreign.authorize(prompt="none", scope="openid email"))
    assert answer_of(foreign.authorize(prompt="none", scope="openid profile"))["error"] == "consent_required"


def test_a_scope_that_is_taken_back_is_granted_at_no_host(reviewed: RelyingParty, foreign: RelyingParty) -> None:
    """If the person grants it again at a covered host, they have not granted it again at the other one."""
    change(reviewed, optional_scopes="email")
    asked = {"scope": "openid email", "prompt": "consent"}
    for party, chosen in ((foreign, ["email"]), (reviewed, []), (reviewed, ["email"])):
        answer = answer_of(party.answer_consent(party.authorize(**asked), optional=chosen))
        assert ("email" in party.exchange(answer["code"]).json()["scope"]) == bool(chosen)
    silently = answer_of(foreign.authorize(scope="openid email", prompt="none"))
    assert silently.get("error") == "consent_required"


def test_removing_the_app_takes_that_consent_too(reviewed: RelyingParty, foreign: RelyingParty) -> None:
    foreign.code()
    foreign.browser.post(f"/account/apps/{Connection.objects.get().pk}/remove")
    assert Connection.objects.get().scopes_outside_review is None
    reviewed.code()
    assert answer_of(foreign.authorize(prompt="none"))["error"] == "consent_required"


def test_consent_while_the_host_was_reviewed_does_not_count_once_it_is_not(
    reviewed: RelyingParty, foreign: RelyingParty
) -> None:
    change(reviewed, reviewed_hosts=f"app.example.com {HOST}")
    foreign.code()
    assert "code" in answer_of(foreign.authorize(prompt="none"))
    change(reviewed, reviewed_hosts="app.example.com")
    assert answer_of(foreign.authorize(prompt="none"))["error"] == "consent_required"


@pytest.mark.parametrize(
    ("lost", "says"),
    [
        ({"reviewed_hosts": "app.example.com"}, WARNING),
        ({"verified_at": None, "reviewed_hosts": "", "approved_scopes": ""}, "Openport has not reviewed this app. "),
    ],
    ids=["of the host", "of the app"],
)
def test_a_form_with_the_badge_is_rejected_after_the_badge_is_lost(
    reviewed: RelyingParty, foreign: RelyingParty, lost: dict[str, Any], says: str
) -> None:
    change(reviewed, reviewed_hosts=f"app.example.com {HOST}")
    page = foreign.authorize()
    assert BADGE in text_of(page)
    change(reviewed, **lost)
    again = foreign.answer_consent(page)
    assert again.status_code == 302
    assert again["Location"].startswith("/connect/authorize?")
    assert not Connection.objects.exists()
    page = foreign.browser.get(again["Location"])
    assert BADGE not in text_of(page)
    assert says in text_of(page).replace("</strong>", "")
    assert "code" in answer_of(foreign.answer_consent(page))


def test_a_consent_for_another_host_issues_no_code(reviewed: RelyingParty, person: Account) -> None:
    reviewed.code()
    client = Client.objects.select_related("project").get()
    consent.require_consent(person, client, ["openid"], REDIRECT_URI)
    with pytest.raises(ConsentMissing):
        consent.require_consent(person, client, ["openid"], FOREIGN)


def test_refreshing_does_not_depend_on_the_host(reviewed: RelyingParty, foreign: RelyingParty) -> None:
    change(reviewed, reviewed_hosts=f"app.example.com {HOST}")
    tokens = foreign.tokens(scope="openid account.read offline_access")
    change(reviewed, reviewed_hosts="app.example.com")
    answer = foreign.refresh(tokens["refresh_token"])
    assert answer.status_code == 200
    assert "account.read" in answer.json()["scope"].split()


def test_no_more_hosts_are_kept_than_the_app_has(reviewed: RelyingParty, foreign: RelyingParty) -> None:
    foreign.code()
    change(reviewed, redirect_uris=f"{REDIRECT_URI} https://third.test/callback")
    RelyingParty(reviewed.client, reviewed.browser, redirect_uri="https://third.test/callback").code()
    assert set(Connection.objects.get().scopes_outside_review or {}) == {"third.test"}


def test_the_reference_of_a_form_keeps_host_and_scopes_apart() -> None:
    assert Shown(frozenset({"email"}), HOST) != Shown(frozenset({"email", HOST}))


# --- Which hosts count ---


@pytest.mark.parametrize(
    ("uri", "counts"),
    [
        ("https://app.example.com/callback", True),
        ("https://app.example.com:8443/other", True),
        ("https://APP.example.com/callback", True),  # can't be registered, and is the same host
        ("https://app.example.com./callback", False),
        ("https://sub.app.example.com/callback", False),
        ("https://app.example.com@elsewhere.test/", False),
        ("https://elsewhere.test/app.example.com", False),
        ("http://localhost:3000/callback", False),
        ("not an address", False),
        ("", False),
    ],
)
def test_a_host_is_compared_as_a_whole(reviewed: RelyingParty, uri: str, counts: bool) -> None:
    assert counts_as_reviewed(reviewed.client, uri) is counts
    assert (outside_host(reviewed.client, uri) == "") is (counts or not uri)


def test_two_addresses_on_one_host_are_one_host(reviewed: RelyingParty) -> None:
    change(reviewed, redirect_uris=f"{REDIRECT_URI} {FOREIGN} https://elsewhere.test:8443/back")
    assert outside_hosts(reviewed.client) == [HOST]


@pytest.mark.parametrize("uri", ["", "not an address", "https://app.example.com:99999/"])
def test_an_invalid_redirect_url_is_not_covered_for_any_client_type(app: RelyingParty, uri: str) -> None:
    for kind in Client.Type.values:
        change(app, type=kind, **as_reviewed())
        assert not counts_as_reviewed(app.client, uri)


def test_the_playgrounds_redirect_url_is_covered(reviewed: RelyingParty) -> None:
    change(reviewed, redirect_uris=f"{REDIRECT_URI} {playground_redirect_uri()}")
    own = RelyingParty(reviewed.client, reviewed.browser, redirect_uri=playground_redirect_uri())
    page = own.authorize(scope="openid account.read")
    assert BADGE in text_of(page)
    assert outside_hosts(reviewed.client) == []


def test_first_party_apps_are_exempt(foreign: RelyingParty, settings: Any) -> None:
    settings.UNVERIFIED_APP_PEOPLE = 0
    change(foreign, first_party=True)
    assert "code" in answer_of(foreign.authorize(scope="openid account.read"))
    assert BADGE in text_of(foreign.authorize(prompt="consent"))


def test_a_withdrawn_approval_makes_every_host_one_of_an_unreviewed_app(
    reviewed: RelyingParty, foreign: RelyingParty
) -> None:
    change(reviewed, verified_at=None, approved_scopes="")
    set_reviewed_hosts(reviewed.client)
    reviewed.client.save()
    for app in (reviewed, foreign):
        page = text_of(newcomer(app).authorize())
        assert "Openport has not reviewed this app." in page
        assert WARNING not in page


def test_a_new_host_on_an_approved_domain_counts_at_once(reviewed: RelyingParty, person: Account) -> None:
    make_domain(reviewed.client.project, "orbit.test")
    change(reviewed, approved_domains="orbit.test")
    uris = [REDIRECT_URI, FOREIGN, "https://orbit.test/a", "https://deep.down.orbit.test/b", "https://notorbit.test/c"]
    client = update_client(reviewed.client, person, uris, [])
    assert outside_hosts(client) == [HOST, "notorbit.test"]
    for uri, shown in ((uris[3], True), (uris[4], False)):
        page = RelyingParty(client, reviewed.browser, redirect_uri=uri).authorize()
        assert (BADGE in text_of(page)) is shown


def test_the_domain_of_another_project_covers_nothing(reviewed: RelyingParty, person: Account) -> None:
    make_domain(make_project(), HOST)
    client = update_client(reviewed.client, person, [REDIRECT_URI, FOREIGN], [])
    assert outside_hosts(client) == [HOST]


# --- Budgets ---


def test_a_request_takes_no_more_statements_than_the_budget(reviewed: RelyingParty, foreign: RelyingParty) -> None:
    RelyingParty(make_client(), sign_in(Browser(), make_account())).code()  # what a process makes once
    app = newcomer(foreign)
    page = step(9, app.authorize, 200)
    step(12, lambda: app.answer_consent(page), 200)
    at_home = RelyingParty(reviewed.client, app.browser)
    page = step(6, lambda: at_home.authorize(prompt="consent"), 200)
    step(10, lambda: at_home.authorize(), 302)
