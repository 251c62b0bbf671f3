"""The page of one step of a sign-in: the fix of each refusal, and the steps that belong to it."""

from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client as Browser
from django.urls import reverse

from accounts.models import Account
from api import usage_counts
from core import clock
from devportal.console.fixes import Fix
from devportal.console.logs import sign_in_log
from devportal.console.logs.fixes import fix_for
from devportal.console.models import SignInEvent
from devportal.docs.rendering import kept
from oidc.apis.registry import reload_registry
from oidc.models import ApiScope, Client, Project
from oidc.sign_in_log.steps import Outcome
from oidc.values.reasons import Reason
from tests.devportal.console.logs.test_sign_in_log import log
from tests.factories import REDIRECT_URI, make_api, make_client, make_web_client
from tests.oidc.test_sign_in_log import REFUSED
from tests.relying_party import RelyingParty, sign_in

DIFFERS = Reason.REDIRECT_URI_PATH


def address(row: SignInEvent) -> str:
    client = row.client
    return reverse("console:sign_in_detail", args=[client.project.public_id, client.client_id, row.pk])


def page(browser: Browser, row: SignInEvent) -> str:
    response = browser.get(address(row))
    assert response.status_code == 200
    return str(response.content.decode())


def fix(browser: Browser, row: SignInEvent) -> Fix:
    found: Fix = browser.get(address(row)).context["fix"]
    return found


# --- Fixes ---


def test_an_address_that_could_be_registered_can_be_added(as_developer: Browser, app: Client) -> None:
    sent = "https://app.example.com/other?a=1&b=2"
    link = fix(as_developer, log(app, reason=DIFFERS, redirect_uri=sent)).url
    assert parse_qs(urlsplit(link).query)["add"] == [sent]
    settings_page = as_developer.get(link)
    assert settings_page.status_code == 200
    assert sent.replace("&", "&amp;") in settings_page.content.decode()


def test_viewers_see_who_can_fix_it(as_viewer: Browser, app: Client) -> None:
    text = page(as_viewer, log(app, reason=DIFFERS, redirect_uri="https://app.example.com/other"))
    assert "?add=" not in text
    assert "A developer or owner of the project can fix it: Add this redirect URL" in text


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ("http://app.example.com/callback", "http is allowed only for localhost and 127.0.0.1."),
        ("javascript:alert(1)", "t be added: This is not a valid URL"),
        ("https://app.example.com/callback?code=[removed]", "The log does not hold the whole URL"),
        ("https://[removed]@app.example.com/", "The log does not hold the whole URL"),
    ],
)
def test_a_url_that_can_not_be_registered_shows_the_reason(sent: str, why: str, as_owner: Browser, app: Client) -> None:
    row = log(app, reason=DIFFERS, redirect_uri=sent)
    assert "?add=" not in fix(as_owner, row).url
    assert why in page(as_owner, row)


def test_a_url_registered_since_needs_no_fix(as_owner: Browser, app: Client) -> None:
    row = log(app, reason=DIFFERS, redirect_uri=REDIRECT_URI)
    assert "now registered" in fix(as_owner, row).text
    assert as_owner.get(address(row)).context["compared"] == []


def test_the_first_difference_is_marked(as_owner: Browser, app: Client) -> None:
    Client.objects.filter(pk=app.pk).update(redirect_uris=f"https://else.example.com/ {REDIRECT_URI}")
    row = log(app, reason=DIFFERS, redirect_uri=f"{REDIRECT_URI}/")
    text = page(as_owner, row)
    assert f"{REDIRECT_URI}<mark>/</mark>" in text
    assert f'{REDIRECT_URI}</bdi></code> <mark class="log-compared__end">ends here</mark>' in text
    nearest, other = as_owner.get(address(row)).context["compared"]
    assert (nearest.same, nearest.received, nearest.registered) == (REDIRECT_URI, "/", "")
    assert (other.same, other.received[:4]) == ("https://", "app.")


@pytest.mark.parametrize(
    ("names", "says", "page_of"),
    [
        (["emial"], "There is no scope emial: did you mean email?", "/docs/"),
        (["offline"], "did you mean offline_access?", "/docs/"),
        (["zzz"], "There is no scope zzz, leave it out.", "/docs/"),
        (["account.read"], "account.read needs app review first", "/review"),
        (["account.read", "emial"], "did you mean email?", "/review"),
        (
            ["account.read", "calendar.read"],
            "These scopes need app review first: account.read, calendar.read.",
            "/review",
        ),
    ],
)
def test_scopes(names: list[str], says: str, page_of: str, as_owner: Browser, app: Client) -> None:
    make_api()
    ApiScope.objects.update(needs_approval=True)
    reload_registry()
    row = log(app, error="invalid_scope", reason=Reason.SCOPE_UNKNOWN, parameters={"scopes": names})
    found = fix(as_owner, row)
    assert says in found.text
    assert page_of in found.url


