"""The public page of an app: what it says, when it is there, and where it is linked."""

import html
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext, override_settings

from accounts.models import Account
from core import clock
from devportal.review.decisions import reviewer_actions
from devportal.review.submission import developer_actions
from oidc.authorization import consent
from oidc.clients.registration import update_client
from oidc.domains import branding
from oidc.models import Client, ProjectDomain
from tests.devportal.review.reviewing import JUSTIFICATION, SCOPE, approve, approved, fill, fresh
from tests.factories import make_account, make_domain
from tests.relying_party import RelyingParty, sign_in

PAGE = "/apps/orbit-notes/"


@pytest.fixture
def published(app: Client, developer: Account, reviewer: Account) -> Client:
    client = approved(app, developer, reviewer)
    branding.publish_page(client, developer, "orbit-notes")
    return fresh(client)


def text_of(url: str = PAGE, browser: Browser | None = None) -> str:
    response = (browser or Browser()).get(url)
    assert response.status_code == 200
    return html.unescape(response.content.decode())


def test_the_public_page_shows_what_was_approved(published: Client) -> None:
    text = text_of()
    for shown in (
        "Orbit Notes", "Reviewed by", "example.com", JUSTIFICATION,
        "See your email address, your name and photo, and your plan", "https://example.com/privacy",
        "https://example.com/terms", "help@example.com", f"/apps/report/{published.client_id}",
    ):  # fmt: skip
        assert shown in text, shown
    for address in Account.objects.values_list("email", flat=True):
        assert address not in text


def test_the_public_page_omits_unreviewed_values(published: Client) -> None:
    published.project.name = "Famous Bank"
    published.project.save()
    assert "Famous Bank" not in text_of()


def test_the_public_page_sets_no_cookie_and_has_safe_cache_headers(published: Client) -> None:
    response = Browser().get(PAGE)
    assert not response.cookies
    assert "csrfmiddlewaretoken" not in response.content.decode()
    assert Browser().post(PAGE).status_code == 405
    assert Browser().get("/apps/").status_code == 404


def _off(client: Client) -> None:
    Client.objects.filter(pk=client.pk).update(enabled=False)


def _suspended(client: Client) -> None:
    client.project.suspended_at = clock.now()
    client.project.save()


def _deleted(client: Client) -> None:
    client.project.deleted_at = clock.now()
    client.project.save()


def _withdrawn(client: Client) -> None:
    reviewer = Account.objects.get(email="rita@example.com")
    reviewer_actions.withdraw_approval(client, reviewer, reasons=["harmful"])


def _down(client: Client) -> None:
    branding.take_down_page(client, Account.objects.get(email="dan@example.com"))


@pytest.mark.parametrize("act", [_off, _suspended, _deleted, _withdrawn, _down])
def test_the_public_page_is_404_if_the_app_is_unavailable(published: Client, act: Callable[[Client], None]) -> None:
    act(published)
    found, unknown = Browser().get(PAGE), Browser().get("/apps/nobody/")
    assert found.status_code == unknown.status_code == 404

    def without_ids(response: Any) -> str:
        return str(response.content.decode()).replace(response["X-Request-ID"], "")

    assert without_ids(found) == without_ids(unknown)


def test_the_public_page_returns_with_a_new_approval(published: Client, developer: Account, reviewer: Account) -> None:
    _withdrawn(published)
    developer_actions.save_submission(published, developer, {"terms_url": "https://example.com/new-terms"})
    row = reviewer_actions.start(developer_actions.submit(published, developer), reviewer)
    scopes = dict.fromkeys(row.snapshot["scopes"], False)
    approve(row, reviewer, scopes, despite="The reason for the withdrawal is gone.")
    text = text_of()
    assert "asks for nothing that needs a review" in text
    assert JUSTIFICATION not in text


def test_the_public_page_omits_drafts(published: Client, developer: Account) -> None:
    fill(published, developer, name="Comet Notes", support_address="new@example.com")
    developer_actions.save_submission(
        published, developer, {}, scopes={SCOPE: "Something else that nobody approved so far."}
    )
    for _ in range(2):
        text = text_of()
        assert "Comet Notes" not in text
        assert "new@example.com" not in text
        assert "Something else" not in text
        assert JUSTIFICATION in text
        if fresh(published).reviews.filter(status="submitted").exists():
            break
        developer_actions.submit(published, developer)


