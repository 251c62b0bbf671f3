"""The test account of a review: who sees it and when, that it is encrypted, and that nothing else ever holds it."""

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.db import models
from django.test import Client as Browser

from accounts.models import Account
from core.database import encryption
from devportal.console.models import AuditEvent
from devportal.review.decisions import reviewer_actions
from devportal.review.models import AppReview
from devportal.review.rules import workflow
from devportal.review.submission import developer_actions, for_reviewers
from devportal.review.submission.for_reviewers import Credentials, ForReviewers
from oidc.models import Client, ProjectMember
from oidc.projects import members
from tests.devportal.review.reviewing import (
    ASKED,
    BRANDING,
    Status,
    decide,
    fill,
    mails,
    make_operator,
    make_reviewer,
    path_of,
    post,
    resent,
)
from tests.exports import exported

pytestmark = pytest.mark.django_db
LOGIN, PASSWORD, NOTE = "trial-of-orbit@example.net", " correct staple 'n' <b>", "Behind the gear, then Zanzibar."
STORED = {"login": LOGIN, "password": PASSWORD, "note": NOTE}
OF_REVIEW = ASKED | {"test_login": LOGIN, "test_password": PASSWORD, "test_note": NOTE}
FORM = BRANDING | OF_REVIEW
ACTIONS = ("review.test_account_stored", "review.test_account_removed", "review.test_account_seen")


def account_page_of(review: AppReview) -> str:
    return f"/admin/review/appreview/{review.pk}/test-account/"


def store(client: Client, developer: Account) -> AppReview:
    fill(client, developer)
    account = Credentials(LOGIN, PASSWORD, NOTE)
    return developer_actions.save_submission(client, developer, {}, for_reviewers=ForReviewers(test_account=account))


def stored() -> str:
    return AppReview.objects.order_by("-number").values_list("test_account_encrypted", flat=True)[0]


@pytest.fixture
def in_review(app: Client, developer: Account, reviewer: Account) -> AppReview:
    """An app with a test account that `reviewer` has started to look at."""
    store(app, developer)
    return reviewer_actions.start(developer_actions.submit(app, developer), reviewer)


def look(review: AppReview, actor: Account) -> dict[str, str] | None:
    return for_reviewers.test_account_for(review, actor)


def looks() -> list[tuple[Any, Any]]:
    rows = AuditEvent.objects.filter(action="review.test_account_seen").order_by("pk")
    return [(row.actor, row.details) for row in rows]


def test_the_assignee_sees_the_test_account_and_each_view_is_recorded(in_review: AppReview, reviewer: Account) -> None:
    told = {"side": "reviewer", "review": 1, "revision": 1}
    for times in (1, 2):
        assert look(in_review, reviewer) == STORED
        assert looks() == [(reviewer, told)] * times


def test_only_the_assignee_sees_the_test_account(
    in_review: AppReview, developer: Account, owner: Account, viewer: Account, outsider: Account
) -> None:
    for actor in (make_reviewer(), developer, owner, viewer, outsider, make_operator()):
        assert look(in_review, actor) is None
    assert looks() == []


def test_the_test_account_follows_the_assignment(in_review: AppReview, reviewer: Account) -> None:
    other = make_reviewer()
    reviewer_actions.assign(in_review, reviewer, other)
    assert look(in_review, reviewer) is None
    assert look(in_review, other) == STORED
    reviewer_actions.assign(in_review, other, None)
    assert look(in_review, other) is None


def test_an_assignee_who_may_not_decide_any_more_sees_nothing(
    in_review: AppReview, reviewer: Account, app: Client
) -> None:
    mine = ProjectMember.objects.create(project=app.project, account=reviewer, role="viewer")
    assert look(in_review, reviewer) is None
    members.leave_project(app.project, mine.account)
    assert look(in_review, reviewer) is None, "also after leaving"
    AppReview.objects.update(assignee=make_reviewer(is_active=False))
    assert look(in_review, AppReview.objects.get().assignee) is None  # type: ignore[arg-type]


def test_a_stale_row_opens_nothing(in_review: AppReview, reviewer: Account) -> None:
    """What counts is the row under the lock, not the one that a page was opened with."""
    stale = AppReview.objects.get()
    reviewer_actions.assign(in_review, reviewer, make_reviewer())
    assert stale.assignee == reviewer
    assert look(stale, reviewer) is None


