"""Sending an app for review: what is missing is marked, nothing typed is lost, and points are answered."""

import re
from html import unescape
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client as Browser

from accounts.models import Account
from devportal.console.models import AuditEvent
from devportal.review.decisions import reviewer_actions
from devportal.review.models import AppReview, ReviewEntry, ReviewRevision
from devportal.review.rules import timeline
from devportal.review.rules.timeline import NOTE
from devportal.review.rules.workflow import IncompleteSubmission
from devportal.review.submission import developer_actions
from devportal.review.submission.differences import field_changes
from devportal.review.submission.for_reviewers import ForReviewers
from oidc.models import Client
from tests.devportal.review.reviewing import (
    ASKED,
    BRANDING,
    DEMO,
    PLACE,
    SCOPE,
    Status,
    approved,
    branding_of,
    decide,
    fill,
    fresh,
    path_of,
    post,
    resent,
    sent,
)
from tests.exports import exported

pytestmark = pytest.mark.django_db
FORM = BRANDING | ASKED | {"note": "Press Plan."}


def summary_of(page: Any) -> dict[str, str]:
    """Return the links of the summary on top: what is said, by where it leads."""
    text = page.content.decode()
    found = re.search(r'<section class="alert alert--error[^>]*>(.*?)</section>', text, re.DOTALL)
    assert found, "no summary"
    assert page.content.decode().count("Error: ") == 1, "once, in the title"
    return {href: unescape(said) for href, said in re.findall(r'<a href="([^"]+)">(.*?)</a>', found[1], re.DOTALL)}


def marks_of(page: Any) -> dict[str, str]:
    return {field: " ".join(errors) for field, errors in page.context["form"].errors.items()}


# --- What blocks ---


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("why_account_read", "", "At least 20 characters"),
        ("why_account_read", "For the plan.", "Say more: at least 20 characters"),
        ("place_account_read", "", "The page or the feature"),
        ("demo_url", "", "what account.read is used for"),
    ],
)
def test_missing_values_are_marked_and_listed(
    field: str, value: str, said: str, as_developer: Browser, app: Client
) -> None:
    page = post(as_developer, app, "send", **FORM | {field: value})
    assert page.status_code == 200
    assert said in marks_of(page)[field]
    assert set(marks_of(page)) == {field}, "nothing else is wrong"
    assert said in summary_of(page)[f"#id_{field}"]
    text = page.content.decode()
    control = re.search(rf'<(?:input|textarea)[^>]*name="{field}"[^>]*>', text)
    assert control
    assert f'id="id_{field}"' in control[0], "where the link leads"
    assert 'aria-invalid="true"' in control[0]
    described = re.search(r'aria-describedby="([^"]+)"', control[0])
    assert described
    assert f"id_{field}_error" in described[1].split()
    assert f'id="id_{field}_error"' in text
    assert "saved as a draft, but not submitted" in text
    assert "autofocus" in text
    review = AppReview.objects.get()
    assert (review.status, review.revision) == (Status.DRAFT, 0)
    assert not ReviewEntry.objects.exists()
    assert not ReviewRevision.objects.exists()
    assert post(as_developer, app, "send", **FORM).status_code == 302
    assert AppReview.objects.get().status == Status.SUBMITTED


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("home_page_url", "Its domain is shown once the app is reviewed"),
        ("privacy_policy_url", "what happens to the data that it reads"),
        ("support_address", "People and reviewers write to it"),
    ],
)
def test_missing_branding_leads_to_its_page(field: str, said: str, as_developer: Browser, app: Client) -> None:
    page = post(as_developer, app, "send", **FORM | {field: ""})
    assert said in summary_of(page)[f"{branding_of(app)}#id_{field}"]
    assert f'id="id_{field}"' in as_developer.get(branding_of(app)).content.decode()
    assert marks_of(page) == {}
    assert AppReview.objects.get().status == Status.DRAFT


@pytest.mark.parametrize("field", ["home_page_url", "privacy_policy_url", "terms_url"])
def test_pages_on_a_domain_that_is_not_proven_are_missing(field: str, as_developer: Browser, app: Client) -> None:
    page = post(as_developer, app, "send", **FORM | {field: "https://elsewhere.test/"})
    assert any("Prove elsewhere.test" in said for said in summary_of(page).values())
    assert AppReview.objects.get().status == Status.DRAFT


