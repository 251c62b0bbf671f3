"""The page of one review: one difference, what may be read of notes and drafts, the checklist, and what it costs."""

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from accounts.models import Account, Outbox
from core import clock
from devportal.console.models import AuditEvent
from devportal.review.decisions import notes, reviewer_actions
from devportal.review.evidence.facts import Result
from devportal.review.models import AppReview, CannedReply, InternalNote, ReviewEntry, ReviewRevision
from devportal.review.rules import workflow
from devportal.review.submission import developer_actions
from oidc.models import Client, Project
from oidc.projects import members
from tests.devportal.admin.conftest import make_staff
from tests.devportal.admin.test_review_admin import page, press, text_of
from tests.devportal.review.reviewing import (
    JUSTIFICATION,
    SCOPE,
    Status,
    approved,
    decide,
    fill,
    fresh,
    mails,
    make_reviewer,
    resent,
    sent,
    ticked,
    ticks,
)
from tests.exports import exported
from tests.factories import make_account, make_client, make_project

QUEUE = "/admin/review/appreview/"
LONGER = "The overview shows which plan you have, what it includes, and when it ends."


def keep(review: AppReview, number: int, snapshot: dict[str, Any], **fields: Any) -> ReviewRevision:
    """Keep what was sent as one revision, whether or not sending it did."""
    values = {"snapshot": snapshot, "sent_at": clock.now(), **fields}
    return ReviewRevision.objects.update_or_create(review=review, number=number, defaults=values)[0]


def row(text: str, label: str) -> str:
    """Return the HTML of a row of the difference."""
    found = re.search(rf'<th scope="row">{re.escape(label)}</th>(.*?)</tr>', text, re.S)
    assert found is not None, label
    return found[1]


