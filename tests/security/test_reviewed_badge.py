"""The reviewed badge covers what reviewers saw, and stands only while the home page's domain is proven."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as Browser
from django.urls import reverse

from accounts.models import Account
from core import clock
from devportal.review.decisions import reviewer_actions
from devportal.review.models import AppReview, ReviewCase
from devportal.review.rules.workflow import IncompleteSubmission
from devportal.review.submission.differences import field_changes
from oidc.clients import secrets
from oidc.clients.registration import update_client
from oidc.domains import claims
from oidc.domains.results import Change, announce_change, refresh_reviewed_hosts, snapshot
from oidc.models import Client, Connection, Project, ProjectDomain, ProjectMember
from oidc.projects import invitations, members
from oidc.tasks import check_domains
from oidc.values.redirect_uris import playground_redirect_uri
from tests.devportal.review.reviewing import SCOPE, Status, approved, decide, fresh, make_reviewer, sent, ticked, ticks
from tests.factories import REDIRECT_URI, make_account, make_client, make_domain, make_project
from tests.oidc.domains.internet import DAY, HOUR, internet, prove
from tests.relying_party import RelyingParty, sign_in

__all__ = ["internet"]

pytestmark = pytest.mark.django_db

BADGE = "Reviewed by Openport"
LOGO = "/logos/"


@pytest.fixture
def owner(db: None) -> Account:
    return make_account("olga@example.com")


@pytest.fixture
def reviewed(owner: Account) -> Client:
    """An app that reviewers approved on example.com, with a logo."""
    client = approved(make_client(make_project(owner)), owner, make_reviewer())
    Client.objects.filter(pk=client.pk).update(logo="logos/orbit.webp")
    return fresh(client)


def consent_page(client: Client, redirect_uri: str = REDIRECT_URI, **parameters: str) -> str:
    """Return the consent page that someone new to the app reads."""
    app = RelyingParty(fresh(client), sign_in(Browser(), make_account()), redirect_uri=redirect_uri)
    return " ".join(app.authorize(**parameters).content.decode().split())


def add_redirect_uri(client: Client, actor: Account, uri: str) -> None:
    update_client(client, actor, [*fresh(client).registered_redirect_uris, uri], [])


def refresh(client: Client) -> None:
    refresh_reviewed_hosts(client.project)


# --- Domains that are proven after the approval ---


@pytest.mark.parametrize(
    ("domain", "host"),
    [
        ("later.test", "later.test"),
        ("later.test", "deep.down.later.test"),
        ("notexample.com", "notexample.com"),
        ("example.com.later.test", "example.com.later.test"),
        ("xn--exmple-cua.com", "xn--exmple-cua.com"),
    ],
)
def test_a_domain_proven_after_the_approval_carries_no_badge(
    reviewed: Client, owner: Account, domain: str, host: str
) -> None:
    make_domain(reviewed.project, domain)
    refresh(reviewed)
    uri = f"https://{host}/callback"
    add_redirect_uri(reviewed, owner, uri)
    page = consent_page(reviewed, uri)
    assert BADGE not in page
    assert LOGO not in page
    assert f'but not with the host that it sends you to: <strong class="break">{host}</strong>' in page
    assert BADGE in consent_page(reviewed)


def test_the_order_of_proof_and_redirect_url_makes_no_difference(
    reviewed: Client, owner: Account, internet: Any
) -> None:
    uri = "https://later.test/callback"
    add_redirect_uri(reviewed, owner, uri)
    prove(claims.add_domain(reviewed.project, "later.test", owner), internet)
    assert BADGE not in consent_page(reviewed, uri)


def test_a_domain_proven_before_the_approval_that_the_app_did_not_use_carries_no_badge(owner: Account) -> None:
    client = make_client(make_project(owner))
    make_domain(client.project, "hidden.test")
    client = approved(client, owner, make_reviewer())
    add_redirect_uri(client, owner, "https://hidden.test/callback")
    assert BADGE not in consent_page(client, "https://hidden.test/callback")


def test_the_parent_of_an_approved_domain_carries_no_badge(owner: Account, reviewed: Client) -> None:
    client = make_client(reviewed.project, name="Other Notes", redirect_uris="https://apps.tenant.test/callback")
    narrow = make_domain(client.project, "apps.tenant.test")
    sent(client, owner)
    Client.objects.filter(pk=client.pk).update(
        verified_at=clock.now(), approved_hosts="apps.tenant.test", approved_domains=narrow.name
    )
    make_domain(client.project, "tenant.test")
    refresh(client)
    add_redirect_uri(fresh(client), owner, "https://evil.tenant.test/callback")
    assert BADGE not in consent_page(client, "https://evil.tenant.test/callback")
    add_redirect_uri(fresh(client), owner, "https://sub.apps.tenant.test/callback")
    assert BADGE in consent_page(client, "https://sub.apps.tenant.test/callback")


@pytest.fixture
def narrow(owner: Account) -> AppReview:
    """A review of an app on a tenant's domain, whose parent the project has not proven yet."""
    client = make_client(make_project(owner), redirect_uris="https://apps.tenant.test/callback")
    make_domain(client.project, "apps.tenant.test")
    return reviewer_actions.start(sent(client, owner), make_reviewer())


