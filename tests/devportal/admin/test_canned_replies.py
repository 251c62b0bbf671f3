"""Canned replies: written in the admin, put in front of notes without a script, and nothing typed is lost."""

import html
import re
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from devportal.console.models import AuditEvent
from devportal.review.cases import cases
from devportal.review.decisions import reviewer_actions
from devportal.review.decisions.canned_replies import clean_reply, filled_in, put_in_front
from devportal.review.models import AppReview, CannedReply, ReviewEntry
from devportal.review.rules.workflow import IncompleteSubmission
from oidc.models import Client, Project
from tests.devportal.admin.test_review_admin import press, text_of
from tests.devportal.console.notices.noticing import forget_mails
from tests.devportal.review.reviewing import SCOPE, Status, approved, mails, sent, ticked

REPLIES = "/admin/review/cannedreply/"
DESK = "/admin/review/appreview/"


@pytest.fixture
def review(app: Client, developer: Account, reviewer: Account) -> AppReview:
    return reviewer_actions.start(sent(app, developer), reviewer)


@pytest.fixture
def reply(db: None) -> CannedReply:
    return CannedReply.objects.create(title="Thanks", text="Hello people of {project}, thank you for {app}.")


def note_in(text: str) -> str:
    found = re.search(r"<textarea[^>]*>\s?(.*?)</textarea>", text, re.S)
    assert found is not None
    return html.unescape(found[1]).replace("\r\n", "\n")


@pytest.mark.parametrize("who", ["as_reviewer", "as_operator"])
def test_reviewers_and_operators_can_write_replies(db: None, request: pytest.FixtureRequest, who: str) -> None:
    browser: Browser = request.getfixturevalue(who)
    browser.post(f"{REPLIES}add/", {"title": "Logo", "text": " The logo of {app} is small. \x07"})
    row = CannedReply.objects.get()
    assert (row.title, row.text) == ("Logo", "The logo of {app} is small.")
    browser.post(f"{REPLIES}{row.pk}/change/", {"title": "Logo", "text": "Bigger, please."})
    row.refresh_from_db()
    assert row.text == "Bigger, please."
    assert "Bigger, please." in text_of(browser, REPLIES)
    assert [event.action for event in AuditEvent.objects.filter(target=f"cannedreply:{row.pk}").order_by("pk")] == [
        "admin.added",
        "admin.changed",
    ]
    browser.post(f"{REPLIES}{row.pk}/delete/", {"post": "yes"})
    assert not CannedReply.objects.exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Dear {name}", "Unknown placeholders: {name}. Use only these: {app}, {project}, {service}."),
        ("{APP} and {}", "Unknown placeholders: {}, {APP}."),
        ("{app.owner.password}", "Unknown placeholders: {app.owner.password}."),
        (" \x07 ", "Write the text of the reply."),
        ("x" * 4001, "at most 4000 characters"),
    ],
)
def test_unknown_placeholders_are_rejected_on_save(as_reviewer: Browser, text: str, said: str) -> None:
    response = as_reviewer.post(f"{REPLIES}add/", {"title": "One", "text": text})
    assert said in html.unescape(response.content.decode())
    assert not CannedReply.objects.exists()


def test_placeholder_values_are_not_expanded() -> None:
    assert filled_in("{app} of {project}", {"app": "{project}", "project": "{app}"}) == "{project} of {app}"
    assert filled_in("{gone} {", {}) == "{gone} {"
    assert put_in_front("One.", " \n") == "One."
    assert clean_reply("{service} } {") == "{service} } {"
    with pytest.raises(IncompleteSubmission):
        clean_reply("{ app }")


