"""Reviewers see the app as it is now, and what changed since its approval (docs/review.md#the-current-app)."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Account
from core import clock
from devportal.console.models import AuditEvent
from devportal.review.cases import cases
from devportal.review.decisions import reviewer_actions
from devportal.review.models import AppReview, ReviewCase, ReviewEntry
from devportal.review.submission import developer_actions
from oidc.clients import secrets
from oidc.clients.registration import update_client
from oidc.domains import claims
from oidc.models import Client, FormerMember, Project, ProjectDomain, ProjectMember
from oidc.projects import members
from tests.devportal.review.reviewing import approve, approved, fresh, make_operator, make_reviewer, sent
from tests.factories import REDIRECT_URI, make_account, make_client, make_domain, make_project

pytestmark = pytest.mark.django_db

LATER = "https://later.test/callback"
NOWHERE = "https://nowhere.test/callback"


@pytest.fixture
def changed(app: Client, owner: Account, developer: Account, reviewer: Account) -> Client:
    """An approved app of which nearly everything was changed afterwards."""
    client = approved(app, developer, reviewer)
    make_domain(client.project, "later.test")
    uris = [REDIRECT_URI, LATER, NOWHERE, "http://localhost:3000/back"]
    client = update_client(client, developer, uris, ["https://later.test/bye"])
    secrets.change_type(client, "native", developer)
    member = ProjectMember.objects.get(project=client.project, account=developer)
    members.transfer_ownership(client.project, member, owner)
    return fresh(client)


def words(response: Any) -> str:
    """Return the words of a page, without what the field of the trail's filter suggests to everyone."""
    assert response.status_code == 200
    return " ".join(re.sub(r"<datalist.*?</datalist>", "", response.content.decode(), flags=re.DOTALL).split())


def case_page(browser: Browser, client: Client | None, project: Project) -> str:
    case = cases.open_case("domain_lost", project, client)
    return words(browser.get(reverse("admin:review_reviewcase_change", args=[case.pk])))


def review_page(browser: Browser, client: Client) -> str:
    review = AppReview.objects.filter(client=client).latest("number")
    return words(browser.get(reverse("admin:review_appreview_change", args=[review.pk])))


def page_of(which: str, browser: Browser, client: Client) -> str:
    return case_page(browser, client, client.project) if which == "case" else review_page(browser, client)


@pytest.mark.parametrize("which", ["case", "review"])
def test_both_pages_show_what_is_live_and_what_changed(changed: Client, as_reviewer: Browser, which: str) -> None:
    whole = page_of(which, as_reviewer, changed)
    page = whole[whole.index("The app now") :]
    for uri, said in (
        (REDIRECT_URI, "Reviewed: on the domain <bdi>example.com</bdi>"),
        (LATER, "<strong>Not reviewed:</strong> the domain was not part of the review"),
        (NOWHERE, "<strong>Not reviewed:</strong> the host was not part of the review"),
        ("http://localhost:3000/back", "<strong>Not reviewed:</strong> loopback was not part of the review"),
    ):
        row = page[page.index(f"<td><bdi>{uri}</bdi></td>") :]
        assert said in row[: row.index("</tr>")]
    assert "Desktop or mobile app (installed)" in page
    assert "<dt>Owners</dt><dd><div><bdi>dan@example.com</bdi>" in page
    for name, covered in (("example.com", "yes"), ("later.test", "<strong>no</strong>")):
        row = page[page.index(f'<th scope="row"><bdi>{name}</bdi></th>') :]
        assert f"<td>proven, DNS record</td> <td>{covered}</td>" in row[: row.index("</tr>")]
    page = whole[whole.index("Changed since the approval") :]
    table = page[: page.index("</table>")]
    for field in ("Type", "Redirect URLs", "Sign-out URLs", "Proven domains"):
        assert f'<th scope="row">{field}</th>' in table
    assert "Home page" not in table
    for said in ("changed the type of the app", "transferred the project to", "changed the app"):
        assert said in page


@pytest.mark.parametrize(("which", "why"), [("case", "project suspended"), ("review", "turned off")])
def test_people_see_no_badge_of_an_app_that_is_unavailable(
    app: Client, developer: Account, reviewer: Account, as_reviewer: Browser, which: str, why: str
) -> None:
    client = approved(app, developer, reviewer)
    seen = r"People see( now)?</dt><dd>[^<]*(<bdi>[^<]*</bdi>[^<]*)?reviewed since"
    assert re.search(seen, page_of(which, as_reviewer, client))
    if why == "project suspended":
        reviewer_actions.suspend_project(client.project, reviewer, reasons=["harmful"])
    else:
        Client.objects.filter(pk=client.pk).update(enabled=False)
    said = re.findall(r"<dt>People see(?: now)?</dt><dd>(.*?)</dd>", page_of(which, as_reviewer, client))
    assert said
    assert all(f"unavailable ({why})" in text and "reviewed since" not in text for text in said)


