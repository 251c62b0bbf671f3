"""What the console says of the hosts of a reviewed app, and what the trail keeps (docs/review.md#hosts)."""

from typing import Any

import pytest
from django.test import Client as Browser
from django.urls import reverse

from accounts.models import Account
from core import clock
from oidc.clients.domain_names import domains_of
from oidc.clients.reviewed_hosts import HostReason, host_standing
from oidc.models import Client, Project, ProjectDomain
from oidc.values.redirect_uris import playground_redirect_uri
from tests.devportal.console.clients.test_settings import save
from tests.devportal.console.forms import URI, at, trail
from tests.devportal.review.reviewing import approved, fresh, make_operator, sent
from tests.factories import as_reviewed, make_client, make_domain

FOREIGN = "https://elsewhere.test/callback"
OUTSIDE = "People who return here see the app as not reviewed"


@pytest.fixture
def client_of(project: Project) -> Client:
    """A reviewed app, to which an address elsewhere was added."""
    return make_client(
        project, redirect_uris=f"{URI} {FOREIGN}", approved_domains="example.com orbit.test", **as_reviewed()
    )


def words(response: Any) -> str:
    return " ".join(response.content.decode().split())


def settings_page(browser: Browser, client: Client) -> str:
    return words(browser.get(at("client_settings", client.project, client)))


def test_each_redirect_url_of_a_reviewed_app_shows_whether_it_is_covered(
    as_developer: Browser, client_of: Client
) -> None:
    make_domain(client_of.project, "orbit.test")
    Client.objects.update(
        redirect_uris=f"{URI} {FOREIGN} https://sub.orbit.test/x http://localhost:3000/x",
        reviewed_hosts="app.example.com sub.orbit.test",
    )
    page = settings_page(as_developer, client_of)
    assert page.count("Counts as reviewed because it was part of the review.") == 1
    assert page.count('because it is on your proven domain <span class="break">orbit.test</span>.') == 1
    assert page.count(OUTSIDE) == 2
    assert page.count("Prove its domain") == 1, "localhost is nobody's"
    assert f'<a href="{at("review", client_of.project, client_of)}">Submit this change for review</a>' in page
    assert "nobody new can use it when the project’s apps that are not reviewed have 100 people" in page


@pytest.mark.parametrize("fields", [{"verified_at": None}, {"first_party": True}])
def test_apps_without_review_show_no_coverage(as_developer: Browser, client_of: Client, fields: dict[str, Any]) -> None:
    Client.objects.update(**fields)
    page = settings_page(as_developer, client_of)
    assert "Counts as reviewed" not in page
    assert OUTSIDE not in page
    assert "Not at every host" not in page


def test_a_url_that_is_not_saved_yet_is_checked_as_well(as_developer: Browser, client_of: Client) -> None:
    make_domain(client_of.project, "orbit.test")
    for added, said in (("https://orbit.test/x", "orbit.test</span>."), ("https://third.test/x", OUTSIDE)):
        page = words(as_developer.get(at("client_settings", client_of.project, client_of), {"add": added}))
        assert page.count("Not saved yet") == 1
        assert page.count(said) >= 1


def test_a_form_with_errors_still_shows_the_coverage(as_developer: Browser, client_of: Client) -> None:
    page = words(save(as_developer, client_of, redirect_uris=[FOREIGN, "http://elsewhere.test/", "\x00"]))
    assert page.count(OUTSIDE) == 1
    assert "Nothing is saved yet" in page


def test_saving_shows_one_message_for_each_new_host(as_developer: Browser, client_of: Client) -> None:
    make_domain(client_of.project, "orbit.test")
    uris = [URI, FOREIGN, "https://a.orbit.test/1", "https://a.orbit.test/2", "https://third.test/", f"{URI}/2"]
    page = words(as_developer.get(save(as_developer, client_of, redirect_uris=uris)["Location"]))
    assert "People who come from a.orbit.test immediately see the app as reviewed." in page
    assert "Not reviewed: third.test. People who come from there" in page
    page = words(as_developer.get(save(as_developer, fresh(client_of))["Location"]))
    assert "immediately see the app as reviewed" not in page
    assert "People who come from there" not in page


def test_the_audit_trail_has_the_covered_hosts(as_developer: Browser, as_owner: Browser, client_of: Client) -> None:
    make_domain(client_of.project, "orbit.test")
    save(as_developer, client_of, redirect_uris=[URI, "https://a.orbit.test/", "https://third.test/"])
    (event,) = trail("client.changed")
    assert event.before["hosts_in_review"] == ["app.example.com"]
    assert event.before["hosts_outside_review"] == ["elsewhere.test"]
    assert event.after["hosts_in_review"] == ["app.example.com", "a.orbit.test"]
    assert event.after["hosts_outside_review"] == ["third.test"]
    page = words(as_owner.get(at("activity", client_of.project)))
    assert "Counts as reviewed at" in page
    assert "Hosts outside of the review" in page


