"""Whatever refers to a person is in their export, or has a reason not to be (docs/accounts.md#export)."""

import re
from typing import Any

import pytest
from django.db.models import Model

from accounts.data_export import archive, readable
from accounts.models import Account, AccountRecovery, AddressChange, DataExport, SecurityEvent
from accounts.roles import set_roles
from core import clock
from devportal.console.models import NoticeSettings
from devportal.review.cases.cases import open_case
from devportal.review.models import AppReport, AppReview, InternalNote, ReviewEntry
from oidc.events.queueing import queue_for_account
from oidc.models import Client, Connection, EventReceiver, FormerMember, MemberOfRemovedProject, Project
from oidc.values.event_types import EventType
from tests.accounts.plans.factories import make_plan, subscribe
from tests.exports import exported, files_of
from tests.people_pages import make_world

# Model and field that point to an account: the section of the export that holds it, with the part of it after a dot.
SECTIONS = {
    "account.EmailAddress.user": "addresses",
    "accounts.Account_groups.account": "profile.roles",
    "accounts.AccountRecovery.account": "recoveries",
    "accounts.AddressChange.account": "address_changes",
    "accounts.DataExport.account": "exports",
    "accounts.Family.owner": "plan.families",
    "accounts.FamilyMember.account": "plan.families",
    "accounts.Invitation.invited_by": "plan.invitations_sent",
    "accounts.OrganizationMember.account": "plan.organizations",
    "accounts.PairwiseSubject.account": "ids",
    "accounts.SecurityEvent.account": "security_activity",
    "accounts.Subscription.account": "plan.subscription",
    "api.ApiKey.owner": "keys",
    "review.AppReport.reporter": "reported_apps",
    "console.AuditEvent.actor": "console_activity",
    "console.Notice.account": "notices",
    "console.NoticeSettings.account": "notice_settings",
    "review.InternalNote.author": "written_at_the_desk",
    "review.ReviewEntry.author": "written_in_reviews",
    "mfa.Authenticator.user": "sign_in_methods",
    "oidc.Connection.account": "connected_apps",
    "oidc.FormerMember.account": "former_projects",
    "oidc.MemberOfRemovedProject.account": "removed_projects",
    "oidc.ProjectMember.account": "projects",
    "usersessions.UserSession.user": "sessions",
}
# The same for models that refer to a person through a consent alone.
SECTIONS_OF_CONNECTIONS = {"oidc.Delivery.connection": "events_to_apps"}
REASONS_OF_CONNECTIONS = {"oidc.TokenFamily.connection": "hashed tokens; what they open is in connected_apps"}
REASONS = {
    "accounts.AccountRecovery.started_by": "what an operator did for someone else; the step is in console_activity",
    "accounts.Account_user_permissions.account": "permissions come with roles alone",
    "accounts.SubscriptionEvent.actor": "what an operator did to someone else's plan; the step is in console_activity",
    "accounts.WrongCodes.account": "a number that ends with the next right code",
    "admin.LogEntry.user": "the admin writes none: its steps are in the audit trail",
    "review.AppReview.appealed_from": "as the assignee",
    "review.AppReview.first_approval_by": "as the assignee",
    "review.ReviewRevision.sent_by": "as who submitted the review; what they wrote is in written_in_reviews",
    "review.ReviewCase.assignee": "as that of a review",
    "review.ReviewCase.closed_by": "as that of a review",
    "review.ReviewCase.opened_by": "what a developer wrote in an appeal is in written_in_reviews",
    "review.AppReview.assignee": "a reviewer's work on someone else's app; their steps are in console_activity",
    "review.AppReview.decided_by": "as the assignee",
    "review.AppReview.submitted_by": "the app's, not theirs; that they submitted it is in console_activity",
    "review.ReviewerSettings.account": "which emails a reviewer's work brings; they see it in the admin",
    "console.AuditEvent.person": "what others did; what came of it is in the other sections",
    "console.Notice.actor": "what they did is in console_activity",
    "console.Notice.person": "as the person of an audit event",
    "console.IdempotencyToken.account": "a random text, for a day, so that a form that is sent twice counts once",
    "oauth2_provider.DeviceGrant.user": "never filled: the service has no device flow",
    "oidc.AccessToken.user": "a credential, hashed; what it opens is in connected_apps",
    "oidc.ApiCredential.created_by": "a credential of an API of the company, which an operator made for work",
    "oidc.AppPage.published_by": "the app's, not theirs; that they published it is in console_activity",
    "oidc.AuthorizationCode.user": "a credential, hashed; what it opens is in connected_apps",
    "oidc.Client.user": "never filled: a project has the app",
    "oidc.ClientSecret.created_by": "a credential of a project; that they made it is in console_activity",
    "oidc.ProjectDomain.added_by": "a project's domain; that they added it is in console_activity",
    "oidc.IDToken.user": "never filled",
    "oidc.ProjectInvitation.invited_by": "someone else's address, in a project's list; console_activity has the step",
    "oidc.TakenPlace.account": "that an app of the project knew them is in ids",
    "oidc.RefreshToken.user": "a credential, hashed; what it opens is in connected_apps",
}