def assert_that_the_parent_is_not_covered(client: Client, owner: Account) -> None:
    assert fresh(client).approved_domains == "apps.tenant.test example.com"
    add_redirect_uri(fresh(client), owner, "https://evil.tenant.test/callback")
    assert BADGE not in consent_page(client, "https://evil.tenant.test/callback")
    assert BADGE in consent_page(client, "https://apps.tenant.test/callback")


def test_a_parent_proven_after_the_reviewer_opened_the_page_carries_no_badge(narrow: AppReview, owner: Account) -> None:
    browser, page = Browser(), f"/admin/review/appreview/{narrow.pk}/"
    browser.force_login(make_reviewer())
    shown = re.search(r'name="domains" value="([^"]*)"', browser.get(f"{page}change/").content.decode())
    make_domain(narrow.client.project, "tenant.test")
    assert shown
    form = {"revision": 1, f"scope_{SCOPE}": "approve", **ticked(narrow), "domains": shown[1]}
    confirmation = browser.post(f"{page}do/approve/", form).content.decode()
    assert 'name="domains" value="apps.tenant.test example.com"' in confirmation
    browser.post(f"{page}do/approve/", form | {"confirm": "1"})
    assert_that_the_parent_is_not_covered(narrow.client, owner)


def test_a_parent_proven_between_two_approvals_carries_no_badge(
    narrow: AppReview, owner: Account, settings: Any
) -> None:
    settings.REVIEW_SECOND_KEY_PEOPLE = 0
    decide(narrow, make_reviewer(), Status.APPROVED)
    make_domain(narrow.client.project, "tenant.test")
    decide(narrow, make_reviewer(), Status.APPROVED)
    assert_that_the_parent_is_not_covered(narrow.client, owner)


def test_the_limits_of_people_and_scopes_apply_without_a_badge(reviewed: Client, owner: Account, settings: Any) -> None:
    settings.UNVERIFIED_APP_PEOPLE = 0
    make_domain(reviewed.project, "later.test")
    uri = "https://later.test/callback"
    add_redirect_uri(reviewed, owner, uri)
    assert "can’t take more people yet" in consent_page(reviewed, uri)
    app = RelyingParty(fresh(reviewed), sign_in(Browser(), make_account()), redirect_uri=uri)
    assert "error=invalid_scope" in app.authorize(scope="openid account.read")["Location"]


def test_another_approval_covers_the_domain(reviewed: Client, owner: Account) -> None:
    make_domain(reviewed.project, "later.test")
    uri = "https://later.test/callback"
    add_redirect_uri(reviewed, owner, uri)
    again = approved(fresh(reviewed), owner, make_reviewer())
    assert again.approved_domains == "example.com later.test"
    assert BADGE in consent_page(reviewed, uri)


def test_a_removed_domain_that_is_proven_again_is_the_approved_one(
    reviewed: Client, owner: Account, internet: Any
) -> None:
    claims.remove_domain(reviewed.project.domains.get(), owner)
    assert BADGE not in consent_page(reviewed)
    prove(claims.add_domain(reviewed.project, "example.com", owner), internet)
    assert BADGE in consent_page(reviewed)


# --- A home page on a domain that the project has given up ---


@pytest.mark.parametrize("way", ["removed", "lost", "narrowed"])
def test_name_and_badge_stand_only_while_the_home_pages_domain_is_proven(owner: Account, way: str) -> None:
    client = make_client(make_project(owner), redirect_uris="https://stays.test/callback")
    make_domain(client.project, "stays.test")
    client = approved(client, owner, make_reviewer())
    if way == "narrowed":
        Client.objects.filter(pk=client.pk).update(home_page_url="https://www.example.com/")
    uri = "https://stays.test/callback"
    assert BADGE in consent_page(client, uri)
    home = client.project.domains.get(name="example.com")
    give_up(home, owner, way)
    page = consent_page(client, uri)
    assert BADGE not in page
    assert LOGO not in page
    assert "can no longer prove that they own the domain" in page
    assert not fresh(client).carries_badge


def give_up(domain: ProjectDomain, owner: Account, way: str) -> None:
    if way == "removed":
        claims.remove_domain(domain, owner)
        return
    before = snapshot(domain)
    if way == "lost":
        domain.lost_at = clock.now()
    else:
        domain.method = ProjectDomain.Method.FILE
    domain.save()
    refresh_reviewed_hosts(domain.project, before)