def test_a_scope_approved_since_needs_no_fix(as_owner: Browser, app: Client) -> None:
    row = log(app, error="invalid_scope", reason=Reason.SCOPE_NOT_APPROVED, parameters={"scopes": ["account.read"]})
    Client.objects.filter(pk=app.pk).update(approved_scopes="account.read")
    assert "can now request" in fix(as_owner, row).text


def test_a_client_that_is_off(as_owner: Browser, app: Client, project: Project) -> None:
    row = log(app, error="unavailable", reason=Reason.CLIENT_OFF)
    assert "on again" in fix(as_owner, row).text
    Client.objects.filter(pk=app.pk).update(enabled=False)
    found = fix(as_owner, row)
    assert (found.label, found.url.rpartition("#")[2]) == ("Turn on", "switch")
    Project.objects.filter(pk=project.pk).update(suspended_at=clock.now())
    assert fix(as_owner, row).url.endswith("#appeal")


def test_a_success_shows_no_fix(as_owner: Browser, app: Client) -> None:
    row = log(app, outcome=Outcome.SIGNED_IN, endpoint="token", error="", reason="")
    response = as_owner.get(address(row))
    assert response.context["fix"] is None
    assert 'id="fix"' not in response.content.decode()
    assert "The app exchanged its code for tokens." in response.content.decode()


# --- Docs of the error ---


@pytest.mark.parametrize("reason", [Reason.STATE_MISSING, Reason.CODE_USED, Reason.SECRET_WRONG, Reason.PEOPLE_LIMIT])
def test_the_docs_of_a_reason(reason: Reason, as_owner: Browser, app: Client) -> None:
    text = page(as_owner, log(app, reason=reason))
    assert f'href="/docs/errors#reason-{reason}"' in text
    assert reason.cause in unescape(text)


def test_an_unknown_reason_is_shown_by_its_code(as_owner: Browser, app: Client) -> None:
    text = page(as_owner, log(app, reason="of_a_later_version"))
    assert "of_a_later_version" in text
    assert "Cause and fix are in the documentation of the error." in text


# --- Steps beside it ---


def family(browser: Browser, row: SignInEvent) -> list[str]:
    return [step.row.outcome for step in browser.get(address(row)).context["family"]]


def steps(client: Client) -> list[SignInEvent]:
    kinds = [Outcome.CODE_ISSUED, Outcome.SIGNED_IN, Outcome.REFRESHED, Outcome.REVOKED]
    return [
        log(client, outcome=kind, endpoint="token", error="", reason="", family=7, request_id=f"r{number}")
        for number, kind in enumerate(kinds)
    ]


def test_the_steps_of_a_sign_in_are_shown_together(as_viewer: Browser, app: Client, project: Project) -> None:
    rows = steps(app)
    log(app, family=8)
    log(app)
    log(make_client(project), family=7)
    for row in rows:
        assert family(as_viewer, row) == ["issued", "signed_in", "refreshed", "revoked"]
    text = page(as_viewer, rows[1])
    assert address(rows[2]) in text
    assert f'href="{address(rows[1])}"' not in text
    assert family(as_viewer, log(app)) == []