def test_another_path_on_a_known_host_shows_no_message(as_developer: Browser, client_of: Client) -> None:
    save(as_developer, client_of, redirect_uris=[URI, FOREIGN, f"{FOREIGN}/2"])
    (event,) = trail("client.changed")
    assert event.after.keys() == {"redirect_uris"}


@pytest.mark.parametrize("page", ["project", "clients", "client_settings"])
def test_the_badge_says_that_not_every_host_counts(as_viewer: Browser, client_of: Client, page: str) -> None:
    own = () if page in ("project", "clients") else (client_of,)
    assert "Not at every host" in words(as_viewer.get(at(page, client_of.project, *own)))
    Client.objects.update(redirect_uris=URI)
    assert "Not at every host" not in words(as_viewer.get(at(page, client_of.project, *own)))


def test_the_review_page_names_the_hosts_and_a_review_takes_them_in(
    as_developer: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    client = approved(app, developer, reviewer)
    page = at("review", client.project, client)
    assert "Hosts outside the review" not in words(as_developer.get(page))
    save(as_developer, client, redirect_uris=[*client.redirect_uris.split(), "https://elsewhere.test/back"])
    text = words(as_developer.get(page))
    assert '<li><code class="break">elsewhere.test</code></li>' in text
    assert "then submit this change for review." in text
    make_domain(client.project, "elsewhere.test")  # proven, and nothing has computed it again
    approved(fresh(client), developer, reviewer)
    assert "Hosts outside the review" not in words(as_developer.get(page))
    assert "elsewhere.test" in fresh(client).approved_hosts


def test_the_preview_leads_where_the_app_counts_as_reviewed(as_viewer: Browser, client_of: Client) -> None:
    Client.objects.update(redirect_uris=f"{FOREIGN} {URI}")
    page = words(as_viewer.get(at("branding", client_of.project, client_of)))
    assert page.lower().count('you continue to <strong class="break">app.example.com</strong>') == 2
    assert '<strong class="break">elsewhere.test</strong>' not in page


def test_a_review_that_is_under_way_changes_nothing_yet(
    as_developer: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    client = approved(app, developer, reviewer)
    save(as_developer, client, redirect_uris=[*client.redirect_uris.split(), "https://elsewhere.test/back"])
    make_domain(client.project, "elsewhere.test")
    sent(fresh(client), developer)
    assert "Hosts outside the review" in words(as_developer.get(at("review", client.project, client)))


def test_the_admin_shows_the_hosts_to_read(client_of: Client, browser_of: Any) -> None:
    page = words(browser_of(make_operator()).get(reverse("admin:oidc_client_change", args=[client_of.pk])))
    assert "elsewhere.test" in page
    assert "hosts outside of the review" in page.lower()
    assert 'name="approved_hosts"' not in page
    assert 'name="reviewed_hosts"' not in page


def standing(client: Client, uri: str) -> Any:
    return host_standing(client, uri, domains_of(client.project))


def test_a_lost_domain_is_the_reason_that_is_given(client_of: Client) -> None:
    domain = make_domain(client_of.project, "example.com")
    assert standing(client_of, URI).reason == HostReason.DOMAIN
    ProjectDomain.objects.filter(pk=domain.pk).update(proven_at=None, lost_at=clock.now())
    client_of.reviewed_hosts = ""
    found = standing(client_of, URI)
    assert (found.reason, found.counts) == (HostReason.LOST, False)


@pytest.mark.parametrize("kind", ["native", "web"])
def test_loopback_counts_only_if_it_was_approved(client_of: Client, kind: str) -> None:
    client_of.type = kind
    assert standing(client_of, "http://127.0.0.1:9/x").reason == HostReason.LOOPBACK
    client_of.approved_hosts = client_of.reviewed_hosts = "127.0.0.1"
    assert standing(client_of, "http://127.0.0.1:9/x").reason == HostReason.APPROVED


def test_the_console_explains_a_domain_proven_after_the_review(as_developer: Browser, client_of: Client) -> None:
    make_domain(client_of.project, "elsewhere.test")
    page = settings_page(as_developer, client_of)
    assert "Not reviewed: your domain elsewhere.test was not part of the review." in page
    assert f'<a href="{at("review", client_of.project, client_of)}">Submit this change for review</a>.' in page
    page = words(as_developer.get(at("review", client_of.project, client_of)))
    assert "submit this change for review" in page


@pytest.mark.parametrize("page", ["project", "clients", "client_settings", "review"])
def test_the_console_says_that_the_home_page_is_not_proven(as_viewer: Browser, client_of: Client, page: str) -> None:
    Client.objects.update(home_unproven_since=clock.now(), home_page_url="https://gone.test/")
    own = () if page in ("project", "clients") else (client_of,)
    text = words(as_viewer.get(at(page, client_of.project, *own)))
    assert "Home page not proven" in text
    assert ">Verified<" not in text
    if page == "review":
        assert "People see this app as not reviewed" in text
        assert "gone.test" in text


@pytest.mark.parametrize("uri", ["", "nothing", playground_redirect_uri])
def test_other_hosts_have_no_coverage(client_of: Client, uri: Any) -> None:
    assert standing(client_of, uri() if callable(uri) else uri) is None
