"""The trail of a project in sentences: who did what, and what was before and after; names and addresses for whom."""

import re
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.deletion import deleting
from accounts.models import Account
from core.audit import Event, report
from core.messages import placeholders
from devportal.console.activity import CATEGORIES, SENTENCES
from devportal.console.models import AuditEvent
from devportal.review.decisions import reviewer_actions
from oidc.models import Client, Project, ProjectMember
from oidc.projects import invitations, lifecycle, members
from tests.factories import make_account, make_client, make_key, make_project, make_web_client
from tests.relying_party import RelyingParty, sign_in

Role = ProjectMember.Role


def text_of(browser: Browser, project: Project, query: str = "") -> str:
    response = browser.get(f"/console/p/{project.public_id}/team/activity{query}")
    assert response.status_code == 200
    text = re.sub(r"<[^>]+>", " ", response.content.decode().split("<main")[1].split("</main")[0])
    return " ".join(text.split())


def told(browser: Browser, project: Project, query: str = "") -> str:
    """Return the list alone, without the form above it."""
    return text_of(browser, project, query).split("Apply", 1)[1]


def test_an_entry_shows_who_did_what_before_and_after(as_viewer: Browser, project: Project, owner: Account) -> None:
    lifecycle.rename_project(project, "Lunar Notes", owner)
    text = told(as_viewer, project)
    assert "olga@example.com renamed the project" in text
    assert "Name Before: Orbit Notes After: Lunar Notes" in text


def test_entries_show_names_of_clients_and_keys(as_viewer: Browser, project: Project, owner: Account) -> None:
    make_web_client(project, name="Starling")
    key, _ = make_key(project, owner)
    report(Event("client.turned_off", owner.pk, project.public_id, Client.objects.get().client_id))
    report(Event("client.deleted", owner.pk, project.public_id, "op_client_gone", before={"name": "Wren"}))
    report(Event("teapot.boiled", owner.pk, project.public_id, "kettle"))
    text = told(as_viewer, project)
    assert "deleted the app Wren" in text
    assert "olga@example.com teapot.boiled kettle" in text
    assert "olga@example.com turned the app Starling off" in text
    assert "olga@example.com created the API key A script" in text
    assert key.digest not in text


def test_nothing_of_other_projects_is_shown(
    as_viewer: Browser, project: Project, owner: Account, outsider: Account
) -> None:
    lifecycle.rename_project(Project.objects.get(name="Elsewhere"), "Somewhere", outsider)
    other = make_client(make_project(name="Elsewhere"), name="Secret Plans")
    report(Event("client.changed", owner.pk, project.public_id, other.client_id))
    text = told(as_viewer, project)
    for hidden in ("Secret Plans", "Somewhere", "otto@example.com"):
        assert hidden not in text


def test_markup_in_entries_is_escaped(as_owner: Browser, project: Project, owner: Account) -> None:
    lifecycle.rename_project(project, "<b onclick=x>", owner)
    report(Event("client.changed", owner.pk, project.public_id, "x", before={"<i>": ["<u>"]}, after={"<i>": {"a": 1}}))
    content = as_owner.get(f"/console/p/{project.public_id}/team/activity").content.decode()
    for piece in ("<b onclick", "<i>", "<u>"):
        assert piece not in content
    assert "&lt;u&gt;" in content


@pytest.mark.parametrize("value", [None, False, 1.5, ["a", None], {"a": {"b": []}}, "x" * 5000])
def test_entries_can_show_any_value(as_owner: Browser, project: Project, owner: Account, value: Any) -> None:
    before, after = {"field": value}, {"field": value, "other": value}
    report(Event("client.changed", owner.pk, project.public_id, "x", before=before, after=after))
    assert "changed the app" in told(as_owner, project)


def test_actions_of_an_apps_people_are_not_shown(as_owner: Browser, project: Project, person: Account) -> None:
    app = RelyingParty(make_client(project), sign_in(Browser(), person))
    tokens = app.tokens()
    app.post("/connect/revoke", {"token": tokens["refresh_token"], "client_id": app.client.client_id})
    text = text_of(as_owner, project)
    assert person.email not in text
    assert "consent" not in text
    assert "No activity yet" in text


def test_only_owners_see_the_ip_address_of_an_event(
    as_owner: Browser, as_developer: Browser, as_viewer: Browser, project: Project
) -> None:
    as_owner.post(f"/console/p/{project.public_id}/settings", {"name": "Lunar Notes"}, REMOTE_ADDR="192.0.2.7")
    assert "192.0.2.7" in told(as_owner, project)
    for browser in (as_developer, as_viewer):
        assert "192.0.2.7" not in told(browser, project)


def test_reviewers_and_operators_are_not_named(as_owner: Browser, project: Project) -> None:
    staff = make_account("robin@example.com", is_staff=True)
    client = make_client(project, name="Starling")
    where = (staff.pk, project.public_id, client.client_id)
    report(Event("review.approved", *where, {"side": "reviewer"}))
    report(Event("project.suspended", staff.pk, project.public_id))
    report(Event("client.turned_off", *where))
    AuditEvent.objects.update(ip="192.0.2.9")
    text = told(as_owner, project)
    assert "robin@example.com" not in text
    assert "192.0.2.9" not in text
    assert "A reviewer of Openport approved Starling" in text
    assert "Openport suspended the project" in text
    assert "Openport turned the app Starling off" in text