def test_the_search_for_steps_is_limited(as_viewer: Browser, app: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [log(app, family=7) for _ in range(30)]
    assert len(family(as_viewer, rows[15])) == 21
    monkeypatch.setattr(sign_in_log, "NEARBY", 3)
    assert len(family(as_viewer, rows[15])) == 7
    assert len(family(as_viewer, rows[0])) == 4


def test_other_steps_with_the_same_request_id(as_viewer: Browser, app: Client) -> None:
    row, same = log(app, request_id="one"), log(app, request_id="one", outcome=Outcome.CANCELLED)
    log(app, request_id="two")
    found = as_viewer.get(address(row)).context["same_request"]
    assert [step.row.pk for step in found] == [same.pk]


def test_a_code_that_nobody_exchanged(as_viewer: Browser, app: Client) -> None:
    issued = log(app, outcome=Outcome.CODE_ISSUED, error="", reason="", family=9, at=clock.now())
    assert "has not exchanged" not in page(as_viewer, issued)
    issued.at = clock.now() - timedelta(minutes=2)
    issued.save()
    assert "has not exchanged" in page(as_viewer, issued)
    log(app, outcome=Outcome.SIGNED_IN, family=9)
    assert "has not exchanged" not in page(as_viewer, issued)


# --- As curl ---


def curl(browser: Browser, row: SignInEvent) -> str:
    found: str = browser.get(address(row)).context["curl"]
    return found


def test_requests_as_curl(as_viewer: Browser, app: Client, project: Project) -> None:
    authorize = curl(as_viewer, log(app, redirect_uri="https://x.example.com/'$(id)"))
    assert "/connect/authorize'" in authorize
    assert "'redirect_uri=https://x.example.com/'\"'\"'$(id)'" in authorize
    exchange = curl(as_viewer, log(app, endpoint="token", redirect_uri=REDIRECT_URI))
    assert f"--data-urlencode 'redirect_uri={REDIRECT_URI}'" in exchange
    assert f"'client_id={app.client_id}'" in exchange
    assert "$CLIENT_SECRET" not in exchange
    assert "refresh_token=$REFRESH_TOKEN" in curl(
        as_viewer, log(app, endpoint="token", reason=Reason.REFRESH_TOKEN_SUPERSEDED)
    )
    web, secret = make_web_client(project)
    revoke = curl(as_viewer, log(web, endpoint="revoke"))
    assert f"-u '{web.client_id}'\":$CLIENT_SECRET\"" in revoke
    assert secret not in revoke


# --- What is not there ---


def test_a_deleted_entry_shows_a_message(as_viewer: Browser, app: Client, settings: Any) -> None:
    settings.SIGN_IN_LOG_DAYS = 17
    row = log(app)
    path = address(row)
    row.delete()
    response = as_viewer.get(path)
    assert response.status_code == 404
    assert "after 17 days" in response.content.decode()


def test_an_entry_of_another_client_is_not_found(as_viewer: Browser, app: Client, project: Project) -> None:
    row = log(make_client(project), reason="elsewhere")
    path = reverse("console:sign_in_detail", args=[project.public_id, app.client_id, row.pk])
    response = as_viewer.get(path)
    assert response.status_code == 404
    assert "elsewhere" not in response.content.decode()


@pytest.mark.parametrize("sent", ['"><script>alert(1)</script>', "[", "//["])
def test_hostile_values_are_escaped(sent: str, as_owner: Browser, app: Client) -> None:
    facts = {"registered": sent, "received": sent, "expected": sent, "scopes": [sent, sent], "name": sent}
    for reason in (Reason.REDIRECT_URI_PATH, Reason.SCOPE_UNKNOWN, sent[:40]):
        row = log(app, redirect_uri=sent, reason=reason, parameters=facts, request_id=sent[:64], error="invalid_scope")
        assert "<script>alert" not in page(as_owner, row)


def test_sent_values_are_not_cached_in_the_process(as_owner: Browser, app: Client) -> None:
    kept.cache_clear()
    assert "curl" in page(as_owner, log(app, redirect_uri="https://elsewhere.example/", error="invalid_request"))
    assert kept.cache_info().currsize == 0


@pytest.fixture
def party(spa: Client, person: Account) -> RelyingParty:
    """A browser app, which acts for a person who is signed in."""
    browser = Browser()
    sign_in(browser, person)
    return RelyingParty(spa, browser)


def logged(client: Client) -> SignInEvent:
    usage_counts.flush_usage()
    return SignInEvent.objects.filter(client=client).latest("pk")


def test_every_refusal_of_the_authorization_endpoint_has_a_fix(spa: Client) -> None:
    assert REFUSED
    for _, error, reason in REFUSED:
        event = SignInEvent(client=spa, endpoint="authorize", outcome="refused", error=error, reason=reason)
        fix = fix_for(spa, event)
        assert fix is not None, reason
        assert fix.url.startswith(("/docs/", "/console/p/"))
        assert fix.text
        assert fix.label


@pytest.mark.parametrize(
    ("form", "page"),
    [
        ({"grant_type": "authorization_code", "code": "x", "code_verifier": "y" * 43}, "/docs/sign-in/tokens#code"),
        ({"grant_type": "refresh_token", "refresh_token": "x"}, "/docs/sign-in/tokens#refresh"),
        ({"grant_type": "authorization_code", "code": "x", "code_verifier": None}, "/docs/sign-in/tokens#code"),
        ({"grant_type": "authorization_code", "code": "x", "client_secret": "wrong"}, "#secrets"),
        ({"grant_type": "authorization_code", "code": "x", "client_secret": ""}, "#secrets"),
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