@pytest.mark.parametrize("which", ["case", "review"])
def test_a_domain_that_was_proven_before_the_approval_is_no_change(
    app: Client, developer: Account, reviewer: Account, as_reviewer: Browser, which: str
) -> None:
    make_domain(app.project, "unused.test")
    client = approved(app, developer, reviewer)
    assert "Nothing has changed since the approval." in page_of(which, as_reviewer, client)
    make_domain(client.project, "later.test")
    assert "Proven domains" in page_of(which, as_reviewer, client)


def test_a_domain_that_was_proven_after_the_reviewer_opened_the_page_is_a_change(
    app: Client, developer: Account, reviewer: Account, as_reviewer: Browser
) -> None:
    review = reviewer_actions.start(sent(app, developer), reviewer)
    approve(review, reviewer, domains=["other.test"])
    assert "Proven domains" in case_page(as_reviewer, fresh(app), app.project)


def test_a_new_logo_is_shown_as_a_change(
    app: Client, developer: Account, reviewer: Account, as_reviewer: Browser
) -> None:
    client = approved(app, developer, reviewer)
    client.logo.save("new.webp", ContentFile(b"RIFF....WEBP"))
    page = case_page(as_reviewer, client, client.project)
    assert "The logo has changed." in page
    url = reverse("admin:review_reviewcase_logo", args=[ReviewCase.objects.get().pk])
    assert f'<img src="{url}"' in page
    assert as_reviewer.get(url).status_code == 200
    Client.objects.update(logo="")
    assert as_reviewer.get(url).status_code == 404


def test_an_app_that_was_never_approved_is_shown_as_well(app: Client, developer: Account, as_reviewer: Browser) -> None:
    sent(app, developer)
    page = review_page(as_reviewer, app)
    assert "An app that has not been reviewed" in page
    assert f"<td><bdi>{REDIRECT_URI}</bdi></td> <td>proven: <bdi>example.com</bdi></td>" in page
    assert "Changed since the approval" not in page


def test_a_lost_home_page_is_shown(app: Client, developer: Account, reviewer: Account, as_reviewer: Browser) -> None:
    client = approved(app, developer, reviewer)
    claims.remove_domain(client.project.domains.get(), developer)
    page = case_page(as_reviewer, client, client.project)
    assert "the project no longer proves example.com, the domain of the home page" in page
    assert "<strong>Not reviewed:</strong> the domain of the home page is not proven" in page
    assert "removed the domain" in page


def test_a_case_of_a_project_shows_its_apps_domains_and_owners(changed: Client, as_reviewer: Browser) -> None:
    page = case_page(as_reviewer, None, changed.project)
    assert "The project now" in page
    assert changed.client_id in page
    assert "later.test" in page
    assert "dan@example.com" in page
    assert "transferred the project to" in page


def test_links_lead_to_pages_that_reviewers_may_read(changed: Client, as_reviewer: Browser) -> None:
    page = case_page(as_reviewer, changed, changed.project)
    addresses = [
        reverse("admin:oidc_client_change", args=[changed.pk]),
        reverse("admin:oidc_project_change", args=[changed.project_id]),
        f"{reverse('admin:oidc_projectdomain_changelist')}?project__id__exact={changed.project_id}",
        f"{reverse('admin:console_auditevent_changelist')}?q={changed.project.public_id}",
    ]
    for address in addresses:
        assert f'href="{address}"' in page
        assert as_reviewer.get(address).status_code == 200
    assert "later.test" in as_reviewer.get(addresses[2]).content.decode()
    assert "client.type_changed" in as_reviewer.get(addresses[3]).content.decode()