def test_inserting_a_reply_keeps_the_typed_text(as_reviewer: Browser, review: AppReview, reply: CannedReply) -> None:
    form = {"begin_with": reply.pk, "text": "And more.", "reasons": ["logo_unclear", "other"], "revision": 1}
    response = as_reviewer.post(f"{DESK}{review.pk}/do/reject/", {**form, "edit": "reply"})
    text = response.content.decode()
    assert note_in(text) == f"Hello people of {review.client.project.name}, thank you for Orbit Notes.\n\nAnd more."
    assert re.findall(r'value="(\w+)"[^>]* checked[ >=]', text) == ["logo_unclear", "other"]
    assert "selected" not in re.findall(rf'<option value="{reply.pk}"[^>]*>', text)[0]
    assert "This field is required" not in text
    review.refresh_from_db()
    assert review.status == Status.IN_REVIEW


def test_inserting_a_reply_validates_nothing_else(as_reviewer: Browser, review: AppReview, reply: CannedReply) -> None:
    form = {"begin_with": reply.pk, "edit": "reply", "revision": 1, f"scope_{SCOPE}": "refuse", **ticked(review)}
    del form["check_request"]
    text = as_reviewer.post(f"{DESK}{review.pk}/do/approve/", form).content.decode()
    assert "required field" not in text
    assert "This field is required" not in text
    assert re.search(r'value="refuse"[^>]* checked[ >=]', text)
    assert re.search(r'name="check_app"[^>]* checked[ >=]', text)
    assert not re.search(r'name="check_request"[^>]* checked[ >=]', text)


def test_inserting_a_reply_keeps_the_shown_revision(
    as_reviewer: Browser, review: AppReview, reply: CannedReply
) -> None:
    AppReview.objects.update(revision=2)
    text = as_reviewer.post(
        f"{DESK}{review.pk}/do/reject/", {"begin_with": reply.pk, "edit": "reply", "revision": 1}
    ).content.decode()
    assert re.search(r'name="revision" value="1"', text)


def test_a_reply_that_is_chosen_is_sent_whichever_button_is_pressed(
    as_reviewer: Browser, review: AppReview, reply: CannedReply, developer: Account
) -> None:
    form: dict[str, Any] = {"begin_with": reply.pk, "text": "Bye.", "revision": 1}
    shown = as_reviewer.post(f"{DESK}{review.pk}/do/answer/", form).content.decode()
    assert "thank you for Orbit Notes.\n\nBye." in html.unescape(shown).replace("\r\n", "\n")
    hidden = {
        found["name"]: html.unescape(found.get("value", ""))
        for tag in re.findall(r'<input[^>]*type="hidden"[^>]*>', shown)
        if (found := dict(re.findall(r'(\w+)="([^"]*)"', tag)))["name"] != "csrfmiddlewaretoken"
    }
    reply.text = "Something else meanwhile"
    reply.save()
    forget_mails()
    as_reviewer.post(f"{DESK}{review.pk}/do/answer/", {**hidden, "confirm": "1"})
    entry = ReviewEntry.objects.get(kind="comment")
    assert entry.text.count("thank you for Orbit Notes.") == 1, "as it was shown, and once"
    assert entry.text.endswith("Bye.")
    [body] = [body for to, _, body in mails() if to == developer.email]
    assert "Something else" not in body


@pytest.mark.parametrize("key", ["0", "x", "9" * 40, "-1", "1 OR 1=1", "\u202e"])
def test_unknown_replies_are_rejected(as_reviewer: Browser, review: AppReview, reply: CannedReply, key: str) -> None:
    form = {"begin_with": key, "text": "Mine", "revision": 1}
    for button in ({"edit": "reply"}, {}, {"confirm": "1"}):
        response = as_reviewer.post(f"{DESK}{review.pk}/do/answer/", {**form, **button})
        assert response.status_code == 200
        assert note_in(response.content.decode()) == "Mine"
    assert not ReviewEntry.objects.filter(kind="comment").exists()


def test_a_reply_that_makes_the_note_too_long_shows_an_error(
    as_reviewer: Browser, review: AppReview, reply: CannedReply
) -> None:
    form = {"begin_with": reply.pk, "text": "x" * 3990, "revision": 1, "confirm": "1"}
    text = as_reviewer.post(f"{DESK}{review.pk}/do/answer/", form).content.decode()
    assert "at most 4000 characters" in text
    assert "thank you" in note_in(text)