def test_a_support_address_that_may_look_like_another_is_rejected(app: Client, developer: Account) -> None:
    # A Cyrillic letter, a fullwidth letter, an invisible hyphen, a long s, and an umlaut.
    for name in ("help@ex\u0430mple", "help@\uff45xample", "help@exam\u00adple", "\u017fupport@a", "help@b\u00fccher"):
        with pytest.raises(ValidationError):
            developer_actions.save_submission(app, developer, {"support_address": f"{name}.com"})
    developer_actions.save_submission(app, developer, {"support_address": "help@xn--bcher-kva.example"})


@pytest.mark.parametrize(
    ("change", "page", "said"),
    [
        ({"redirect_uris": ""}, "/clients/{client}/", "A redirect URL"),
        ({"enabled": False}, "/clients/{client}/", "The app is turned on"),
        ({"redirect_uris": "https://elsewhere.test/cb"}, "", "Prove elsewhere.test"),
    ],
)
def test_problems_of_other_pages_have_links(
    change: dict[str, Any], page: str, said: str, as_developer: Browser, app: Client
) -> None:
    Client.objects.filter(pk=app.pk).update(**change)
    answer = post(as_developer, app, "send", **FORM)
    (line,) = [(href, text) for href, text in summary_of(answer).items() if said in text]
    assert line[0].endswith(page.format(client=app.client_id))
    assert marks_of(answer) == {}
    assert AppReview.objects.get().status == Status.DRAFT


def test_all_missing_values_are_listed_in_page_order(as_developer: Browser, app: Client) -> None:
    page = post(as_developer, app, "send", name="Orbit Two", ask_account_read="on")
    assert list(summary_of(page)) == [
        "#id_demo_url",
        "#id_why_account_read",
        "#id_place_account_read",
        *(f"{branding_of(app)}#id_{field}" for field in ("home_page_url", "privacy_policy_url", "support_address")),
    ]
    text = page.content.decode()
    assert text.index('id="errors"') < text.index('id="state"')


def test_invalid_and_missing_values_are_listed_together(as_developer: Browser, app: Client) -> None:
    form = ASKED | {"demo_url": "http://video.example.net/", "why_account_read": ""}
    page = post(as_developer, app, "send", **form)
    assert "Use https" in marks_of(page)["demo_url"]
    assert "Required" not in marks_of(page)["demo_url"], "one mark a field"
    assert "Required to submit" in marks_of(page)["why_account_read"]
    assert "Nothing is saved or submitted yet" in page.content.decode()
    assert not AppReview.objects.exists()
    text = unescape(page.content.decode())
    for value in form.values():
        assert value in text or value in ("on", "")


def test_saving_a_draft_requires_nothing(as_developer: Browser, app: Client) -> None:
    assert post(as_developer, app, "save", name="Orbit Two").status_code == 302
    page = as_developer.get(path_of(app))
    assert "alert--error" not in page.content.decode()
    assert marks_of(page) == {}


def test_a_failed_submission_keeps_the_input(as_developer: Browser, app: Client) -> None:
    for step in ("send", "save"):
        post(as_developer, app, step, **FORM | {"home_page_url": ""})
        pages = [as_developer.get(path).content.decode() for path in (path_of(app), branding_of(app))]
        text = unescape("".join(pages))
        for field, value in FORM.items():
            assert value in text or field == "home_page_url" or value == "on", field
    assert post(as_developer, app, "send", **FORM | {"note": "Press Plan, then Back."}).status_code == 302
    assert ReviewEntry.objects.get().text == "Press Plan, then Back."
    assert "unsent" not in AppReview.objects.get().snapshot
    assert not any("Press Plan" in str([row.before, row.after, row.details]) for row in AuditEvent.objects.all())


def test_without_a_scope_a_demo_is_advice(as_developer: Browser, app: Client) -> None:
    assert post(as_developer, app, "send", **BRANDING).status_code == 302
    review = AppReview.objects.get()
    assert (review.status, review.snapshot["places"], review.snapshot["demo_url"]) == (Status.SUBMITTED, {}, "")