def test_reviewers_read_no_trail_of_people_and_of_their_own_projects(
    changed: Client, as_reviewer: Browser, reviewer: Account, owner: Account, browser_of: Callable[[Account], Browser]
) -> None:
    AuditEvent.objects.create(
        at=clock.now(), action="account.closed", actor=owner, target="account:1", ip="203.0.113.9"
    )
    AuditEvent.objects.update(ip="203.0.113.9", request_id="req-secret")
    trail = reverse("admin:console_auditevent_changelist")
    cases.open_case("report", changed.project, changed, text="Odd.")
    page = words(as_reviewer.get(trail))
    assert "client.type_changed" in page
    for hidden in ("account.closed", "203.0.113.9", "req-secret", "review_case."):
        assert hidden not in page
    event = AuditEvent.objects.filter(action="client.changed").earliest("pk")
    page = words(as_reviewer.get(reverse("admin:console_auditevent_change", args=[event.pk])))
    assert "203.0.113.9" not in page
    closed = AuditEvent.objects.get(action="account.closed")
    assert as_reviewer.get(reverse("admin:console_auditevent_change", args=[closed.pk])).status_code in (302, 404)
    page = words(browser_of(make_operator()).get(trail))
    for shown in ("account.closed", "203.0.113.9", "req-secret", "review_case."):
        assert shown in page
    ProjectMember.objects.create(project=changed.project, account=reviewer, role="viewer")
    assert "client.type_changed" not in words(as_reviewer.get(trail))


def test_reviewers_read_no_draft_in_the_trail(
    app: Client, developer: Account, as_reviewer: Browser, browser_of: Callable[[Account], Browser]
) -> None:
    developer_actions.save_submission(app, developer, {"home_page_url": "https://quiet.example/"})
    event = AuditEvent.objects.get(action="review.edited")
    page = reverse("admin:console_auditevent_change", args=[event.pk])
    assert "https://quiet.example/" not in words(as_reviewer.get(page, follow=True))
    assert "https://quiet.example/" in words(browser_of(make_operator()).get(page))


def test_a_reviewer_with_a_conflict_reads_neither_owners_nor_events(
    changed: Client, viewer: Account, browser_of: Callable[[Account], Browser]
) -> None:
    own = make_reviewer()
    ProjectMember.objects.filter(project=changed.project, account=viewer).update(account=own)
    for client in (changed, None):
        page = case_page(browser_of(own), client, changed.project)
        assert '<h2 id="live">' in page
        assert "<dt>Owners</dt>" not in page
        assert "transferred the project to" not in page
        assert "Audit trail of the project" not in page


def involve(reviewer: Account, project: Project) -> None:
    """Give a reviewer a conflict of interest: they were a member of the project."""
    FormerMember.objects.create(project=project, account=reviewer, joined_at=clock.now(), left_at=clock.now())


def test_evidence_history_and_timeline_name_nobody_to_a_reviewer_with_a_conflict(
    changed: Client, as_reviewer: Browser, reviewer: Account, owner: Account, developer: Account
) -> None:
    suspended = make_project(owner, name="Second")
    Project.objects.filter(pk=suspended.pk).update(suspended_at=clock.now())
    make_client(make_project(developer, name="Third"), name="Nova")
    case = cases.open_case("appeal", changed.project, changed, text="It was not us.", actor=developer)
    case_of_app = reverse("admin:review_reviewcase_change", args=[case.pk])
    ReviewEntry.objects.filter(kind="approved").update(details={"despite": "Dan is fine.", "failing": ["account_age"]})

    def pages() -> str:
        return review_page(as_reviewer, changed) + words(as_reviewer.get(case_of_app))

    named = [f"{owner.email}, owner until", "Suspended now: the project Second", "Reports and open cases"]
    named += [f"by {developer.email}", "Nova", "Dan is fine."]
    assert [text for text in named if text in pages()] == named
    involve(reviewer, changed.project)
    shown = pages()
    assert not [text for text in named if text in shown]
    assert "proof of the domains" in shown.lower()
    assert "<strong>Approved</strong> by" in shown


@pytest.mark.parametrize(("page", "step"), [("appreview", "reject"), ("reviewcase", "suspend")])
def test_a_reviewer_with_a_conflict_previews_no_mail_to_the_members(
    app: Client, as_reviewer: Browser, reviewer: Account, developer: Account, page: str, step: str
) -> None:
    review = reviewer_actions.start(sent(app, developer), reviewer)
    case = cases.open_case("domain_lost", app.project, app)
    key = review.pk if page == "appreview" else case.pk
    url = reverse(f"admin:review_{page}_act", args=[key, step])
    form = {"revision": 1, "reasons": ["other"], "text": "Why?"}
    assert developer.email in words(as_reviewer.post(url, form))
    involve(reviewer, app.project)
    said = words(as_reviewer.post(url, form, follow=True))
    assert developer.email not in said
    assert "other reviewers decide on it" in said


def test_a_reviewer_with_a_conflict_opens_no_form_that_tells_of_a_first_approval(
    app: Client, as_reviewer: Browser, reviewer: Account, developer: Account, settings: Any
) -> None:
    settings.REVIEW_SECOND_KEY_PEOPLE = 0
    review = reviewer_actions.start(sent(app, developer), reviewer)
    url = reverse("admin:review_appreview_act", args=[review.pk, "approve"])
    approve(review, make_reviewer())
    assert "Yours is the second" in words(as_reviewer.get(url))
    involve(reviewer, app.project)
    assert "Yours is the second" not in words(as_reviewer.get(url, follow=True))


