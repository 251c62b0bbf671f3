"""The emails of a review, read: who gets which, what they say, and that they only lead to a page."""

import re

import pytest
from django.conf import settings

from accounts.models import Account
from accounts.plans.members import add_member, get_or_create_family
from accounts.roles import set_roles
from devportal.review.decisions import reviewer_actions
from devportal.review.models import AppReview
from devportal.review.rules.reasons import REASONS, SUSPENSION_REASONS
from devportal.review.submission import developer_actions
from oidc.models import Client
from tests.devportal.console.notices.noticing import forget_mails
from tests.devportal.review.reviewing import SCOPE, Status, approved, decide, fill, make_reviewer, resent, sent
from tests.devportal.review.reviewing import mails as queued
from tests.factories import make_account

pytestmark = pytest.mark.django_db
TEAM = ["olga@example.com", "dan@example.com"]


@pytest.fixture
def link(app: Client) -> str:
    return f"{settings.AUTH_URL}/console/p/{app.project.public_id}/clients/{app.client_id}/review"


def new_mails() -> dict[str, tuple[str, str]]:
    """Return what was queued since the last call: subject and body by address."""
    found = {to: (subject.removeprefix("[Openport] "), body) for to, subject, body in queued()}
    forget_mails()
    return found


def test_owners_and_developers_get_a_mail_for_every_step(
    app: Client, developer: Account, reviewer: Account, link: str
) -> None:
    review = sent(app, developer)
    said: dict[str, dict[str, tuple[str, str]]] = {}
    said["submitted"] = new_mails()
    reviewer_actions.start(review, reviewer)
    said["started"] = new_mails()
    developer_actions.answer(review, reviewer, "Which page shows the plan?")
    said["comment"] = new_mails()
    review.refresh_from_db()
    decide(review, reviewer, Status.CHANGES_REQUESTED)
    said["changes_requested"] = new_mails()
    review = resent(app, developer, "Now with a picture.")
    resubmitted = new_mails()
    assert "Now with a picture." in resubmitted.pop(reviewer.email)[1]
    said["resubmitted"] = resubmitted
    review = developer_actions.withdraw(review, developer)
    withdrawn = new_mails()
    assert withdrawn.pop(reviewer.email)[0] == "Orbit Notes was withdrawn from review"
    said["withdrawn"] = withdrawn
    decide(developer_actions.submit(app, developer), reviewer, Status.REJECTED)
    said["rejected"] = new_mails()
    decide(developer_actions.submit(app, developer), reviewer, Status.APPROVED)
    said["approved"] = new_mails()
    reviewer_actions.withdraw_approval(app, reviewer, scopes=[SCOPE], reasons=["misuse_of_data"])
    said["scope"] = new_mails()
    reviewer_actions.withdraw_approval(app, reviewer, reasons=["changed_since_review"], text="It is a shop now.")
    said["approval"] = new_mails()
    for step, mails_of_step in said.items():
        assert list(mails_of_step) == TEAM, step
        assert len(set(mails_of_step.values())) == 1, step
        subject, body = mails_of_step[TEAM[0]]
        assert "Orbit Notes" in subject, step
        assert link in body, step
        assert "\n\n\n" not in body, step
    bodies = {step: found[TEAM[0]][1] for step, found in said.items()}
    assert "Which page shows the plan?" in bodies["comment"]
    for step in ("changes_requested", "rejected"):
        assert REASONS["justification_vague"].text in " ".join(bodies[step].split())
        assert "Which page is it?" in bodies[step]
    assert "See your email address, your name and photo, and your plan" in " ".join(bodies["approved"].split())
    assert "See your email address, your name and photo, and your plan" in " ".join(bodies["scope"].split())
    assert "It is a shop now." in bodies["approval"]
    assert SUSPENSION_REASONS["changed_since_review"].text in " ".join(bodies["approval"].split())


def test_mails_name_no_reviewer_and_hold_no_other_links(app: Client, developer: Account, reviewer: Account) -> None:
    approved(app, developer, reviewer)
    reviewer_actions.suspend_project(app.project, reviewer, reasons=["harmful"])
    reviewer_actions.lift_suspension(app.project, reviewer)
    console = f"{settings.AUTH_URL}/console/"
    for _, subject, body in queued():
        assert reviewer.email not in subject + body
        assert [url for url in re.findall(r"https?://\S+", body) if not url.startswith(console)] == []


def test_suspension_reaches_the_whole_team(app: Client, developer: Account, reviewer: Account) -> None:
    reviewer_actions.suspend_project(app.project, reviewer, reasons=["unsafe"], text="A secret is on the web.")
    found = new_mails()
    assert list(found) == TEAM
    subject, body = found[TEAM[0]]
    assert subject == "Orbit Notes is suspended"
    assert "A secret is on the web." in body
    assert SUSPENSION_REASONS["unsafe"].text in " ".join(body.split())


def test_a_developers_reply_is_mailed_to_the_assignee(app: Client, developer: Account, reviewer: Account) -> None:
    review = sent(app, developer)
    new_mails()
    developer_actions.answer(review, developer, "Anyone there?")
    assert new_mails() == {}
    colleague = make_reviewer("carl@example.com")
    reviewer_actions.assign(review, reviewer, colleague)
    subject, body = new_mails()["carl@example.com"]
    assert subject == "Orbit Notes was assigned to you for review"
    assert f"{settings.AUTH_URL}/admin/review/appreview/{review.pk}/change/" in body
    developer_actions.answer(review, developer, "It is on the second page.")
    found = new_mails()
    assert list(found) == ["carl@example.com"]
    assert "It is on the second page." in found["carl@example.com"][1]
    reviewer_actions.assign(review, reviewer, reviewer)
    assert new_mails() == {}, "nobody is told what they did themselves"


@pytest.mark.parametrize("step", ["answer", "withdraw"])
@pytest.mark.parametrize("event", ["no longer a reviewer", "conflict of interest"])
def test_an_assignee_who_may_no_longer_decide_gets_no_mail(
    app: Client, developer: Account, reviewer: Account, step: str, event: str
) -> None:
    review = reviewer_actions.start(sent(app, developer), reviewer)
    if event == "no longer a reviewer":
        set_roles(reviewer, [])
    else:
        add_member(get_or_create_family(developer), reviewer)
    new_mails()
    review = AppReview.objects.get(pk=review.pk)
    if step == "answer":
        developer_actions.answer(review, developer, "The password of the test account is the name of our dog.")
    else:
        developer_actions.withdraw(review, developer)
    assert reviewer.email not in new_mails()


def test_people_without_access_get_no_mails(app: Client, owner: Account, developer: Account) -> None:
    Account.objects.filter(pk=owner.pk).update(is_active=False)
    unproven = make_account("una@example.com", verified=False)
    app.project.members.create(account=unproven, role="developer")
    sent(app, developer)
    assert list(new_mails()) == ["dan@example.com"]


def test_texts_can_not_forge_mail_headers(app: Client, developer: Account, reviewer: Account) -> None:
    fill(app, developer, name="Tom & Jerry <notes>")
    review = reviewer_actions.start(developer_actions.submit(app, developer, "Hi\r\nBcc: x@example.com\x07"), reviewer)
    new_mails()
    developer_actions.answer(review, reviewer, "{{ link }} {% now 'Y' %} <b>")
    subject, body = new_mails()[developer.email]
    assert subject == "A reviewer sent a message about Tom & Jerry <notes>"
    assert "{{ link }} {% now 'Y' %} <b>" in body
