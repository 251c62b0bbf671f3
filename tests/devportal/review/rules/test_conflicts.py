"""Conflicts of interest: in one review, in the queue, and in a whole project, by one rule."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext

from accounts.models import Account, Organization
from accounts.plans.members import add_member, get_or_create_family
from core import clock
from devportal.review.decisions import appeals
from devportal.review.models import AppReview, ReviewEntry
from devportal.review.rules import workflow
from devportal.review.rules.conflicts import MESSAGES, Conflict, conflict_of
from devportal.review.submission import developer_actions
from oidc.models import Client, FormerMember, Project, ProjectInvitation, ProjectMember
from oidc.projects import invitations, members
from tests.devportal.review.reviewing import Status, decide, fill, make_reviewer, resent, sent
from tests.factories import make_account, make_client, make_domain, make_project

pytestmark = pytest.mark.django_db
Role = ProjectMember.Role


class Scene:
    """A review that was sent by a developer who is still a member, another who is gone, and a reviewer."""

    def __init__(self, app: Client, later: Callable[[float], None]) -> None:
        self.app, self.project, self.later = app, app.project, later
        self.gone_before = self.join()
        members.leave_project(self.project, self.gone_before)
        later(60)
        self.developer = self.join()
        self.first_sender = self.join()
        self.writer = self.join()
        self.viewer = self.join(Role.VIEWER)
        fill(app, self.developer)
        self.review = developer_actions.submit(app, self.first_sender)
        developer_actions.answer(self.review, self.writer, "Please.")
        self.desk = make_reviewer()
        decide(self.review, self.desk, Status.CHANGES_REQUESTED)
        self.review = resent(app, self.developer)
        for one in (self.first_sender, self.writer, self.viewer):
            later(60)
            members.leave_project(self.project, one)

    def join(self, role: str = Role.DEVELOPER) -> Account:
        account = make_account()
        ProjectMember.objects.create(project=self.project, account=account, role=role)
        return account

    def invite(self, account: Account, project: Project | None = None, **changes: Any) -> ProjectInvitation:
        project = project or self.project
        owner = project.members.get(role=Role.OWNER).account
        row = invitations.invite(project, account.email.upper(), Role.VIEWER, owner)
        ProjectInvitation.objects.filter(pk=row.pk).update(**changes or {"role": Role.VIEWER})
        return row


def _family(one: Account, other: Account) -> None:
    add_member(get_or_create_family(one), other)


def _third_ones_family(one: Account, other: Account) -> None:
    family = get_or_create_family(make_account())
    add_member(family, one)
    add_member(family, other)


def _organization(one: Account, other: Account) -> None:
    shared = Organization.objects.create(name=f"Beacon {one.pk}")
    add_member(shared, one)
    add_member(shared, other)


def _was_member(scene: Scene, me: Account, until: datetime) -> None:
    FormerMember.objects.create(project=scene.project, account=me, joined_at=scene.project.created_at, left_at=until)


# What relates a reviewer to the review, and the conflict, which is the same in the review and in the whole project.
SITUATIONS: dict[str, tuple[Callable[[Scene, Account], Any], str]] = {
    "nothing": (lambda scene, me: None, ""),
    "a family without them": (lambda scene, me: _family(me, make_account()), ""),
    "a member": (lambda scene, me: scene.project.members.create(account=me, role=Role.VIEWER), "member"),
    "gone since the draft": (lambda scene, me: _was_member(scene, me, scene.review.created_at), "took_part"),
    "gone before the draft": (
        lambda scene, me: _was_member(scene, me, FormerMember.objects.earliest("pk").left_at),
        "took_part",
    ),
    "wrote in a review": (
        lambda scene, me: ReviewEntry.objects.filter(author=scene.writer).update(author=me),
        "took_part",
    ),
    "submitted it": (
        lambda scene, me: AppReview.objects.filter(pk=scene.review.pk).update(submitted_by=me),
        "took_part",
    ),
    "sent the first revision": (
        lambda scene, me: scene.review.revisions.filter(number=1).update(sent_by=me),
        "took_part",
    ),
    "invited": (lambda scene, me: scene.invite(me), "invited"),
    "invited to another project": (lambda scene, me: scene.invite(me, make_project()), ""),
    "an invitation that was declined": (lambda scene, me: invitations.decline(scene.invite(me).pk, me), ""),
    "an invitation that expired": (lambda scene, me: scene.invite(me, expires_at=clock.now()), ""),
    "family of a member": (lambda scene, me: _family(scene.developer, me), "family"),
    "own family with a member": (lambda scene, me: _family(me, scene.developer), "family"),
    "a third one's family": (lambda scene, me: _third_ones_family(me, scene.developer), "family"),
    "family of the first sender": (lambda scene, me: _family(scene.first_sender, me), "family"),
    "family of who wrote": (lambda scene, me: _family(scene.writer, me), "family"),
    "family of a viewer who left": (lambda scene, me: _family(scene.viewer, me), "family"),
    "family of who left before": (lambda scene, me: _family(scene.gone_before, me), "family"),
    "organization of a member": (lambda scene, me: _organization(scene.developer, me), "organization"),
    "organization of who left before": (lambda scene, me: _organization(scene.gone_before, me), "organization"),
    "family of the reviewer who asked for changes": (lambda scene, me: _family(scene.desk, me), ""),
}


def listed(account: Account) -> dict[int, str]:
    """Return the conflict of each review in the queue of this account."""
    request = RequestFactory().get("/admin/review/appreview/")
    request.user = account
    rows: Any = admin.site._registry[AppReview].get_queryset(request)
    return {row.pk: row.conflict for row in rows}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_one_review_and_the_list_agree(situation: str, app: Client, later: Callable[[float], None]) -> None:
    scene, me = Scene(app, later), make_reviewer()
    # Another review, in which nobody of them takes part.
    elsewhere = make_client(make_project(name="Elsewhere"), name="Lantern")
    make_domain(elsewhere.project)
    other = sent(elsewhere, elsewhere.project.members.get().account)
    relate, conflict = SITUATIONS[situation]
    relate(scene, me)
    assert listed(me) == {scene.review.pk: conflict, other.pk: ""}
    for review in (scene.review, None):
        assert conflict_of(me, scene.project, review) == conflict
        assert workflow.may_decide(me, scene.project, review) is (conflict == "")


def test_each_conflict_has_a_message() -> None:
    assert set(MESSAGES) == set(Conflict)


def test_the_rejecting_reviewer_has_a_conflict_only_in_the_appeal(
    app: Client, developer: Account, reviewer: Account, project: Project
) -> None:
    review = decide(sent(app, developer), reviewer, Status.REJECTED)
    review = appeals.appeal_rejection(review, developer, "The page says it in its second line.")
    assert conflict_of(reviewer, project, review) == "rejected"
    assert listed(reviewer) == {review.pk: "rejected"}
    assert conflict_of(reviewer, project) == ""
    assert conflict_of(make_reviewer(), project, review) == ""


def test_the_closest_of_several_conflicts_is_shown(app: Client, later: Callable[[float], None]) -> None:
    scene, me = Scene(app, later), make_reviewer()
    for relate in (_organization, _family):
        relate(scene.developer, me)
    assert conflict_of(me, scene.project, scene.review) == "family"
    scene.project.members.create(account=me, role=Role.VIEWER)
    assert conflict_of(me, scene.project, scene.review) == "member"


def test_a_review_takes_one_statement_and_a_list_takes_three(app: Client, later: Callable[[float], None]) -> None:
    scene, me = Scene(app, later), make_reviewer()
    for _ in range(5):
        _third_ones_family(me, scene.join())
        developer_actions.answer(scene.review, scene.developer, "And more.")
    for review in (scene.review, None):
        with CaptureQueriesContext(connection) as statements:
            conflict_of(me, scene.project, review)
        assert len(statements) == 1
    with CaptureQueriesContext(connection) as statements:
        listed(me)
    assert len(statements) == 3


def test_a_deleted_review_can_not_be_decided(app: Client, developer: Account, reviewer: Account) -> None:
    review = sent(app, developer)
    AppReview.objects.filter(pk=review.pk).delete()
    assert conflict_of(reviewer, app.project, review) != ""
