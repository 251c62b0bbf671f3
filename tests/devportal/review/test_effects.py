"""What review brings about: for people, for tokens, for the API; and what goes on while a change is looked at."""

from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from core import clock
from devportal.console.models import AuditEvent
from devportal.review.decisions import reviewer_actions
from devportal.review.models import AppReview, ReviewEntry
from devportal.review.rules import snapshots, timeline
from devportal.review.rules.workflow import IllegalReviewStep
from devportal.review.submission import developer_actions, requirements
from devportal.review.submission.differences import field_changes
from oidc.models import Client
from tests.devportal.review.reviewing import (
    BRANDING,
    DEMO,
    JUSTIFICATION,
    PLACE,
    REASON,
    SCOPE,
    Status,
    approve,
    approved,
    decide,
    fill,
    fresh,
    resent,
    sent,
)
from tests.factories import make_account, make_domain
from tests.relying_party import RelyingParty, answer_of, sign_in

pytestmark = pytest.mark.django_db
WITH_PLAN = f"openid email offline_access {SCOPE}"


@pytest.fixture
def party(app: Client) -> RelyingParty:
    """The app, and the browser of someone who may use it."""
    return RelyingParty(app, sign_in(Browser(), make_account("ada@example.com")))


def consent_page(party: RelyingParty, **changes: str) -> str:
    response = party.authorize(prompt="consent", **changes)
    assert response.status_code == 200, response
    return str(response.content.decode())


def test_the_moment_of_the_first_approval_stays(app: Client, developer: Account, reviewer: Account, later: Any) -> None:
    first = approved(app, developer, reviewer).verified_at
    later(3600)
    developer_actions.save_submission(app, developer, {"name": "Orbit Two"})
    decide(developer_actions.submit(app, developer), reviewer, Status.APPROVED)
    assert (fresh(app).verified_at, fresh(app).name) == (first, "Orbit Two")


def test_after_approval_edits_wait_for_review(
    party: RelyingParty, app: Client, developer: Account, reviewer: Account
) -> None:
    approved(app, developer, reviewer)
    other = {field: value.replace("example.com", "example.org") for field, value in BRANDING.items()}
    make_domain(app.project, "example.org")
    developer_actions.save_submission(app, developer, other | {"name": "Nova Notes"}, scopes={})
    for status in (Status.SUBMITTED, Status.IN_REVIEW, Status.CHANGES_REQUESTED, Status.REJECTED):
        review = snapshots.open_review(app)
        assert review is not None
        if status == Status.SUBMITTED:
            developer_actions.submit(app, developer)
        elif status == Status.IN_REVIEW:
            reviewer_actions.start(review, reviewer)
        else:
            decide(review, reviewer, status)
        if status == Status.CHANGES_REQUESTED:
            reviewer_actions.start(resent(app, developer), reviewer)
        row = fresh(app)
        assert {field: getattr(row, field) for field in BRANDING} == BRANDING, status
        assert (row.is_verified, row.approved_scopes) == (True, SCOPE), status
        page = consent_page(party, scope=WITH_PLAN)
        assert "Orbit Notes" in page
        assert "Nova Notes" not in page
        assert "example.org" not in page
    developer_actions.submit(app, developer)
    review = snapshots.open_review(app)
    assert review is not None
    approve(reviewer_actions.start(review, reviewer), reviewer)
    assert "Nova Notes" in consent_page(party)
    assert answer_of(party.authorize(scope=WITH_PLAN))["error"] == "invalid_scope"


def test_people_get_what_the_reviewer_saw(app: Client, developer: Account, reviewer: Account) -> None:
    review = reviewer_actions.start(sent(app, developer), reviewer)
    # As an operator's file might rename it.
    Client.objects.filter(pk=app.pk).update(name="Nova Notes", home_page_url="https://nova.example/")
    approve(review, reviewer)
    assert (fresh(app).name, fresh(app).home_page_url) == ("Orbit Notes", BRANDING["home_page_url"])