def test_texts_of_developers_are_escaped(app: Client, developer: Account, reviewer: Account) -> None:
    fill(app, developer, name="<b>Tom</b> & Jerry")
    developer_actions.save_submission(
        app, developer, {}, scopes={SCOPE: '<script>alert(1)</script>"onmouseover="x {{ 7|add:7 }}'}
    )
    row = reviewer_actions.start(developer_actions.submit(app, developer), reviewer)
    approve(row, reviewer)
    branding.publish_page(app, developer, "orbit-notes")
    text = Browser().get(PAGE).content.decode()
    for raw in ("<b>Tom", "<script>alert", '"onmouseover'):
        assert raw not in text
    assert "{{ 7|add:7 }}" in html.unescape(text)


def test_only_proven_domains_are_named(published: Client) -> None:
    ProjectDomain.objects.create(project=published.project, name="elsewhere.example", added_at=clock.now())
    assert "elsewhere.example" not in text_of()
    ProjectDomain.objects.update(lost_at=clock.now())
    assert ">None<" in text_of()


@pytest.mark.parametrize("proven", ["before", "after"])
def test_domains_outside_of_the_review_are_not_named(
    app: Client, developer: Account, reviewer: Account, proven: str
) -> None:
    if proven == "before":
        make_domain(app.project, "bank.test")
    client = approved(app, developer, reviewer)
    if proven == "after":
        make_domain(client.project, "bank.test")
    branding.publish_page(client, developer, "orbit-notes")
    uris = [*client.registered_redirect_uris, "https://bank.test/callback"]
    update_client(client, developer, uris, [])
    text = text_of()
    assert "example.com" in text
    assert "bank.test" not in text


def test_former_urls_redirect(published: Client, developer: Account) -> None:
    branding.publish_page(published, developer, "orbit-for-teams")
    response = Browser().get(PAGE)
    assert (response.status_code, response["Location"]) == (302, "/apps/orbit-for-teams/")
    _down(published)
    assert Browser().get(PAGE).status_code == 404


@pytest.mark.parametrize("slug", ["ORBIT-NOTES", "0rbit-notes", "a" * 500, "orb%C3%ADt"])
def test_other_spellings_are_404(published: Client, slug: str) -> None:
    assert Browser().get(f"/apps/{slug}/").status_code == 404


def test_the_statements_are_few_whatever_the_app_has(published: Client) -> None:
    for number in range(30):
        ProjectDomain.objects.create(project=published.project, name=f"d{number}.example", added_at=clock.now())
    with CaptureQueriesContext(connection) as captured:
        text_of()
    assert len(captured.captured_queries) <= 3


def connected(client: Client) -> Browser:
    person = make_account("pia@example.com")
    consent.record_consent(person, client, ["openid"])
    browser = Browser()
    browser.force_login(person)
    return browser


def test_connected_apps_links_to_it_while_it_is_there(published: Client) -> None:
    browser = connected(published)
    assert f'href="{PAGE}"' in text_of("/account/apps/", browser)
    _off(published)
    assert f'href="{PAGE}"' not in text_of("/account/apps/", browser)


def test_the_consent_page_links_to_it_in_a_new_tab(published: Client) -> None:
    person, browser = make_account("pia@example.com"), Browser()
    app = RelyingParty(published, sign_in(browser, person))
    text = html.unescape(app.authorize(scope="openid").content.decode())
    assert f'<a href="{PAGE}" target="_blank" rel="noopener">' in text
    _down(published)
    assert PAGE not in html.unescape(app.authorize(scope="openid").content.decode())


@override_settings(AUTH_URL="https://id.example.com", BASE_URL="https://api.example.com")
def test_the_public_page_is_on_the_sign_in_host(published: Client, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    assert Browser().get(PAGE, headers={"Host": "id.example.com"}).status_code == 200
    assert Browser().get(PAGE, headers={"Host": "api.example.com"}).status_code == 404