def test_a_reviewer_with_a_conflict_reads_no_trail_and_no_members_of_the_project(
    changed: Client, as_reviewer: Browser, reviewer: Account, developer: Account
) -> None:
    event = AuditEvent.objects.filter(action="client.changed").earliest("pk")
    trail = reverse("admin:console_auditevent_changelist")
    pages = [trail, f"{trail}?q={changed.project.public_id}", f"{trail}?q={changed.client_id}"]
    project = reverse("admin:oidc_project_change", args=[changed.project_id])
    assert all("client.changed" in words(as_reviewer.get(page)) for page in pages)
    ProjectDomain.objects.filter(name="later.test").update(added_by=developer)
    domain = reverse("admin:oidc_projectdomain_change", args=[ProjectDomain.objects.get(name="later.test").pk])
    assert developer.email in words(as_reviewer.get(project))
    involve(reviewer, changed.project)
    assert not any("client.changed" in words(as_reviewer.get(page)) for page in pages)
    assert as_reviewer.get(reverse("admin:console_auditevent_change", args=[event.pk])).status_code in (302, 404)
    page = words(as_reviewer.get(project))
    assert changed.project.public_id in page
    assert developer.email not in page
    page = words(as_reviewer.get(domain))
    assert "later.test" in page
    assert developer.email not in page


def test_the_pages_take_a_fixed_number_of_statements(changed: Client, as_reviewer: Browser, developer: Account) -> None:
    def statements() -> list[int]:
        taken = []
        pages = (partial(case_page, as_reviewer, changed, changed.project), partial(review_page, as_reviewer, changed))
        for show in pages:
            show()
            with CaptureQueriesContext(connection) as captured:
                show()
            taken.append(len(captured))
        return taken

    before = statements()
    for number in range(8):
        make_domain(changed.project, f"more{number}.test")
        account = make_account()
        ProjectMember.objects.create(project=changed.project, account=account, role="owner")
        uris = [*fresh(changed).registered_redirect_uris, f"https://more{number}.test/callback"]
        update_client(changed, developer, uris, [])
        make_client(changed.project, name=f"Other {number}")
    assert statements() == before


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("Orbit\u202e Notes", "Orbit[U+202E] Notes"),
        ("\u0430\u0440\u0440\u04cf\u0435", "\u0430[U+0430]\u0440[U+0440]"),
    ],
)
def test_characters_that_mislead_are_made_visible_on_case_pages(
    app: Client, as_reviewer: Browser, reviewer: Account, typed: str, shown: str
) -> None:
    Client.objects.filter(pk=app.pk).update(name=typed)
    Project.objects.filter(pk=app.project_id).update(name=typed)
    client = fresh(app)
    case = cases.open_case("domain_lost", client.project, client, text=f"Said {typed}.")
    cases.add_note(case, reviewer, f"Noted {typed}.")
    page = words(as_reviewer.get(reverse("admin:review_reviewcase_change", args=[case.pk])))
    assert f"Said {shown}" in page
    assert f"Noted {shown}" in page
    content = page[page.index('id="case"') :]
    assert typed not in content
    listed = words(as_reviewer.get(reverse("admin:review_reviewcase_changelist")))
    assert typed not in listed
    assert shown in listed


LINKED = ["oidc_client", "oidc_project", "oidc_projectdomain", "console_auditevent"]


@pytest.mark.parametrize("model", LINKED)
def test_reviewers_change_nothing_there(changed: Client, as_reviewer: Browser, model: str) -> None:
    rows: dict[str, int] = {
        "oidc_client": changed.pk,
        "oidc_project": changed.project_id,
        "oidc_projectdomain": ProjectDomain.objects.earliest("pk").pk,
        "console_auditevent": AuditEvent.objects.filter(action="client.changed").earliest("pk").pk,
    }
    url = reverse(f"admin:{model}_change", args=[rows[model]])
    page = words(as_reviewer.get(url))
    assert "/do/" not in page
    assert 'name="_save"' not in page
    assert as_reviewer.post(url, {"name": "Evil"}).status_code == 403
    assert as_reviewer.get(reverse(f"admin:{model}_add")).status_code == 403
    assert as_reviewer.post(reverse(f"admin:{model}_delete", args=[rows[model]])).status_code == 403
    for action in ("off", "rename", "suspend"):
        assert as_reviewer.post(url.replace("change/", f"do/{action}/")).status_code in (403, 404)