def pointing(model: type[Model] = Account) -> set[str]:
    """Return each model and field that points to an account, or to a row of another model."""
    relations: list[Any] = [
        relation for relation in model._meta.get_fields(include_hidden=True) if relation.auto_created
    ]
    return {
        f"{relation.related_model._meta.label}.{relation.field.name}" for relation in relations if relation.is_relation
    }


def test_every_reference_to_a_person_is_exported_or_has_a_reason() -> None:
    assert pointing() == set(SECTIONS) | set(REASONS)
    assert not set(SECTIONS) & set(REASONS)


def test_every_reference_to_a_consent_is_exported_or_has_a_reason() -> None:
    assert pointing(Connection) == set(SECTIONS_OF_CONNECTIONS) | set(REASONS_OF_CONNECTIONS)


@pytest.mark.django_db
def test_each_section_of_an_export_has_the_expected_data() -> None:
    """Someone who has something of everything has something in each section; what only others have is made here."""
    stage = make_world()
    owner = Account.objects.get(pk=stage.things["account"])
    _fill_the_rest(owner)
    held = exported(owner)
    empty = []
    for source, section in (SECTIONS | SECTIONS_OF_CONNECTIONS).items():
        value = held
        for part in section.split("."):
            value = value[part]
        if not value:
            empty.append(f"{source}: {section}")
    assert empty == []


@pytest.mark.django_db
def test_the_page_has_a_label_for_each_value_and_no_codes() -> None:
    owner = Account.objects.get(pk=make_world().things["account"])
    _fill_the_rest(owner)
    page = files_of(owner)[archive.PAGE].decode()
    labels = set(re.findall(r'<th scope="col">([^<]*)<|<dt>([^<]*)<', page))
    assert {column or fact for column, fact in labels} <= set(readable.LABELS.values())
    for code in ("offline_access", "review.submitted", "TOTP", "WebAuthn", "the person", "_at<", "none<"):
        assert code not in page, code


def _fill_the_rest(owner: Account) -> None:
    now = clock.now()
    DataExport.objects.create(account=owner, asked_at=now)
    AddressChange.objects.create(
        account=owner, old_email="before@example.com", new_email=owner.email, code_mac="0" * 64, newest_factor=0, at=now
    )
    AccountRecovery.objects.create(
        account=owner, reason="lost", checked="called", started_at=now, due_at=now, ended_at=now
    )
    project = Project.objects.latest("pk")
    chosen = {"owners": {"console": True, "mail": False}}
    NoticeSettings.objects.update_or_create(account=owner, project=project, defaults={"choices": chosen})
    SecurityEvent.objects.create(account=owner, kind="signed_in", at=now, details={"methods": ["password"]})
    app = Client.objects.latest("pk")
    case = open_case("report", app.project, app)
    AppReport.objects.create(case=case, reporter=owner, reason="other", at=now)
    ReviewEntry.objects.filter(author=owner).update(text="Please look again.")
    InternalNote.objects.create(review=AppReview.objects.latest("pk"), author=owner, at=now, text="Look at the logo.")
    consent = Connection.objects.filter(account=owner).latest("pk")
    EventReceiver.objects.create(client=consent.client, channel="events", url="https://a.example/")
    queue_for_account(EventType.CREDENTIAL_CHANGE, owner)
    FormerMember.objects.create(account=owner, project=project, joined_at=now, left_at=now)
    MemberOfRemovedProject.objects.create(account=owner, project_key=1, joined_at=now, left_at=now)
    subscribe(owner, make_plan("pro"), "Active")
    set_roles(owner, ["reviewer"])