def test_former_members_are_still_named(
    as_owner: Browser, project: Project, developer: Account, owner: Account
) -> None:
    report(Event("client.turned_off", developer.pk, project.public_id, make_client(project).client_id))
    members.leave_project(project, developer)
    assert "dan@example.com turned the app Orbit Notes off" in told(as_owner, project)
    assert "dan@example.com left the project" in told(as_owner, project)


def test_deleted_accounts_are_not_named(
    as_owner: Browser, project: Project, developer: Account, owner: Account
) -> None:
    members.change_role(ProjectMember.objects.get(account=developer), "owner", owner)
    report(Event("client.turned_off", developer.pk, project.public_id, make_client(project).client_id))
    AuditEvent.objects.update(request_id="req-1")
    deleting.delete_account(developer)
    text = told(as_owner, project)
    assert "dan@example.com" not in text
    assert "Someone whose account is deleted turned the app Orbit Notes off" in text
    assert "olga@example.com changed the role of someone whose account is deleted" in text


EVERYTHING = ["renamed", "invited", "turned the app", "created the API key", "revoked a secret", "for review"]


def some_changes(project: Project, owner: Account, developer: Account) -> None:
    lifecycle.rename_project(project, "Lunar Notes", owner)
    invitations.invite(project, "ines@example.com", "viewer", owner)
    report(Event("client.turned_off", developer.pk, project.public_id, make_client(project).client_id))
    make_key(project, developer)
    report(Event("client_secret.ended", owner.pk, project.public_id, Client.objects.get().client_id))
    report(Event("review.submitted", developer.pk, project.public_id, Client.objects.get().client_id))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("project", ["renamed"]),
        ("members", ["invited"]),
        ("clients", ["turned the app", "revoked a secret"]),
        ("keys", ["created the API key"]),
        ("review", ["for review"]),
        ("", EVERYTHING),
        ("'\"<", EVERYTHING),
    ],
)
def test_entries_can_be_filtered_by_kind(
    as_viewer: Browser, project: Project, owner: Account, developer: Account, kind: str, expected: list[str]
) -> None:
    some_changes(project, owner, developer)
    text = told(as_viewer, project, f"?kind={kind}")
    assert [action for action in EVERYTHING if action in text] == expected


def test_every_sentence_is_of_one_kind_and_says_who() -> None:
    prefixes = [prefix for _, _, some in CATEGORIES for prefix in some]
    for action in SENTENCES:
        assert len([prefix for prefix in prefixes if action.startswith(prefix)]) == 1, action
        assert {"who"} <= placeholders(SENTENCES[action]) <= {"who", "target"}, action


def test_entries_can_be_filtered_by_person(
    as_viewer: Browser, project: Project, owner: Account, developer: Account
) -> None:
    some_changes(project, owner, developer)
    report(Event("project.suspended", make_account(is_staff=True).pk, project.public_id))
    number = ProjectMember.objects.get(account=developer).pk
    text = told(as_viewer, project, f"?by={number}")
    assert "turned the app" in text
    assert "renamed" not in text
    assert "suspended" not in text
    others = told(as_viewer, project, "?by=others")
    assert "suspended the project" in others
    assert "renamed" not in others
    assert "turned the app" not in others


@pytest.mark.parametrize("who", ["-1", "x", str(2**70)])
def test_an_unknown_person_filters_nothing(as_viewer: Browser, project: Project, owner: Account, who: str) -> None:
    lifecycle.rename_project(project, "Lunar Notes", owner)
    response = as_viewer.get(f"/console/p/{project.public_id}/team/activity?by={who}")
    assert b"renamed the project" in response.content


def test_members_of_other_projects_can_not_be_filtered_for(
    as_viewer: Browser, project: Project, owner: Account, outsider: Account
) -> None:
    lifecycle.rename_project(project, "Lunar Notes", owner)
    stranger = ProjectMember.objects.get(account=outsider).pk
    assert "renamed the project" in told(as_viewer, project, f"?by={stranger}")


def test_pages_keep_the_filter(as_viewer: Browser, project: Project, owner: Account) -> None:
    for number in range(120):
        report(Event("project.renamed", owner.pk, project.public_id, after={"name": f"N{number}."}))
        report(Event("api_key.revoked", owner.pk, project.public_id, "k"))
    seen: list[str] = []
    query = "?kind=project"
    for _ in range(3):
        response = as_viewer.get(f"/console/p/{project.public_id}/team/activity{query}")
        text = response.content.decode()
        assert "revoked the API key" not in text
        seen += re.findall(r"N\d+\.", text)
        query = response.context["page"].older
    assert query == ""
    assert [int(name[1:-1]) for name in seen] == list(range(119, -1, -1))


def test_a_reviewer_who_becomes_a_member_is_not_named_with_earlier_steps(
    as_owner: Browser, project: Project, reviewer: Account
) -> None:
    reviewer_actions.suspend_project(project, reviewer, reasons=["harmful"])
    reviewer_actions.lift_suspension(project, reviewer)
    member = ProjectMember.objects.create(project=project, account=reviewer, role=Role.VIEWER)
    for query in ("", "?by=others"):
        text = told(as_owner, project, query)
        assert "Openport suspended the project" in text, query
        assert f"{reviewer.email} " not in text.split("Openport lifted")[1], query
    text = told(as_owner, project, f"?by={member.pk}")
    assert "suspended the project" not in text
    make_key(project, reviewer)
    assert "created the API key" in told(as_owner, project, f"?by={member.pk}")