def test_a_deleted_app_shows_nothing(in_review: AppReview, reviewer: Account, app: Client) -> None:
    app.project.deleted_at = in_review.submitted_at
    app.project.save()
    assert look(in_review, reviewer) is None


@pytest.mark.parametrize("end", [Status.APPROVED, Status.REJECTED, Status.WITHDRAWN])
def test_the_end_of_the_review_deletes_it(
    end: str, in_review: AppReview, app: Client, developer: Account, reviewer: Account
) -> None:
    assert stored()
    if end == Status.WITHDRAWN:
        developer_actions.withdraw(in_review, developer)
    else:
        decide(in_review, reviewer, end)
    assert stored() == ""
    assert look(in_review, reviewer) is None
    developer_actions.save_submission(app, developer, {"name": "Nova Notes"})
    assert stored() == "", "the next draft begins without one"


def test_a_request_for_changes_keeps_it_and_shows_it_to_nobody(
    in_review: AppReview, app: Client, developer: Account, reviewer: Account
) -> None:
    decide(in_review, reviewer, Status.CHANGES_REQUESTED)
    assert stored()
    assert look(in_review, reviewer) is None
    resent(app, developer)
    assert look(in_review, reviewer) == STORED
    decide(AppReview.objects.get(), reviewer, Status.REJECTED)
    assert stored() == ""


def test_a_refused_decision_deletes_nothing(in_review: AppReview, reviewer: Account) -> None:
    with pytest.raises(workflow.IncompleteSubmission):
        reviewer_actions.reject(in_review, reviewer, revision=1, reasons=[])
    with pytest.raises(workflow.IllegalReviewStep):
        reviewer_actions.reject(in_review, reviewer, revision=7, reasons=["logo_unclear"])
    assert look(in_review, reviewer) == STORED


def _cells() -> str:
    """Return every text of the database."""
    texts = []
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.concrete_fields:
            if isinstance(field, models.CharField | models.TextField | models.JSONField):
                texts += [str(value) for value in model._default_manager.values_list(field.attname, flat=True)]
    return "\n".join(texts)