def test_a_reviewed_app_can_not_be_renamed_on_the_settings_page(
    as_developer: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    page = f"/console/p/{app.project.public_id}/clients/{app.client_id}/"

    def rename(name: str) -> Any:
        return as_developer.post(page, {"name": name, "redirect_uris": app.redirect_uris})

    fill(app, developer)
    assert rename("Nova Notes").status_code == 302
    assert snapshots.working_snapshot(fresh(app))["name"] == "Nova Notes", "the draft follows"
    developer_actions.save_submission(app, developer, {}, scopes={SCOPE: JUSTIFICATION})
    assert fresh(app).name == "Nova Notes"
    review = developer_actions.submit(app, developer)
    assert "Withdraw it first" in rename("Third Notes").content.decode()
    assert rename("Nova Notes").status_code == 302, "addresses go on changing"
    assert fresh(app).name == review.snapshot["name"] == "Nova Notes"
    decide(review, reviewer, Status.APPROVED)
    rename("Third Notes")
    assert fresh(app).name == "Nova Notes"


def test_withdrawing_everything_makes_the_app_unverified(
    party: RelyingParty, app: Client, developer: Account, reviewer: Account, settings: Any
) -> None:
    approved(app, developer, reviewer)
    tokens = party.tokens(scope=WITH_PLAN)
    settings.UNVERIFIED_APP_PEOPLE = 1
    reviewer_actions.withdraw_approval(app, reviewer, reasons=["changed_since_review"])
    row = fresh(app)
    assert (row.verified_at, row.approved_scopes) == (None, "")
    assert "has not reviewed this app" in consent_page(party)
    assert party.call("/v1/me/plan", tokens["access_token"]).status_code == 403
    assert party.beside(sign_in(Browser(), make_account())).authorize().status_code == 403, "the cap holds again"
    assert party.refresh(tokens["refresh_token"]).status_code == 200, "who was there goes on"
    with pytest.raises(IllegalReviewStep):
        reviewer_actions.withdraw_approval(app, reviewer, scopes=[SCOPE], reasons=["other"], text="Again.")
    # And it can be reviewed once more, from what there is.
    assert decide(sent(app, developer), reviewer, Status.APPROVED).number == 2


def test_every_step_is_in_the_audit_trail(app: Client, developer: Account, reviewer: Account) -> None:
    review = decide(sent(app, developer), reviewer, Status.CHANGES_REQUESTED)
    developer_actions.answer(review, developer, "Every one of them.")
    decide(resent(app, developer), reviewer, Status.APPROVED)
    reviewer_actions.suspend_project(app.project, reviewer, reasons=["unsafe"])
    rows = AuditEvent.objects.order_by("pk")
    assert [(row.action, row.actor_email) for row in rows] == [
        ("review.edited", developer.email),
        ("review.submitted", developer.email),
        ("review.started", reviewer.email),
        ("review.changes_requested", reviewer.email),
        ("review.comment", developer.email),
        ("review.resubmitted", developer.email),
        ("review.started", reviewer.email),
        ("review.approved", reviewer.email),
        ("project.suspended", reviewer.email),
    ]
    assert {row.project for row in rows} == {app.project.public_id}
    decision = rows.get(action="review.approved")
    assert decision.target == app.client_id
    assert decision.after == {"scopes": {SCOPE: JUSTIFICATION}, "places": {SCOPE: PLACE}, "demo_url": DEMO}
    assert rows.get(action="review.changes_requested").details["reasons"] == REASON


def test_developers_push_no_step_of_a_reviewer_out_of_the_timeline(
    app: Client, developer: Account, reviewer: Account
) -> None:
    review = decide(sent(app, developer), reviewer, Status.REJECTED)
    reviewer_actions.suspend_project(app.project, reviewer, reasons=["unsafe"])
    known: dict[str, Any] = {"project": app.project, "client": app, "review": review, "at": clock.now()}
    known |= {"side": "developer", "kind": "comment"}
    ReviewEntry.objects.bulk_create(ReviewEntry(**known, text=f"{n}") for n in range(timeline.MAX_SHOWN + 10))
    shown = timeline.timeline(app)
    assert [entry.kind for entry in shown if entry.side == "reviewer"] == ["started", "rejected", "suspended"]
    assert [entry.text for entry in shown if entry.side == "developer"][-1] == "209"
    assert len(shown) == timeline.MAX_SHOWN + 3


def test_a_step_and_its_records_are_stored_together(
    app: Client, developer: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("the notices can't be written")

    fill(app, developer)
    monkeypatch.setattr("devportal.review.rules.notifications.notices.notify", broken)
    with pytest.raises(RuntimeError):
        developer_actions.submit(app, developer)
    assert AppReview.objects.get().status == Status.DRAFT
    assert not AuditEvent.objects.filter(action="review.submitted").exists()


def test_a_change_is_compared_with_what_was_approved(app: Client, developer: Account, reviewer: Account) -> None:
    review = sent(app, developer)
    assert review.baseline == {}
    decide(review, reviewer, Status.APPROVED)
    developer_actions.save_submission(app, developer, {"name": "Nova Notes", "terms_url": ""})
    Client.objects.filter(pk=app.pk).update(redirect_uris="https://nova.example/callback")
    make_domain(app.project, "nova.example")
    change = developer_actions.submit(app, developer)
    decide(change, reviewer, Status.APPROVED)
    change.refresh_from_db()
    changes = [each.name for each in field_changes(change.baseline, change.snapshot)]
    assert changes == ["name", "terms_url", "redirect_urls"], "what was decided on stays readable"
    assert change.label == "changed"


def test_the_checklist_checks_itself(app: Client, developer: Account) -> None:
    def open_items() -> set[str]:
        return {item.code for item in requirements.submission_requirements(fresh(app)) if not item.done}

    assert open_items() == {
        "home_page", "privacy_policy", "support_address", "logo", "terms", "demo", "own_domain", "signed_in",
    }  # fmt: skip
    fill(app, developer)
    assert open_items() == {"logo", "signed_in"}
    Client.objects.filter(pk=app.pk).update(redirect_uris="http://localhost:3000/cb https://elsewhere.test/cb")
    assert open_items() == {"logo", "signed_in", "own_domain", "domains", "no_loopback"}
    Client.objects.filter(pk=app.pk).update(
        verified_at=clock.now(), approved_scopes=SCOPE, approved_hosts="localhost elsewhere.test"
    )
    AppReview.objects.all().delete()
    assert "something_new" in open_items()
    assert all(item.url_name.startswith("console:") for item in requirements.submission_requirements(app))


def test_approval_removes_the_label_and_limit_immediately(
    party: RelyingParty, app: Client, developer: Account, reviewer: Account, settings: Any
) -> None:
    settings.UNVERIFIED_APP_PEOPLE = 1
    party.tokens()
    second = party.beside(sign_in(Browser(), make_account()))
    assert second.authorize().status_code == 403
    assert "has not reviewed this app" in consent_page(party)
    approved(app, developer, reviewer)
    assert "has not reviewed this app" not in consent_page(party)
    assert "Reviewed by" in consent_page(party)
    assert "example.com" in consent_page(party)
    assert second.tokens()["access_token"]


def test_an_approved_scope_opens_the_plan(
    party: RelyingParty, app: Client, developer: Account, reviewer: Account
) -> None:
    assert answer_of(party.authorize(scope=WITH_PLAN))["error"] == "invalid_scope"
    sent(app, developer)
    assert answer_of(party.authorize(scope=WITH_PLAN))["error"] == "invalid_scope"
    review = snapshots.open_review(app)
    assert review is not None
    decide(review, reviewer, Status.APPROVED)
    token = party.tokens(scope=WITH_PLAN)["access_token"]
    answer = party.call("/v1/me/plan", token)
    assert (answer.status_code, answer.json()["plan_id"]) == (200, "free")


def test_an_app_can_be_approved_without_its_scope(
    party: RelyingParty, app: Client, developer: Account, reviewer: Account
) -> None:
    review = reviewer_actions.start(sent(app, developer), reviewer)
    review = approve(review, reviewer, {SCOPE: False}, text="Not needed.")
    assert (review.status, review.decisions) == (Status.APPROVED, {SCOPE: False})
    assert fresh(app).is_verified
    assert answer_of(party.authorize(scope=WITH_PLAN))["error"] == "invalid_scope"


def test_a_scope_no_longer_requested_is_removed(app: Client, developer: Account, reviewer: Account) -> None:
    approved(app, developer, reviewer)
    developer_actions.save_submission(app, developer, {}, scopes={})
    assert fresh(app).approved_scopes == SCOPE, "until the change is approved"
    review = reviewer_actions.start(developer_actions.submit(app, developer), reviewer)
    approve(review, reviewer)
    assert fresh(app).approved_scopes == ""


def test_provisioned_scopes_need_no_review(party: RelyingParty, app: Client) -> None:
    Client.objects.filter(pk=app.pk).update(approved_scopes=SCOPE)
    token = party.tokens(scope=WITH_PLAN)["access_token"]
    assert party.call("/v1/me/plan", token).status_code == 200
    assert not fresh(app).is_verified


def test_withdrawing_a_scope_narrows_refreshes_and_calls(
    party: RelyingParty, app: Client, developer: Account, reviewer: Account
) -> None:
    approved(app, developer, reviewer)
    tokens = party.tokens(scope=WITH_PLAN)
    assert party.call("/v1/me/plan", tokens["access_token"]).status_code == 200
    reviewer_actions.withdraw_approval(app, reviewer, scopes=[SCOPE], reasons=["misuse_of_data"])
    refused = party.call("/v1/me/plan", tokens["access_token"])
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "insufficient_scope")
    again = party.refresh(tokens["refresh_token"]).json()
    assert SCOPE not in again["scope"].split()
    assert party.call("/v1/me/plan", again["access_token"]).status_code == 403
    assert party.call("/v1/me", again["access_token"]).status_code == 200, "the rest goes on"
    assert fresh(app).is_verified
    assert "Reviewed by" in consent_page(party)


def test_suspension_reaches_pages_tokens_and_calls(
    party: RelyingParty, app: Client, developer: Account, reviewer: Account
) -> None:
    approved(app, developer, reviewer)
    tokens, code = party.tokens(), party.code()
    reviewer_actions.suspend_project(app.project, reviewer, reasons=["harmful"], text="It takes people's data.")
    page = party.authorize(prompt="none")
    assert page.status_code == 403
    assert "is unavailable" in page.content.decode()
    assert party.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert party.exchange(code).json()["error"] == "invalid_grant"
    refused = party.call("/v1/me", tokens["access_token"])
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "project_suspended")
    reviewer_actions.lift_suspension(app.project, reviewer)
    assert party.call("/v1/me", tokens["access_token"]).status_code == 200
    assert party.authorize(prompt="none").status_code == 302