def plain(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", html)).strip()


def at_note(review: AppReview) -> str:
    return f"{QUEUE}{review.pk}/do/note/"


@pytest.fixture
def review(app: Client, developer: Account) -> AppReview:
    """A submission that waits."""
    return sent(app, developer)


@pytest.fixture
def resubmitted(app: Client, developer: Account, reviewer: Account) -> AppReview:
    """A change of an approved app that was sent twice: first another name, then other words as well."""
    approved(app, developer, reviewer)
    fill(app, developer, name="Comet Notes")
    first = developer_actions.submit(app, developer)
    keep(first, 1, first.snapshot)
    decide(first, reviewer, Status.CHANGES_REQUESTED)
    developer_actions.save_submission(app, developer, {}, scopes={SCOPE: LONGER})
    return reviewer_actions.start(resent(app, developer), reviewer)


# --- One difference ---


def test_a_first_review_says_what_is_requested_and_offers_no_choice(as_reviewer: Browser, review: AppReview) -> None:
    for query in ("", "?against=approved", "?against=revision", "?against=%F0%9F%8D%8B"):
        text = text_of(as_reviewer, page(review) + query)
        assert "What is requested: nothing was approved before" in text
        assert "against=" not in text
        assert plain(row(text, "Name")) == "Orbit Notes"
        assert plain(row(text, f"Why {SCOPE}")) == JUSTIFICATION


def test_a_change_is_compared_with_either_by_choice(as_reviewer: Browser, resubmitted: AppReview) -> None:
    text = text_of(as_reviewer, page(resubmitted))
    assert "What changed since the last approval" in text
    assert "Earlier reviews" in text
    assert f'href="{page(resubmitted.client.reviews.get(number=1))}"' in text
    assert '<th scope="row">Privacy policy</th>' not in text
    assert plain(row(text, "Name")) == "Orbit Notes Comet Notes"
    assert f"Why {SCOPE}" in text
    text = text_of(as_reviewer, page(resubmitted) + "?against=revision")
    assert "What changed since the last revision" in text
    assert '<th scope="row">Name</th>' not in text, "it was the same in the last revision"
    assert re.findall(r'href="\?against=(\w+)#changed"( aria-current="page")?', text) == [
        ("approved", ""),
        ("revision", ' aria-current="page"'),
    ]


def test_a_first_review_that_was_sent_again_is_compared_with_its_last_revision(
    as_reviewer: Browser, app: Client, developer: Account, reviewer: Account, review: AppReview
) -> None:
    keep(review, 1, review.snapshot)
    decide(review, reviewer, Status.CHANGES_REQUESTED)
    developer_actions.save_submission(app, developer, {"support_address": "desk@example.com"})
    again = resent(app, developer)
    text = text_of(as_reviewer, page(again) + "?against=approved")
    assert "What changed since the last revision" in text
    assert "against=" not in text, "nothing was approved, so there is one comparison alone"
    assert plain(row(text, "Support email address")) == "help@example.com desk@example.com"
    assert '<th scope="row">Name</th>' not in text


def without_live_values(text: str) -> str:
    """Return a page without what people see of the app today: edits of an app that is not reviewed count at once."""
    return re.sub(r'<section class="sheet" aria-labelledby="(consent|live)">.*?</section>', "", text, flags=re.S)


def test_links_lead_to_what_was_sent_while_developers_draft_something_else(
    as_reviewer: Browser, app: Client, developer: Account, reviewer: Account, review: AppReview
) -> None:
    decide(review, reviewer, Status.CHANGES_REQUESTED)
    developer_actions.save_submission(app, developer, {"home_page_url": "https://example.com/unsent"})
    leave = f"{QUEUE}{review.pk}/leave/?to="
    assert as_reviewer.get(f"{leave}https://example.com/").status_code == 200
    assert as_reviewer.get(f"{leave}https://example.com/unsent").status_code == 404
    assert "https://example.com/unsent" not in without_live_values(text_of(as_reviewer, page(review)))


def test_logos_of_both_sides_are_shown_to_reviewers(as_reviewer: Browser, resubmitted: AppReview) -> None:
    names = {side: default_storage.save(f"logos/{side}.webp", ContentFile(side.encode())) for side in ("old", "new")}
    keep(resubmitted, 1, resubmitted.snapshot | {"logo": names["old"]})
    AppReview.objects.filter(pk=resubmitted.pk).update(snapshot=resubmitted.snapshot | {"logo": names["new"]})
    text = text_of(as_reviewer, page(resubmitted) + "?against=revision")
    base = f"{QUEUE}{resubmitted.pk}/logo"
    for which, side in (("previous", "old"), ("asked", "new")):
        assert f"{base}/{which}/" in row(text, "Logo")
        response = as_reviewer.get(f"{base}/{which}/")
        assert (b"".join(response), response["Content-Type"]) == (side.encode(), "image/webp")
    for none in ("before", "current"):
        assert as_reviewer.get(f"{base}/{none}/").status_code == 404


# --- The whole page ---


def test_the_consent_page_stands_inline_before_and_after(
    as_reviewer: Browser, resubmitted: AppReview, reviewer: Account
) -> None:
    text = text_of(as_reviewer, page(resubmitted))
    found = re.search(r'<template shadowrootmode="open">(.*?)</template>', text, re.S)
    assert found is not None
    shown = found[1]
    assert "Orbit Notes asks for access" in shown
    assert "Comet Notes asks for access" in shown
    assert reviewer.email in shown
    assert not re.search(r"<(form|button|input|script|style)\b| style=", shown)
    reviewer_actions.reject(resubmitted, reviewer, revision=2, reasons=["logo_unclear"])
    assert "shadowrootmode" not in text_of(as_reviewer, page(resubmitted)), "of what is decided there is no after"


HOSTILE = '<script>alert(1)</script>"onmouseover="x \u202egnp.exe\u202c {{ settings.SECRET_KEY }} \u200bend of it'


def test_hostile_texts_are_escaped_and_stay_visible(
    as_reviewer: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    approved(app, developer, reviewer)
    fill(app, developer, terms_url="")
    late = developer_actions.submit(app, developer, HOSTILE)
    # As from before such names were refused.
    late.snapshot |= {"name": "Or\u202ebit", "scopes": {SCOPE: HOSTILE}, "places": {SCOPE: HOSTILE}}
    late.save()
    keep(late, 1, late.snapshot, answers={"logo_unclear": HOSTILE})
    notes.write_note(late, reviewer, HOSTILE)
    late = reviewer_actions.start(late, reviewer)
    for url in (page(late), page(late) + "?against=revision", f"{QUEUE}{late.pk}/do/approve/"):
        text = as_reviewer.get(url).content.decode()
        for raw in ("<script>alert", '"onmouseover'):
            assert raw not in text, url
    text = as_reviewer.get(page(late)).content.decode()
    assert "[U+202E]gnp.exe[U+202C]" in text
    assert "[U+200B]" in text
    assert "Or[U+202E]bit" in text
    assert "{{ settings.SECRET_KEY }}" in text


def test_the_history_of_the_owners_is_there(
    as_reviewer: Browser, review: AppReview, owner: Account, reviewer: Account, project: Project
) -> None:
    other = make_project(owner, name="Side business")
    make_client(other, name="Lottery <b>")
    make_client(project, name="Sibling")
    make_client(make_project(make_account(), name="Strangers"), name="Not theirs")
    reviewer_actions.suspend_project(other, reviewer, reasons=["harmful"], text="It took <money>.")
    text = as_reviewer.get(page(review)).content.decode()
    history = text[text.index('id="history"') : text.index('id="notes"')]
    assert "Lottery &lt;b&gt;" in history
    assert "Side business" in history
    assert "project suspended" in history
    assert "It took &lt;money&gt;." in history
    assert "Sibling" in history
    assert "Not theirs" not in text


def statements(browser: Browser, review: AppReview) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert browser.get(page(review)).status_code == 200
    return len(captured)


def test_the_page_costs_the_same_however_long_the_history_is(
    as_reviewer: Browser, resubmitted: AppReview, owner: Account, reviewer: Account, project: Project
) -> None:
    notes.write_note(resubmitted, reviewer, "One note.")
    make_client(project, name="One sibling")
    make_client(make_project(owner, name="Another"), name="Another app")
    statements(as_reviewer, resubmitted)
    before = statements(as_reviewer, resubmitted)
    for number in range(30):
        more = make_project(owner, name=f"More {number}")
        make_client(more, name=f"App {number}")
        for kind in ("suspended", "suspension_lifted", "comment"):
            ReviewEntry.objects.create(
                project=project, client=resubmitted.client, review=resubmitted, at=clock.now(), author=make_account(),
                side="reviewer", kind=kind, text=f"Entry {number}",
            )  # fmt: skip
        earlier = AppReview(client=resubmitted.client, number=100 + number, status="rejected", created_at=clock.now())
        earlier.decided_by = make_account()
        earlier.save()
        notes.write_note(resubmitted, reviewer, f"Note {number}")
    assert statements(as_reviewer, resubmitted) == before
    assert before <= 50
    text = text_of(as_reviewer, page(resubmitted))
    assert "There are more. These are the newest 20." in text


# --- Scopes ---


def state_of_scope(browser: Browser, review: AppReview) -> str:
    text = text_of(browser, page(review))
    scopes = text[text.index('id="scopes"') : text.index('<section class="sheet review-decide"')]
    return plain(scopes).partition("gear. ")[2]


def test_the_page_says_about_a_scope_only_what_is_true(
    as_reviewer: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    colleague = make_reviewer()
    assert state_of_scope(as_reviewer, sent(app, developer)) == "Not approved."
    first = decide(app.reviews.get(), colleague, Status.APPROVED)
    assert state_of_scope(as_reviewer, first) == "Approved in this review."
    fill(app, developer, name="Comet Notes")
    change = developer_actions.submit(fresh(app), developer)
    assert state_of_scope(as_reviewer, change) == "Approved now."
    Client.objects.filter(pk=app.pk).update(kept_scopes=SCOPE)
    assert state_of_scope(as_reviewer, change).startswith("No review has approved it.")
    reviewer_actions.withdraw_approval(app, colleague, scopes=[SCOPE], reasons=["harmful"])
    assert state_of_scope(as_reviewer, change).startswith("The approval was withdrawn on ")
    assert state_of_scope(as_reviewer, first).startswith("Approved in this review. The approval was withdrawn on ")
    decide(change, colleague, Status.REJECTED)
    assert state_of_scope(as_reviewer, change).startswith("Refused in this review. The approval was withdrawn on ")


# --- Internal notes ---


def test_reviewers_write_notes_for_each_other(
    as_reviewer: Browser, reviewer: Account, review: AppReview, browser_of: Callable[[Account], Browser]
) -> None:
    text = press(as_reviewer, review, "note", note="Their <b>support</b> answers.\r\nSlowly.")
    assert "Your note is kept" in text
    colleague = browser_of(make_staff("rob@example.com", "reviewer"))
    shown = colleague.get(page(review)).content.decode()
    assert "Their &lt;b&gt;support&lt;/b&gt; answers.<br>Slowly." in shown
    assert reviewer.email in shown
    event = AuditEvent.objects.get(action="review.note_written")
    assert (event.actor, event.project, event.details) == (reviewer, "", {"review": review.number})


def test_notes_can_be_written_on_decided_reviews(as_reviewer: Browser, reviewer: Account, review: AppReview) -> None:
    decide(review, reviewer, Status.APPROVED)
    press(as_reviewer, review, "note", note="Look at it again in spring.")
    assert "Look at it again in spring." in text_of(as_reviewer, page(review))


@pytest.mark.parametrize("note", ["", "  \r\n ", "x" * 4001, "a\x00b"])
def test_an_invalid_note_is_rejected_and_keeps_the_text(as_reviewer: Browser, review: AppReview, note: str) -> None:
    response = as_reviewer.post(at_note(review), {"note": note})
    assert response.status_code == 200
    assert "error" in response.content.decode()
    if note.startswith("x"):
        assert note in response.content.decode()
    assert not InternalNote.objects.exists()


def test_developers_never_read_notes(
    as_owner: Browser, as_developer: Browser, as_viewer: Browser, review: AppReview, reviewer: Account, project: Project
) -> None:
    Outbox.objects.all().delete()
    notes.write_note(review, reviewer, "Zanzibar")
    base = f"/console/p/{project.public_id}"
    for browser in (as_owner, as_developer, as_viewer):
        for url in (f"{base}/clients/{review.client.client_id}/review", f"{base}/team/activity", base):
            text = browser.get(url).content.decode()
            assert "Zanzibar" not in text
            assert "note_written" not in text
    assert not Outbox.objects.exists(), "a note is mailed to nobody"
    assert InternalNote.objects.count() == 1


def test_a_reviewer_with_a_conflict_of_interest_neither_reads_nor_writes_notes(
    as_reviewer: Browser, reviewer: Account, review: AppReview, project: Project
) -> None:
    notes.write_note(review, make_staff("rob@example.com", "reviewer"), "Zanzibar")
    assert "Zanzibar" in text_of(as_reviewer, page(review))
    project.members.create(account=reviewer, role="viewer")
    members.leave_project(project, reviewer)
    text = text_of(as_reviewer, page(review))
    assert "Zanzibar" not in text
    assert 'name="note"' not in text
    assert "You are not one of them" in text
    as_reviewer.post(at_note(review), {"note": "Mine"})
    with pytest.raises(workflow.ReviewNotAllowed):
        notes.write_note(review, reviewer, "Mine")
    assert InternalNote.objects.count() == 1
    assert "Zanzibar" not in as_reviewer.get(at_note(review), follow=True).content.decode()


def test_others_write_no_notes_and_drafts_have_none(
    app: Client, developer: Account, reviewer: Account, operator: Account, outsider: Account
) -> None:
    draft = fill(app, developer)
    with pytest.raises(workflow.ReviewNotAllowed):
        notes.write_note(draft, reviewer, "x")
    review = developer_actions.submit(app, developer)
    for person in (operator, outsider):
        with pytest.raises(workflow.ReviewNotAllowed):
            notes.write_note(review, person, "x")


def test_notes_are_in_the_data_export_of_their_author(review: AppReview, reviewer: Account, developer: Account) -> None:
    notes.write_note(review, reviewer, "Zanzibar")
    (mine,) = exported(reviewer)["written_at_the_desk"]
    assert (mine["about"], mine["text"]) == ("Review 1 of Orbit Notes", "Zanzibar")
    assert exported(developer)["written_at_the_desk"] == []
    assert "Zanzibar" not in str(exported(developer))


# --- The checklist ---


def test_an_approval_keeps_what_was_ticked(as_reviewer: Browser, reviewer: Account, review: AppReview) -> None:
    reviewer_actions.start(review, reviewer)
    press(as_reviewer, review, "approve", **{f"scope_{SCOPE}": "approve"})
    assert review.status == Status.APPROVED
    codes = ["signed_in", "home_page", "privacy_policy", "identity", "scopes", "warnings"]
    assert review.checked["codes"] == codes
    assert (review.checked["by"], review.checked["revision"]) == (reviewer.pk, 1)
    assert ReviewEntry.objects.get(kind="approved").details["checked"] == codes
    text = text_of(as_reviewer, page(review))
    assert f"Ticked for the approval by {reviewer.email} (revision 1)" in text
    assert "Each scope that I approve is needed" in text
    Account.objects.filter(pk=reviewer.pk).update(is_superuser=True, is_staff=True)
    AppReview.objects.update(checked=review.checked | {"by": 10**9, "codes": ["of_old"]})
    text = text_of(as_reviewer, page(review))
    assert "Ticked for the approval (revision 1)" in text
    assert "of_old" in text


@pytest.mark.parametrize("code", ["signed_in", "scopes"])
def test_each_item_has_to_be_ticked(as_reviewer: Browser, reviewer: Account, review: AppReview, code: str) -> None:
    review = reviewer_actions.start(review, reviewer)
    form = {"revision": 1, "confirm": "1", f"scope_{SCOPE}": "approve", "text": "Well done"}
    for ticks_sent, said in (
        (ticked(review, without=code), "This list has changed since you opened it."),
        ({"check_app": ticked(review)["check_app"]}, "This field is required"),
        ({"check_request": ticked(review)["check_request"]}, "This field is required"),
    ):
        text = as_reviewer.post(f"{QUEUE}{review.pk}/do/approve/", {**form, **ticks_sent}).content.decode()
        assert said in text
        assert "Well done" in text
    all_but = [other for other in ticks(review) if other != code]
    for checked in (all_but, [], [*all_but, "nonsense"], [*all_but, code, "nonsense"]):
        with pytest.raises(workflow.IncompleteSubmission):
            reviewer_actions.approve(review, reviewer, revision=1, scopes={SCOPE: True}, checked=checked)
    review.refresh_from_db()
    assert (review.status, review.checked) == (Status.IN_REVIEW, None)
    assert not fresh(review.client).is_verified


@pytest.fixture
def warned(monkeypatch: pytest.MonkeyPatch) -> list[SimpleNamespace]:
    """The facts of the evidence, as far as the checklist looks at it: none, until a test adds one."""
    facts: list[SimpleNamespace] = [SimpleNamespace(result=Result.PASS)]
    evidence = SimpleNamespace(facts=facts, gathered=SimpleNamespace(domains=[]))
    for module in ("decisions.checklist", "evidence.collecting"):
        monkeypatch.setattr(f"devportal.review.{module}.collect_evidence", lambda review: evidence)
    return facts


def test_items_apply_where_they_make_sense(
    app: Client, developer: Account, reviewer: Account, review: AppReview, warned: list[SimpleNamespace]
) -> None:
    first = set(ticks(review))
    assert not first & {"asked_before", "warnings"}
    decide(review, reviewer, Status.CHANGES_REQUESTED)
    again = resent(app, developer)
    assert set(ticks(again)) - first == {"asked_before"}
    decide(again, reviewer, Status.REJECTED)
    developer_actions.save_submission(app, developer, {}, scopes={})
    after = developer_actions.submit(app, developer)
    assert set(ticks(after)) == first - {"scopes"} | {"asked_before"}
    warned.append(SimpleNamespace(result=Result.WARN))
    assert "warnings" in ticks(after)
    developer_actions.withdraw(after, developer)
    developer_actions.save_submission(app, developer, {}, scopes={})
    assert "asked_before" in ticks(developer_actions.submit(app, developer)), "to withdraw does not change that"


def test_the_checklist_asks_for_requested_changes_until_the_next_approval(
    app: Client, developer: Account, reviewer: Account, review: AppReview
) -> None:
    decide(review, reviewer, Status.CHANGES_REQUESTED)
    developer_actions.withdraw(AppReview.objects.get(), developer)
    again = developer_actions.submit(app, developer)
    assert "asked_before" in ticks(again)
    decide(again, reviewer, Status.APPROVED)
    developer_actions.save_submission(app, developer, {"name": "Nova Notes"})
    assert "asked_before" not in ticks(developer_actions.submit(app, developer))


def test_a_new_warning_has_to_be_read_before_the_decision(
    as_reviewer: Browser, reviewer: Account, review: AppReview, warned: list[SimpleNamespace]
) -> None:
    form = {"revision": 1, "confirm": "1", f"scope_{SCOPE}": "approve", "text": "Well done", **ticked(review)}
    reviewer_actions.start(review, reviewer)
    warned.append(SimpleNamespace(result=Result.FAIL, code="home_page", title="Home page"))
    text = as_reviewer.post(f"{QUEUE}{review.pk}/do/approve/", form).content.decode()
    assert "I checked each warning of the evidence." in text
    assert "This list has changed since you opened it." in text
    assert not re.search(r'name="check_request"[^>]* checked[ >=]', text)
    assert "Well done" in text
    review.refresh_from_db()
    assert review.status == Status.IN_REVIEW


@pytest.mark.parametrize("measure", ["withdrawn", "suspended"])
def test_an_approval_from_before_another_reviewers_measure_is_rejected(
    as_reviewer: Browser, reviewer: Account, review: AppReview, developer: Account, measure: str
) -> None:
    """Otherwise it would undo what the other reviewer did without having seen it."""
    app, other = review.client, make_reviewer()
    decide(review, reviewer, Status.APPROVED)
    reviewer_actions.withdraw_approval(fresh(app), other, reasons=["unsafe"])  # so that the evidence fails anyway
    decide(sent(app, developer), reviewer, Status.APPROVED)
    developer_actions.save_submission(app, developer, {"name": "Nova Notes"})
    again = reviewer_actions.start(developer_actions.submit(app, developer), reviewer)
    shown = re.search(r'name="measure" value="([0-9]+)"', text_of(as_reviewer, page(again)))
    form = {"revision": 1, "confirm": "1", f"scope_{SCOPE}": "approve", "despite": "It is settled.", **ticked(again)}
    form |= {"measure": shown[1] if shown else ""}
    if measure == "withdrawn":
        reviewer_actions.withdraw_approval(fresh(app), other, reasons=["misuse_of_data"])
    else:
        reviewer_actions.suspend_project(app.project, other, reasons=["misuse_of_data"])
    said = as_reviewer.post(f"{QUEUE}{again.pk}/do/approve/", form, follow=True).content.decode()
    assert AppReview.objects.get(pk=again.pk).status == Status.IN_REVIEW
    assert fresh(app).name == "Orbit Notes"
    assert "An approval was withdrawn or the project suspended after you opened this page." in said


def test_an_approval_refused_for_a_measure_can_be_sent_once_the_reviewer_has_read_of_it(
    as_reviewer: Browser, reviewer: Account, app: Client, developer: Account
) -> None:
    approved(app, developer, reviewer)
    developer_actions.save_submission(app, developer, {"name": "Nova Notes"})
    again = reviewer_actions.start(developer_actions.submit(app, developer), reviewer)
    do, form = f"{QUEUE}{again.pk}/do/approve/", {"revision": 1, "confirm": "1", f"scope_{SCOPE}": "approve"}
    form |= ticked(again)
    reviewer_actions.withdraw_approval(fresh(app), make_reviewer(), reasons=["unsafe"])
    said = as_reviewer.post(do, form).content.decode()
    assert "An approval was withdrawn" in said
    form |= dict(re.findall(r'name="(measure|failing|domains)" value="([^"]*)"', said))
    as_reviewer.post(do, {**form, "despite": "What was unsafe is fixed."})
    assert fresh(app).name == "Nova Notes"


def test_a_measure_against_another_app_of_the_project_counts_as_well(
    as_reviewer: Browser, reviewer: Account, review: AppReview, app: Client, developer: Account
) -> None:
    """As in the evidence, and as for a first approval, which the measure ends."""
    started, sibling = reviewer_actions.start(review, reviewer), make_client(app.project, name="Comet Plans")
    approved(sibling, developer, reviewer)
    reviewer_actions.withdraw_approval(fresh(sibling), make_reviewer(), reasons=["unsafe"])  # the evidence fails anyway
    form = {"revision": 1, "confirm": "1", f"scope_{SCOPE}": "approve", "despite": "It is settled.", **ticked(started)}
    approved(sibling, developer, reviewer)
    reviewer_actions.withdraw_approval(fresh(sibling), make_reviewer(), reasons=["misuse_of_data"])
    as_reviewer.post(f"{QUEUE}{started.pk}/do/approve/", form)
    assert not fresh(app).is_verified


def test_reviewers_who_write_or_assign_after_a_request_for_changes_read_no_draft(
    as_reviewer: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    approved(app, developer, reviewer)
    developer_actions.save_submission(app, developer, {"name": "Nova Notes"})
    review = decide(developer_actions.submit(app, developer), reviewer, Status.CHANGES_REQUESTED)
    developer_actions.save_submission(app, developer, {"name": "Quiet Plans"})
    other = make_reviewer()
    form = {"text": "Which page?", "begin_with": CannedReply.objects.create(title="Hello", text="About {app}:").pk}
    preview = as_reviewer.post(f"{QUEUE}{review.pk}/do/answer/", form).content.decode()
    assert "About Orbit Notes:" in preview
    assert "Quiet Plans" not in preview
    reviewer_actions.assign(review, reviewer, other)
    assert "Quiet Plans" not in str([mail for mail in mails() if mail[0] == other.email])
    assert not AuditEvent.objects.filter(action="review.assigned", details__name="Quiet Plans").exists()


def test_drafts_after_requested_changes_are_not_shown(
    as_reviewer: Browser, app: Client, developer: Account, reviewer: Account, review: AppReview
) -> None:
    keep(review, 1, review.snapshot)
    decide(review, reviewer, Status.CHANGES_REQUESTED)
    developer_actions.save_submission(
        app, developer, {"support_address": "unsent@example.com"}, scopes={SCOPE: "Half a thought"}
    )
    text = text_of(as_reviewer, page(review))
    assert "Half a thought" not in text
    assert JUSTIFICATION in text
    assert "unsent@example.com" not in without_live_values(text)