def test_the_test_account_is_only_stored_encrypted(
    as_developer: Browser, as_reviewer: Browser, app: Client, developer: Account, reviewer: Account, caplog: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    assert post(as_developer, app, "send", **FORM).status_code == 302
    review = reviewer_actions.start(AppReview.objects.get(), reviewer)
    shown = as_reviewer.post(account_page_of(review))
    assert shown.context["account"] == STORED
    pages = [as_developer.get(path_of(app)).content.decode()]
    pages += [as_developer.get(f"/console/p/{app.project.public_id}/team/activity").content.decode()]
    decide(review, reviewer, Status.CHANGES_REQUESTED)
    pages += [as_developer.get(path_of(app)).content.decode()]
    pages += [as_reviewer.get(f"/admin/review/appreview/{review.pk}/change/").content.decode()]
    pages += [_cells(), caplog.text, json.dumps(exported(developer), default=str), str(mails())]
    for secret in (LOGIN, PASSWORD, "staple", "Zanzibar"):
        assert not [page for page in pages if secret in page], secret
    assert json.loads(encryption.decrypt(stored())) == STORED
    assert PASSWORD not in repr(Credentials(LOGIN, PASSWORD))


def test_the_trail_says_that_it_was_stored_and_removed(as_developer: Browser, app: Client) -> None:
    post(as_developer, app, "save", **FORM)
    post(as_developer, app, "save", **BRANDING, remove_test_account="on")
    post(as_developer, app, "save", **BRANDING, remove_test_account="on")
    rows = AuditEvent.objects.filter(action__in=ACTIONS).order_by("pk")
    assert [row.action for row in rows] == ["review.test_account_stored", "review.test_account_removed"]
    assert {json.dumps(row.details) for row in rows} == {'{"side": "developer", "review": 1, "revision": 0}'}
    page = as_developer.get(f"/console/p/{app.project.public_id}/team/activity").content.decode()
    assert "stored a test account for the reviewers of" in page


def test_the_page_only_shows_that_a_test_account_is_stored(
    as_developer: Browser, as_viewer: Browser, app: Client
) -> None:
    post(as_developer, app, "save", **FORM)
    page = as_developer.get(path_of(app)).content.decode()
    assert "A test account is stored" in page
    assert "remove_test_account" in page
    assert "Stored, visible only to the reviewer" in as_viewer.get(path_of(app)).content.decode()


def test_the_test_account_stays_until_it_is_replaced_or_removed(as_developer: Browser, app: Client) -> None:
    post(as_developer, app, "save", **FORM)
    before = stored()
    post(as_developer, app, "save", **BRANDING | {"name": "Orbit Two"})
    assert stored() == before
    post(as_developer, app, "save", **BRANDING, test_login="second", test_password="x y")
    assert json.loads(encryption.decrypt(stored())) == {"login": "second", "password": "x y", "note": ""}
    post(as_developer, app, "save", **BRANDING, remove_test_account="on")
    assert stored() == ""


@pytest.mark.parametrize(
    ("form", "field", "said"),
    [
        ({"test_password": ""}, "test_password", "a login and a password"),
        ({"test_login": ""}, "test_login", "a login and a password"),
        ({"remove_test_account": "on"}, "remove_test_account", "Either remove"),
        ({"test_login": "x" * 255}, "test_login", "at most 254"),
        ({"test_login": "a\x00b"}, "test_login", "Null characters"),
        ({"test_login": "a\nb"}, "test_login", "nobody can type"),
        ({"test_password": "x" * 201}, "test_password", "at most 200"),
        ({"test_password": "\u202eab"}, "test_password", "nobody can type"),
        ({"test_note": "x" * 2001}, "test_note", "at most 2000"),
    ],
)
def test_invalid_test_accounts_are_rejected(
    form: dict[str, str], field: str, said: str, as_developer: Browser, app: Client
) -> None:
    page = post(as_developer, app, "save", **OF_REVIEW | form)
    assert page.status_code == 200
    assert said in " ".join(page.context["form"].errors[field])
    assert not AppReview.objects.exists()


def test_a_password_is_never_shown_and_asked_for_again_when_nothing_was_saved(
    as_developer: Browser, app: Client
) -> None:
    for step in ("save", "send", "preview"):
        page = post(as_developer, app, step, **OF_REVIEW | {"demo_url": "http://example.com/"})
        assert "Enter the password again" in " ".join(page.context["form"].errors["test_password"])
        text = page.content.decode()
        assert "staple" not in text
        assert LOGIN in text
        assert "Zanzibar" in text
    page = post(as_developer, app, "send", **FORM | {"home_page_url": ""})
    assert "Enter the password again" not in page.content.decode(), "it is saved"
    assert stored()


def test_the_page_shows_it_after_a_press_alone(in_review: AppReview, as_reviewer: Browser) -> None:
    page = as_reviewer.get(f"/admin/review/appreview/{in_review.pk}/change/").content.decode()
    assert f'action="{account_page_of(in_review)}"' in page
    before = as_reviewer.get(account_page_of(in_review))
    assert before.status_code == 200
    assert LOGIN not in before.content.decode()
    assert looks() == []
    shown = as_reviewer.post(account_page_of(in_review))
    assert shown.status_code == 200
    assert LOGIN in shown.content.decode()
    assert "correct staple &#x27;n&#x27; &lt;b&gt;" in shown.content.decode()
    assert "no-store" in shown["Cache-Control"]
    assert len(looks()) == 1


def test_the_page_refuses_other_reviewers(in_review: AppReview, browser_of: Callable[[Account], Browser]) -> None:
    other = browser_of(make_reviewer())
    for answer in (other.post(account_page_of(in_review)), other.post(account_page_of(in_review), follow=True)):
        assert LOGIN not in answer.content.decode()
    assert "Only the assignee can see" in answer.content.decode()
    assert account_page_of(in_review) not in answer.content.decode(), "no button"
    assert looks() == []


def test_an_unreadable_test_account_shows_a_message(in_review: AppReview, as_reviewer: Browser, settings: Any) -> None:
    settings.KEY_ENCRYPTION_KEY = "another key, with which nothing was ever encrypted"
    settings.KEY_ENCRYPTION_KEY_FALLBACKS = []
    page = as_reviewer.post(account_page_of(in_review), follow=True).content.decode()
    assert "Ask the developers to enter it again" in page.replace("&#x27;", "'")
    assert looks() == []