def test_control_characters_are_taken_out(as_developer: Browser, app: Client) -> None:
    post(as_developer, app, "send", **FORM | {"place_account_read": "The\x07 page\x1b[31m called Plan"})
    assert AppReview.objects.get().snapshot["places"] == {SCOPE: "The page[31m called Plan"}


def test_the_checklist_leads_to_the_field_or_the_page(as_developer: Browser, as_viewer: Browser, app: Client) -> None:
    text = as_developer.get(path_of(app)).content.decode()
    beside = text[text.index('id="checklist"') : text.index("</section>", text.index('id="checklist"'))]
    for target in (f"{branding_of(app)}#id_home_page_url", "#id_demo_url", "#id_logo", "quick-start"):
        assert target in beside
    for target in re.findall(r'href="#([^"]+)"', beside):
        assert f'id="{target}"' in text
    assert '<span class="visually-hidden">: missing</span>' in beside, "not by colour alone"
    assert "Missing: " in text
    assert beside.index("A privacy policy") < beside.index("(advice)") < beside.index("<summary>Done")
    theirs = as_viewer.get(path_of(app)).content.decode()
    assert "#id_home_page_url" not in theirs, "viewers have no form"


def test_the_checklist_follows_what_is_typed(as_developer: Browser, app: Client) -> None:
    page = post(as_developer, app, "preview", **ASKED)
    missing = {item.code for item, _ in page.context["missing"]}
    assert missing == {"home_page", "privacy_policy", "support_address"}
    assert {item.code for item, _ in page.context["advice"]} == {"logo", "terms", "signed_in", "own_domain"}
    assert not AppReview.objects.exists()


# --- What the next one begins with ---


def test_a_change_of_what_only_reviewers_read_is_shown_and_nothing_new(
    app: Client, developer: Account, reviewer: Account
) -> None:
    approved(app, developer, reviewer)
    other = ForReviewers(places={SCOPE: "The second page."}, demo_url="https://example.com/demo")
    developer_actions.save_submission(app, developer, {}, for_reviewers=other)
    with pytest.raises(IncompleteSubmission, match="something to review"):
        developer_actions.submit(app, developer)
    developer_actions.save_submission(app, developer, {"name": "Nova Notes"})
    change = developer_actions.submit(app, developer)
    changes = [each.label for each in field_changes(change.baseline, change.snapshot)]
    assert changes == ["Name", f"Where {SCOPE} is used", "Demo"]
    decide(change, reviewer, Status.APPROVED)
    row = fresh(app)
    assert "video" not in str(vars(row))
    assert "second page" not in str(vars(row)), "people see nothing of it"


@pytest.mark.parametrize(("verified", "end"), [(False, Status.REJECTED), (True, Status.WITHDRAWN)])
def test_the_next_draft_begins_with_all_that_was_written(
    end: str, verified: bool, app: Client, developer: Account, reviewer: Account
) -> None:
    if verified:
        approved(app, developer, reviewer)
    fill(app, developer, name="Nova Notes")
    review = developer_actions.submit(app, developer)
    if end == Status.WITHDRAWN:
        developer_actions.withdraw(review, developer)
    else:
        decide(review, reviewer, end)
    draft = developer_actions.draft_of(app, developer)
    assert draft.number == (3 if verified else 2)
    assert (draft.snapshot["places"], draft.snapshot["demo_url"]) == ({SCOPE: PLACE}, DEMO)


def test_a_scope_that_is_not_asked_for_leaves_no_place(app: Client, developer: Account) -> None:
    fill(app, developer)
    developer_actions.save_submission(app, developer, {}, scopes={})
    assert AppReview.objects.get().snapshot["places"] == {}


# --- Point by point ---

ANSWERS = {"answer_justification_vague": "It names the page.", "answer_note": "The page called Plan."}


def _sent_back(app: Client, developer: Account, reviewer: Account) -> AppReview:
    return decide(sent(app, developer), reviewer, Status.CHANGES_REQUESTED)