def test_every_page_without_a_request_drops_the_badge_too(
    reviewed: Client, owner: Account, browser_of_person: Callable[[Account], Browser]
) -> None:
    person = make_account()
    moment = clock.now()
    Connection.objects.create(
        account=person, client=reviewed, scopes="openid", first_authorized_at=moment, last_authorized_at=moment
    )
    Client.objects.filter(pk=reviewed.pk).update(page_slug="orbit-notes")
    connected = reverse("connected_apps")
    assert LOGO in browser_of_person(person).get(connected).content.decode()
    claims.remove_domain(reviewed.project.domains.get(), owner)
    page = browser_of_person(person).get(connected).content.decode()
    assert LOGO not in page
    assert "No longer reviewed by Openport" in page
    assert Browser().get("/apps/orbit-notes/").status_code == 404
    assert not fresh(reviewed).shows_logo


@pytest.fixture
def browser_of_person() -> Callable[[Account], Browser]:
    return lambda person: sign_in(Browser(), person)


def test_the_playground_and_loopback_show_no_badge_then(reviewed: Client, owner: Account) -> None:
    own = playground_redirect_uri()
    add_redirect_uri(reviewed, owner, own)
    assert BADGE in consent_page(reviewed, own)
    claims.remove_domain(reviewed.project.domains.get(), owner)
    assert BADGE not in consent_page(reviewed, own)


def test_the_badge_is_back_with_the_proof(
    reviewed: Client, owner: Account, internet: Any, later: Callable[[float], None]
) -> None:
    domain = reviewed.project.domains.get()
    ProjectDomain.objects.filter(pk=domain.pk).update(check_at=clock.now(), found_at=clock.now())
    for _ in range(3):
        check_domains()
        later(8 * DAY + HOUR)
    assert fresh(reviewed).home_unproven_since is not None
    assert BADGE not in consent_page(reviewed)
    internet.publish_record(domain)
    check_domains()
    assert fresh(reviewed).home_unproven_since is None
    assert BADGE in consent_page(reviewed)


def test_an_app_without_a_home_page_is_never_shown_with_a_domain_that_does_not_count(owner: Account) -> None:
    """Operators may declare an app reviewed that names no home page."""
    client = make_client(make_project(owner), verified_at=clock.now())
    uris = ["https://bank.test/callback", REDIRECT_URI]
    update_client(client, owner, uris, [])
    page = consent_page(client, REDIRECT_URI)
    assert BADGE in page
    assert "bank.test" not in page
    assert '<span class="break">app.example.com</span>' in page


# --- Loopback, and the type of the client ---


@pytest.mark.parametrize("kind", list(Client.Type.values))
def test_loopback_counts_only_if_it_was_approved(reviewed: Client, owner: Account, kind: str) -> None:
    secrets.change_type(fresh(reviewed), kind, owner)
    for uri in ("http://127.0.0.1:4711/back", "http://localhost/back", "http://127.0.0.1/back"):
        add_redirect_uri(reviewed, owner, uri)
        assert BADGE not in consent_page(reviewed, uri), uri


def test_loopback_that_was_approved_counts(owner: Account) -> None:
    uri = "http://127.0.0.1:4711/back"
    client = make_client(make_project(owner), type="native", redirect_uris=f"{REDIRECT_URI} {uri}")
    client = approved(client, owner, make_reviewer())
    assert BADGE in consent_page(client, uri)
    add_redirect_uri(client, owner, "http://127.0.0.1:5000/other")
    assert BADGE in consent_page(client, "http://127.0.0.1:5000/other"), "the host decides, without its port"
    add_redirect_uri(client, owner, "http://localhost:5000/other")
    assert BADGE not in consent_page(client, "http://localhost:5000/other")


# --- Cases ---


def case_texts(client: Client, kind: str) -> list[str]:
    cases = ReviewCase.objects.filter(project=client.project, kind=kind, closed_at=None)
    return [" ".join(case.event_texts) for case in cases]


def test_removing_a_domain_of_a_reviewed_app_opens_a_case(reviewed: Client, owner: Account) -> None:
    claims.remove_domain(reviewed.project.domains.get(), owner)
    (text,) = case_texts(reviewed, "domain_lost")
    assert "example.com was removed by the project." in text


def test_removing_an_approved_domain_without_an_address_of_today_opens_a_case(reviewed: Client, owner: Account) -> None:
    make_domain(reviewed.project, "stays.test")
    Client.objects.filter(pk=reviewed.pk).update(approved_domains="example.com stays.test")
    claims.remove_domain(reviewed.project.domains.get(name="stays.test"), owner)
    assert len(case_texts(reviewed, "domain_lost")) == 1


