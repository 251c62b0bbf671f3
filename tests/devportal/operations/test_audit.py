"""The trail: every form of the console that changes something adds to it, without a secret, and no row ever changes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.conf import settings
from django.test import Client as Browser
from django.urls import reverse

from accounts.models import Account
from api.models import ApiKey
from core import clock
from core.audit import Event, report
from core.http import client_ip
from devportal.console import idempotency
from devportal.console.activity import REVIEWERS_ONLY, SENTENCES
from devportal.console.models import AuditEvent
from devportal.review.decisions import reviewer_actions
from oidc.models import Client, ClientSecret, Project, ProjectInvitation, ProjectMember
from oidc.projects import invitations, lifecycle, members, roles
from tests.devportal.console.test_console_access import ROUTES, things_of
from tests.devportal.review.reviewing import decide, make_reviewer, sent
from tests.factories import REDIRECT_URI, SIGN_OUT_URI, make_account
from tests.security.consoles import SENT

Role = ProjectMember.Role


@dataclass(frozen=True)
class Change:
    """A form as an owner sends it so that it does its work, and the action that the trail then tells."""

    action: str
    form: dict[str, Any] = field(default_factory=dict)
    prepare: Callable[[dict[str, Any], Project, Account], None] = lambda things, project, owner: None
    # What else ends by it: the invitations of who may not invite any more.
    follows: tuple[str, ...] = ()


def _invited(things: dict[str, Any], project: Project, owner: Account) -> None:
    """The owner of this project is invited to another."""
    other = lifecycle.create_project(make_account(), "Elsewhere")
    inviter = ProjectMember.objects.get(project=other).account
    things["invitation_id"] = invitations.invite(other, owner.email, "viewer", inviter).pk


def _other_member(things: dict[str, Any], project: Project, owner: Account) -> None:
    things["member_id"] = ProjectMember.objects.get(project=project, role=Role.DEVELOPER).pk


def _second_owner(things: dict[str, Any], project: Project, owner: Account) -> None:
    ProjectMember.objects.filter(project=project, role=Role.VIEWER).update(role=Role.OWNER)


def _verified(things: dict[str, Any], project: Project, owner: Account) -> None:
    Client.objects.filter(project=project).update(verified_at=clock.now())


def _deleted(things: dict[str, Any], project: Project, owner: Account) -> None:
    lifecycle.delete_project(project, owner)


def _suspended(things: dict[str, Any], project: Project, owner: Account) -> None:
    reviewer_actions.suspend_project(project, make_reviewer(), reasons=["harmful"])


def _rejected(things: dict[str, Any], project: Project, owner: Account) -> None:
    decide(sent(Client.objects.get(client_id=things["client_id"]), owner), make_reviewer(), "rejected")


def _with_once(form: dict[str, Any]) -> dict[str, Any]:
    return {name: idempotency.new_token() if name == idempotency.FIELD else value for name, value in form.items()}


CLIENT = {"name": "Starling", "type": "spa", "redirect_uris": REDIRECT_URI, idempotency.FIELD: ""}

CHANGES: dict[str, Change] = {
    "project_new": Change("project.created", {"name": "Lunar Notes", idempotency.FIELD: ""}),
    "invitation": Change("invitation.accepted", {"decision": "accept"}, _invited),
    "project_settings": Change("project.renamed", {"name": "Lunar Notes"}),
    "project_transfer": Change("project.transferred", {"to": "member"}, _other_member, ("invitation.ended",)),
    "project_leave": Change("member.left", {}, _second_owner, ("invitation.ended",)),
    "project_delete": Change("project.deleted", {"typed": "Orbit Notes"}),
    "project_restore": Change("project.restored", {}, _deleted),
    "members": Change("invitation.sent", {"email": "new@example.com", "role": "viewer"}),
    "member": Change("member.role_changed", {"role": "viewer"}, _other_member),
    "member_remove": Change("member.removed", {}, _other_member),
    "invitation_renew": Change("invitation.sent"),
    "invitation_withdraw": Change("invitation.withdrawn"),
    #
    # Clients
    "client_new": Change("client.created", CLIENT),
    "client_settings": Change("client.changed", {"name": "Starling", "redirect_uris": REDIRECT_URI}),
    "client_switch": Change("client.turned_off", {"enabled": "off"}),
    "client_type": Change("client.type_changed", {"type": "spa", "understood": "on"}),
    "client_delete": Change("client.deleted", {"typed": "Orbit Notes"}),
    "client_secret_new": Change("client_secret.created", {idempotency.FIELD: ""}),
    "client_secret_rotate": Change("client_secret.rotated", {"when": "24h", idempotency.FIELD: ""}),
    "client_secret_expiry": Change("client_secret.expiry_changed", {"when": "7d"}),
    "client_secret_end": Change("client_secret.ended", {"understood": "on"}),
    #
    # Domains
    "domains": Change("domain.added", {"name": "starling.example"}),
    "domain_remove": Change("domain.removed"),
    #
    # Keys
    "key_new": Change("api_key.created", {"name": "Nightly", "permissions": "account.read", idempotency.FIELD: ""}),
    "key_rotate": Change("api_key.rotated", {"when": "24h", idempotency.FIELD: ""}),
    "key_expiry": Change("api_key.expiry_changed", {"when": "7d"}),
    "key_revoke": Change("api_key.revoked"),
    #
    # Branding, review; tests/devportal/review/test_effects.py tests the actions of a whole review
    "branding": Change(
        "review.edited", {"step": "save", "name": "Starling", "home_page_url": "https://app.example.com/"}
    ),
    "review": Change("review.edited", {"step": "save", "demo_url": "https://app.example.com/demo"}),
    "review_appeal": Change("review.appealed", {"text": "The second page shows it."}, _rejected),
    "project_appeal": Change("review_case.opened", {"text": "It was someone else."}, _suspended, ("review.appealed",)),
    #
    # The public page of a reviewed app
    "app_page": Change("client.page_published", {"step": "publish", "slug": "orbit-notes"}, _verified),
    #
    # Events
    "client_events": Change("client.events_changed", {"channel": "logout", "logout-url": SIGN_OUT_URI}),
    "events_test": Change("client.events_tested", {idempotency.FIELD: ""}),
    "events_resume": Change("client.events_resumed"),
    "events_retry": Change("client.events_sent_again", {idempotency.FIELD: ""}),
    "delivery_again": Change("client.events_sent_again", {idempotency.FIELD: ""}),
    #
    # Playground
    "playground_events": Change("client.events_changed", {"channel": "events", "wanted": "yes"}),
    "playground_address": Change("client.changed", {"wanted": "yes"}),
}

# What is sent by POST and changes nothing that anyone else sees.
CHANGES_NOTHING = {
    "check_name",
    "check_addresses",
    "client_tester",
    # A worker writes what it sees, and the trail tells it then.
    "domain_check",
    # What a member sees themselves.
    "notice_settings",
    "notices_read",
    # They act on one's own session alone.
    "playground_begin",
    "playground_exchange",
    "playground_refresh",
    "playground_end",
}


def test_every_form_is_in_the_table() -> None:
    forms = set(SENT)
    assert forms - CHANGES_NOTHING - set(CHANGES) == set(), "add the forms that changed, with what the trail tells"
    assert set(CHANGES) - forms == set()


@pytest.mark.parametrize("name", CHANGES)
def test_forms_that_change_something_are_in_the_audit_trail(
    name: str, as_owner: Browser, project: Project, owner: Account
) -> None:
    change, things = CHANGES[name], things_of(project, owner)
    change.prepare(things, project, owner)
    form = _with_once(change.form)
    if form.get("to") == "member":
        form["to"] = things["member_id"]
    url = reverse(f"console:{name}", kwargs={argument: things[argument] for argument in ROUTES[name]})
    before = set(AuditEvent.objects.values_list("pk", flat=True))
    response = as_owner.post(url, form, REMOTE_ADDR="192.0.2.7")
    assert response.status_code in (200, 302), response.content
    added = AuditEvent.objects.exclude(pk__in=before).order_by("pk")
    assert [event.action for event in added] == [change.action, *change.follows]
    assert {event.action for event in added.exclude(REVIEWERS_ONLY)} <= set(SENTENCES)
    event = added[0]
    assert (event.actor, event.actor_email, event.ip) == (owner, owner.email, "192.0.2.7")
    assert event.request_id == response["X-Request-ID"]
    assert event.project
    assert _no_secret(event)


def _no_secret(event: AuditEvent) -> bool:
    text = f"{event.target} {event.before} {event.after} {event.details}"
    stored = [*ClientSecret.objects.values_list("digest", flat=True), *ApiKey.objects.values_list("digest", flat=True)]
    return not any(digest in text for digest in stored) and settings.API_KEY_PREFIX not in text


def test_rejected_forms_are_not_in_the_audit_trail(as_developer: Browser, project: Project, owner: Account) -> None:
    things = things_of(project, owner)
    before = AuditEvent.objects.count()
    for name in ("project_settings", "project_transfer", "project_delete", "members", "member", "member_remove"):
        url = reverse(f"console:{name}", kwargs={argument: things[argument] for argument in ROUTES[name]})
        assert as_developer.post(url, _with_once(CHANGES[name].form)).status_code == 403
    assert AuditEvent.objects.count() == before


def test_changes_fail_if_the_audit_trail_can_not_be_written(
    as_owner: Browser, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(event: AuditEvent, **options: Any) -> None:
        raise RuntimeError("the trail is full")

    monkeypatch.setattr(AuditEvent, "save", fail)
    as_owner.raise_request_exception = False
    assert as_owner.post(f"/console/p/{project.public_id}/settings", {"name": "Lunar Notes"}).status_code == 500
    assert as_owner.post("/console/projects/new", {"name": "New", "once": idempotency.new_token()}).status_code == 500
    assert not Project.objects.exclude(name="Orbit Notes").exists()


def test_actions_of_commands_have_no_actor_and_request(db: None) -> None:
    client_ip.forget()
    report(Event("client_secret.created", None, "prj_one", "op_client_one"))
    row = AuditEvent.objects.get()
    assert (row.ip, row.request_id, row.actor_email) == (None, "", "")


def test_actions_of_an_apps_people_are_not_in_the_audit_trail(db: None) -> None:
    for action in ("consent.given", "consent.removed", "family.ended"):
        report(Event(action, None, "prj_one", "op_client_one"))
    assert not AuditEvent.objects.exists()


def test_a_target_that_is_too_long_is_cut(project: Project, owner: Account) -> None:
    roles.report_project_event("client.changed", project, owner, "x" * 1000)
    assert len(AuditEvent.objects.get().target) == 255


def test_an_address_of_someone_else_stays_when_an_account_goes(project: Project, owner: Account) -> None:
    dan = ProjectMember.objects.get(project=project, role=Role.DEVELOPER)
    members.change_role(dan, "viewer", owner)
    make_account("other@example.com").delete()
    assert AuditEvent.objects.get().target == "dan@example.com"
    dan.account.delete()
    assert AuditEvent.objects.get().target == ""


def test_an_account_that_is_deleted_by_an_operator_leaves_no_name_either(project: Project, owner: Account) -> None:
    lifecycle.rename_project(project, "Lunar Notes", owner)
    Account.objects.filter(pk=owner.pk).delete()
    event = AuditEvent.objects.get()
    assert (event.actor, event.actor_email, event.after) == (None, "", {"name": "Lunar Notes"})


def test_the_audit_trail_forgets_invited_people_who_registered_later(project: Project, owner: Account) -> None:
    invitations.invite(project, "ines@example.com", "viewer", owner)
    assert AuditEvent.objects.get().target == "ines@example.com"
    make_account("ines@example.com").delete()
    assert AuditEvent.objects.get().target == ""
    assert not ProjectInvitation.objects.exists()


def test_a_removed_client_keeps_its_lines(project: Project, owner: Account) -> None:
    things = things_of(project, owner)
    Client.objects.all().delete()
    assert AuditEvent.objects.filter(project=things["project_id"]).exists()
