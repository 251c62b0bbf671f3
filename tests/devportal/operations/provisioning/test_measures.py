"""A file that suspends a project, or takes an approval away, is a measure that reviewers have to know of."""

from pathlib import Path
from typing import Any

import pytest

from accounts.models import Account
from devportal.console.models import AuditEvent
from devportal.review.cases.cases import case_conflict
from devportal.review.decisions import appeals, reviewer_actions
from devportal.review.models import AppReview, ReviewEntry
from devportal.review.rules.workflow import last_measure
from devportal.review.submission.second_approval import first_approval
from oidc.models import Client
from tests.devportal.operations.provisioning.test_provision import provision
from tests.devportal.review.reviewing import SCOPE, approved, fresh, mails, sent, ticks

pytestmark = pytest.mark.django_db


def file_of(app: Client, owner: Account, *, project: str = "", client: str = "") -> str:
    uris = ", ".join(f'"{uri}"' for uri in app.redirect_uris.split())
    return f"""
        [[projects]]
        name = "{app.project.name}"
        owner = "{owner.email}"
        {project}
        [[projects.clients]]
        name = "{app.name}"
        type = "{app.type}"
        redirect_uris = [{uris}]
        {client}
    """


@pytest.fixture
def approved_once(app: Client, developer: Account, reviewer: Account, settings: Any) -> AppReview:
    """A review with the first of two approvals."""
    settings.REVIEW_SECOND_KEY_PEOPLE = 0
    review = reviewer_actions.start(sent(app, developer), reviewer)
    return reviewer_actions.approve(review, reviewer, revision=1, scopes={SCOPE: True}, checked=ticks(review))


def test_a_suspension_ends_first_approvals_and_makes_open_pages_old(
    approved_once: AppReview, app: Client, owner: Account, developer: Account, tmp_path: Path
) -> None:
    before, sent_before = last_measure(app), mails()
    assert first_approval(approved_once) is not None
    provision(tmp_path, file_of(app, owner, project="suspended = true"))
    assert last_measure(app) > before
    assert first_approval(AppReview.objects.get(pk=approved_once.pk)) is None
    assert mails() == sent_before


def test_the_same_file_again_is_no_second_measure(app: Client, owner: Account, tmp_path: Path) -> None:
    provision(tmp_path, file_of(app, owner, project="suspended = true"))
    first = last_measure(app)
    provision(tmp_path, file_of(app, owner, project="suspended = true"))
    assert last_measure(app) == first
    provision(tmp_path, file_of(app, owner, project="suspended = false"))
    assert last_measure(app) == first
    steps = ReviewEntry.objects.filter(project=app.project, author=None).order_by("pk")
    assert [step.kind for step in steps] == ["suspended", "suspension_lifted"]
    events = AuditEvent.objects.filter(project=app.project.public_id, action__contains="susp").order_by("pk")
    assert [event.action for event in events] == ["project.suspended", "project.suspension_lifted"]


@pytest.mark.parametrize("lost", ["verified = false", "approved_scopes = []"])
def test_an_approval_that_a_file_takes_away_can_be_appealed(
    app: Client, owner: Account, developer: Account, reviewer: Account, tmp_path: Path, lost: str
) -> None:
    app = approved(app, developer, reviewer)
    provision(tmp_path, file_of(app, owner, client="verified = true"))
    assert last_measure(app) == 0
    provision(tmp_path, file_of(app, owner, client=lost))
    assert last_measure(app) > 0
    offer = appeals.offer_for_client(fresh(app))
    assert offer is not None
    assert offer.reasons == []
    case = appeals.appeal_withdrawal(fresh(app), developer, "The operator’s file is out of date.")
    assert case_conflict(reviewer, case) == ""