def test_removing_what_was_never_proven_opens_none(reviewed: Client, owner: Account) -> None:
    claims.remove_domain(claims.add_domain(reviewed.project, "www.example.com", owner), owner)
    assert case_texts(reviewed, "domain_lost") == []


def test_a_removed_domain_that_is_proven_again_is_noted_in_the_open_case(
    reviewed: Client, owner: Account, internet: Any
) -> None:
    claims.remove_domain(reviewed.project.domains.get(), owner)
    prove(claims.add_domain(reviewed.project, "example.com", owner), internet)
    (text,) = case_texts(reviewed, "domain_lost")
    assert text.endswith("example.com is proven again.")


def test_a_proof_that_no_longer_covers_subdomains_opens_a_case(reviewed: Client, owner: Account) -> None:
    domain = reviewed.project.domains.get()
    give_up(domain, owner, "narrowed")
    announce_change(reviewed.project, domain, Change.NARROWED)
    (text,) = case_texts(reviewed, "domain_lost")
    assert "Its subdomains are no longer proven" in text


# --- The type and the owners are part of what was reviewed ---


@pytest.mark.parametrize("kind", ["native", "web"])
def test_changing_the_type_after_an_approval_opens_a_case(reviewed: Client, owner: Account, kind: str) -> None:
    secrets.change_type(reviewed, kind, owner)
    (text,) = case_texts(reviewed, "changed")
    assert "Browser app" in text


def test_changing_the_type_of_an_unreviewed_app_opens_none(owner: Account) -> None:
    client = make_client(make_project(owner))
    secrets.change_type(client, "native", owner)
    assert case_texts(client, "changed") == []


def by_transfer(project: Project, owner: Account, other: Account) -> None:
    member = ProjectMember.objects.create(project=project, account=other, role="developer")
    members.transfer_ownership(project, member, owner)


def by_role(project: Project, owner: Account, other: Account) -> None:
    member = ProjectMember.objects.create(project=project, account=other, role="viewer")
    members.change_role(member, "owner", owner)
    members.leave_project(project, owner)


def by_invitation(project: Project, owner: Account, other: Account) -> None:
    invitation = invitations.invite(project, other.email, "owner", owner)
    invitations.accept(invitation.pk, other)


@pytest.mark.parametrize("pass_on", [by_transfer, by_role, by_invitation])
def test_passing_a_project_on_after_an_approval_opens_a_case(reviewed: Client, owner: Account, pass_on: Any) -> None:
    pass_on(reviewed.project, owner, make_account())
    assert len(case_texts(reviewed, "changed")) == 1


@pytest.mark.parametrize("pass_on", [by_transfer, by_role, by_invitation])
def test_passing_a_project_on_under_review_opens_a_case(owner: Account, pass_on: Any) -> None:
    """The reviewer may have opened the page before, and then approves the app of owners that nobody checked."""
    client = make_client(make_project(owner))
    review = reviewer_actions.start(sent(client, owner), make_reviewer())
    checked = ticks(review)
    pass_on(client.project, owner, make_account())
    reviewer_actions.approve(review, make_reviewer(), revision=1, scopes={SCOPE: True}, checked=checked)
    assert fresh(client).is_verified
    assert len(case_texts(client, "changed")) == 1
    assert ReviewCase.objects.get().get_kind_display() == "Changed after submission"


@pytest.mark.parametrize("pass_on", [by_transfer, by_role, by_invitation])
def test_passing_a_project_without_a_reviewed_app_on_opens_none(owner: Account, pass_on: Any) -> None:
    client = make_client(make_project(owner))
    pass_on(client.project, owner, make_account())
    assert case_texts(client, "changed") == []


def test_a_new_developer_opens_no_case(reviewed: Client, owner: Account) -> None:
    other = make_account()
    invitations.accept(invitations.invite(reviewed.project, other.email, "developer", owner).pk, other)
    assert case_texts(reviewed, "changed") == []


def test_an_app_whose_type_changed_under_review_is_not_approved(owner: Account) -> None:
    client = make_client(make_project(owner))
    reviewer = make_reviewer()
    review = reviewer_actions.start(sent(client, owner), reviewer)
    secrets.change_type(client, "native", owner)
    with pytest.raises(IncompleteSubmission, match="type changed"):
        decide(review, reviewer, Status.APPROVED)
    assert not fresh(client).is_verified


def test_a_changed_type_alone_can_be_sent_for_review_and_is_shown_as_the_difference(
    reviewed: Client, owner: Account
) -> None:
    secrets.change_type(reviewed, "native", owner)
    review = sent(fresh(reviewed), owner)
    (change,) = [found for found in field_changes(review.baseline, review.snapshot) if found.name == "type"]
    assert [part.text for part in change.before] == ["Browser app (runs in the browser)"]
    assert [part.text for part in change.after] == ["Desktop or mobile app (installed)"]