def test_operators_can_use_replies_for_projects(as_operator: Browser, project: Project, reply: CannedReply) -> None:
    form = {"begin_with": reply.pk, "edit": "reply", "reasons": ["unsafe"]}
    text = as_operator.post(f"/admin/oidc/project/{project.pk}/do/suspend/", form).content.decode()
    assert note_in(text) == f"Hello people of {project.name}, thank you for your apps."


def test_titles_are_escaped(as_reviewer: Browser, review: AppReview) -> None:
    CannedReply.objects.create(title="<img src=x>", text="</textarea><script>alert(1)</script>")
    for url in (REPLIES, f"{DESK}{review.pk}/do/answer/"):
        text = as_reviewer.get(url).content.decode()
        assert "<img src=x" not in text
        assert "<script>alert" not in text
    form = {"begin_with": CannedReply.objects.get().pk, "edit": "reply"}
    assert "<script>alert" not in as_reviewer.post(f"{DESK}{review.pk}/do/answer/", form).content.decode()


NOTES = {
    "answer": "comment",
    "request-changes": "changes_requested",
    "reject": "rejected",
    "approve": "approved",
    "suspend": "suspended",
    "withdraw-approval": "approval_withdrawn",
}


@pytest.mark.parametrize("step", NOTES)
def test_each_form_with_a_note_offers_replies_and_sends_them(
    as_reviewer: Browser, app: Client, developer: Account, reviewer: Account, step: str
) -> None:
    if step == "withdraw-approval":
        row = approved(app, developer, reviewer).reviews.get()
    else:
        row = reviewer_actions.start(sent(app, developer), reviewer)
    assert "begin_with" not in text_of(as_reviewer, f"{DESK}{row.pk}/do/{step}/"), "there is none yet"
    reply = CannedReply.objects.create(title="Thanks", text="Thank you for {app}.")
    assert "Insert the reply" in text_of(as_reviewer, f"{DESK}{row.pk}/do/{step}/")
    form: dict[str, Any] = (
        {f"scope_{SCOPE}": "approve"} if step == "approve" else {"reasons": ["other"], "what": [SCOPE]}
    )
    press(as_reviewer, row, step, begin_with=reply.pk, text="This.", **form)
    assert ReviewEntry.objects.get(kind=NOTES[step]).text.endswith("Thank you for Orbit Notes.\n\nThis.")


@pytest.mark.parametrize("whole_project", [False, True])
@pytest.mark.parametrize("action", ["ask", "close", "suspend"])
def test_texts_about_a_case_can_use_a_reply(
    reply: CannedReply, app: Client, as_reviewer: Browser, action: str, whole_project: bool
) -> None:
    case = cases.open_case("report", app.project, None if whole_project else app)
    form = {"begin_with": str(reply.pk), "edit": "reply", "text": "And more."}
    response = as_reviewer.post(f"/admin/review/reviewcase/{case.pk}/do/{action}/", form)
    name = "your apps" if whole_project else app.name
    expected = f"Hello people of {app.project.name}, thank you for {name}.\n\nAnd more."
    assert note_in(response.content.decode()) == expected


def test_internal_notes_offer_no_replies(reply: CannedReply, app: Client, as_reviewer: Browser) -> None:
    case = cases.open_case("report", app.project, app)
    assert "begin_with" not in text_of(as_reviewer, f"/admin/review/reviewcase/{case.pk}/do/note/")


def test_developers_and_outsiders_can_not_write_replies(
    as_owner: Browser, as_outsider: Browser, reply: CannedReply
) -> None:
    for browser in (as_owner, as_outsider):
        for end in ("", "add/", f"{reply.pk}/change/", f"{reply.pk}/delete/"):
            assert browser.post(REPLIES + end, {"title": "x", "text": "y", "post": "yes"}).status_code == 302
    assert list(CannedReply.objects.values_list("title", flat=True)) == ["Thanks"]