def test_each_point_is_shown_with_a_field_and_has_to_be_answered(
    as_developer: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    review = _sent_back(app, developer, reviewer)
    form = as_developer.get(path_of(app)).content.decode()
    part = form[form.index('id="points"') :]
    assert "A justification does not say enough" in part
    assert "Which page is it?" in part
    for missing in ANSWERS:
        page = post(as_developer, app, "send", **FORM | ANSWERS | {missing: " \n "})
        assert set(marks_of(page)) == {missing}
        assert f"#id_{missing}" in summary_of(page)
        (kept,) = set(ANSWERS) - {missing}
        assert ANSWERS[kept] in page.content.decode(), "what was answered stays"
        review.refresh_from_db()
        assert review.status == Status.CHANGES_REQUESTED
    assert post(as_developer, app, "send", **FORM | ANSWERS).status_code == 302
    review.refresh_from_db()
    assert (review.status, review.revision) == (Status.SUBMITTED, 2)


def test_answers_are_kept_with_the_revision_and_shown_to_both_sides(
    as_developer: Browser, as_reviewer: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    review = _sent_back(app, developer, reviewer)
    post(as_developer, app, "send", **FORM | ANSWERS | {"answer_logo_unclear": "Not asked."})
    given = {"justification_vague": "It names the page.", NOTE: "The page called Plan."}
    first, second = ReviewRevision.objects.order_by("number")
    assert (first.number, first.answers, first.sent_by) == (1, {}, developer)
    assert (second.number, second.answers, second.sent_by) == (2, given, developer)
    assert second.snapshot == AppReview.objects.get().snapshot
    entry = ReviewEntry.objects.get(kind=ReviewEntry.Kind.RESUBMITTED)
    assert entry.details["answers"] == given
    in_the_admin = f"/admin/review/appreview/{review.pk}/change/"
    for browser, path in ((as_developer, path_of(app)), (as_reviewer, in_the_admin)):
        page = unescape(browser.get(path).content.decode())
        assert "It names the page." in page
        assert "The page called Plan." in page
        assert "The reviewer’s note" in page
    assert [row["answers"] for row in exported(developer)["written_in_reviews"]] == [given]
    assert not any("names the page" in str(vars(row)) for row in AuditEvent.objects.all())


def test_a_submission_always_needs_answers(app: Client, developer: Account, reviewer: Account) -> None:
    _sent_back(app, developer, reviewer)
    for answers in (None, {}, {"justification_vague": "Done."}, {"justification_vague": "Done.", NOTE: " \x00 "}):
        with pytest.raises(IncompleteSubmission, match="an answer to"):
            developer_actions.resubmit(app, developer, "Here.", answers)
    assert resent(app, developer).status == Status.SUBMITTED


def test_answers_wait_with_the_draft_and_end_with_it(
    as_developer: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    review = _sent_back(app, developer, reviewer)
    post(as_developer, app, "save", **FORM | ANSWERS)
    assert ANSWERS["answer_note"] in as_developer.get(path_of(app)).content.decode()
    developer_actions.withdraw(AppReview.objects.get(), developer)
    draft = developer_actions.draft_of(app, developer)
    assert draft.pk != review.pk
    assert "unsent" not in draft.snapshot
    assert 'id="points"' not in as_developer.get(path_of(app)).content.decode()


def test_a_reason_that_left_the_catalogue_asks_for_nothing(
    as_developer: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    _sent_back(app, developer, reviewer)
    AppReview.objects.update(reasons=["long_gone", "other"], reason_text="")
    assert as_developer.get(path_of(app)).status_code == 200
    assert developer_actions.resubmit(app, developer).status == Status.SUBMITTED


def test_something_else_is_answered_by_its_note(app: Client, developer: Account, reviewer: Account) -> None:
    review = reviewer_actions.start(sent(app, developer), reviewer)
    review = reviewer_actions.request_changes(review, reviewer, revision=1, reasons=["other"], text="Where is it?")
    assert [(point.code, point.text) for point in timeline.points_of(review)] == [(NOTE, "Where is it?")]


def test_an_answer_that_can_not_be_stored(
    as_developer: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    review = _sent_back(app, developer, reviewer)
    for text, said in (("x" * 4001, "at most 4000"), ("a\x00b", "Null characters")):
        page = post(as_developer, app, "send", **FORM | ANSWERS | {"answer_note": text})
        assert said in marks_of(page)["answer_note"]
    review.refresh_from_db()
    assert review.status == Status.CHANGES_REQUESTED
