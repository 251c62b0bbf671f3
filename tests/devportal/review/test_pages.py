"""The pages Branding and Review: who sees and does what, what is typed, what is previewed."""

import io
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext
from PIL import Image

from accounts.models import Account
from core import clock
from devportal.console.models import AuditEvent
from devportal.review.decisions import reviewer_actions
from devportal.review.models import AppReview
from devportal.review.rules import snapshots
from devportal.review.rules.snapshots import client_values
from devportal.review.submission import developer_actions
from devportal.review.submission.consent_preview import consent_previews
from oidc.models import Client, Project, ProjectMember
from tests.devportal.review.reviewing import (
    ASKED,
    BRANDING,
    JUSTIFICATION,
    OF_BRANDING,
    SCOPE,
    Status,
    approved,
    branding_of,
    decide,
    fill,
    fresh,
    make_reviewer,
    path_of,
    post,
    resent,
    review_in,
    sent,
)
from tests.factories import make_client, make_project
from tests.relying_party import RelyingParty

pytestmark = pytest.mark.django_db
__all__ = ["ASKED", "png", "post"]  # also for tests/security
MOST_STATEMENTS = 13  # the header's list of projects is one


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


def messages_of(browser: Browser, client: Client) -> str:
    """Return what the page says after a step."""
    return " ".join(str(message) for message in browser.get(path_of(client)).context["messages"])


def png(size: tuple[int, int] = (128, 128)) -> SimpleUploadedFile:
    out = io.BytesIO()
    Image.new("RGB", size, "red").save(out, "PNG")
    return SimpleUploadedFile("my logo.png", out.getvalue(), "image/png")


# --- A whole review, by its forms alone ---


def test_a_review_from_draft_to_approval(
    as_developer: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    assert post(as_developer, app, "save", **BRANDING, **ASKED, logo=png()).status_code == 302
    assert "Saved." in messages_of(as_developer, app)
    assert (fresh(app).name, fresh(app).home_page_url) == (BRANDING["name"], BRANDING["home_page_url"])
    assert post(as_developer, app, "send", **BRANDING, **ASKED, note="Press Plan.").status_code == 302
    review = AppReview.objects.get()
    assert (review.status, review.submitted_by) == (Status.SUBMITTED, developer)
    assert review.entries.get().text == "Press Plan."
    assert review.snapshot["logo"]
    review = decide(review, reviewer, Status.CHANGES_REQUESTED)
    page = as_developer.get(path_of(app)).content.decode()
    assert "A reviewer has requested changes" in page
    assert "A justification does not say enough" in page
    assert "Which page is it?" in page
    assert reviewer.email not in page
    post(as_developer, app, "answer", text="The second one.")
    why = JUSTIFICATION + " It is the page called Plan."
    answers = {"answer_justification_vague": "It names the page now.", "answer_note": "The page called Plan."}
    post(as_developer, app, "send", **BRANDING | ASKED | answers | {"why_account_read": why})
    review.refresh_from_db()
    assert (review.status, review.revision) == (Status.SUBMITTED, 2)
    assert review.snapshot["scopes"] == {SCOPE: why}
    decide(review, reviewer, Status.APPROVED)
    page = as_developer.get(path_of(app)).content.decode()
    assert "This app is reviewed" in page
    assert "<code>account.read</code>: approved" in page
    assert "The second one." in page


def test_withdrawing_and_starting_over(as_owner: Browser, app: Client, developer: Account, reviewer: Account) -> None:
    approved(app, developer, reviewer)
    post(as_owner, app, "save", **(BRANDING | {"name": "Nova Notes"}), **ASKED)
    assert "until reviewers approve the draft" in messages_of(as_owner, app)
    assert fresh(app).name == BRANDING["name"]
    post(as_owner, app, "send", **(BRANDING | {"name": "Nova Notes"}), **ASKED)
    assert "while the app is in review" in as_owner.get(branding_of(app)).content.decode()
    post(as_owner, app, "save", **(BRANDING | {"name": "Third Notes"}), **ASKED)
    assert "Withdraw it first" in messages_of(as_owner, app)
    post(as_owner, app, "withdraw")
    assert 'value="Nova Notes"' in as_owner.get(branding_of(app)).content.decode()
    post(as_owner, app, "start_over")
    page = as_owner.get(branding_of(app)).content.decode()
    assert f'value="{BRANDING["name"]}"' in page
    assert "Nova Notes" not in page


def test_starting_over_discards_no_change_that_the_page_did_not_show(
    as_owner: Browser, as_developer: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    approved(app, developer, reviewer)
    post(as_owner, app, "save", **BRANDING | {"name": "Nova Notes"}, **ASKED)
    form = re.search(r'value="start_over">\s*<input type="hidden" name="seen" value="(\w+)"',
                     as_owner.get(path_of(app)).content.decode())  # fmt: skip
    assert form
    post(as_developer, app, "save", **BRANDING | {"name": "Nova Diary"}, **ASKED)
    post(as_owner, app, "start_over", seen=form[1])
    assert "so nothing is discarded yet" in messages_of(as_owner, app)
    assert AppReview.objects.latest("pk").snapshot["name"] == "Nova Diary"
    post(as_owner, app, "start_over", seen=as_owner.get(path_of(app)).context["form"]["seen"].value())
    assert "are discarded" in messages_of(as_owner, app)
    assert AppReview.objects.latest("pk").snapshot["name"] == "Orbit Notes"


def test_an_older_page_does_not_withdraw_a_newer_submission(
    as_owner: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    steps: list[Callable[[], AppReview]] = [
        lambda: resent(app, developer),
        lambda: developer_actions.submit(app, developer),
    ]
    for again in steps:
        review = snapshots.open_review(app) or sent(app, developer)
        form = re.search(r'name="submission" value="([\d.]+)"', as_owner.get(path_of(app)).content.decode())
        assert form
        decide(review, reviewer, Status.CHANGES_REQUESTED if review.revision == 1 else Status.REJECTED)
        again()
        post(as_owner, app, "withdraw", submission=form[1])
        assert "so nothing is withdrawn yet" in messages_of(as_owner, app)
        assert AppReview.objects.latest("pk").status == Status.SUBMITTED
    post(as_owner, app, "withdraw", submission=AppReview.objects.latest("pk").submission)
    assert AppReview.objects.latest("pk").status == Status.WITHDRAWN


def test_the_last_reply_is_shown_on_top_until_resubmission(
    as_developer: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    def on_top() -> str:
        page = as_developer.get(path_of(app)).content.decode()
        return str(page[page.index('id="state"') : page.index('id="checklist"') if 'id="checklist"' in page else None])

    review = sent(app, developer)
    for status in (Status.CHANGES_REQUESTED, Status.REJECTED):
        review = decide(review, reviewer, status)
        assert "A justification does not say enough" in on_top()
        if status == Status.CHANGES_REQUESTED:
            developer_actions.answer(review, developer, "The second one.")
        developer_actions.save_submission(app, developer, {"name": "Orbit Two"})
        assert "Which page is it?" in on_top()
        review = (resent if status == Status.CHANGES_REQUESTED else developer_actions.submit)(app, developer)
        assert "alert--warning stack" not in on_top()
    decide(review, reviewer, Status.APPROVED)
    assert "alert--warning stack" not in on_top()
    reviewer_actions.withdraw_approval(fresh(app), reviewer, reasons=["unsafe"], text="A secret is on the web.")
    assert "A secret is on the web." in on_top()


# --- Who ---


@pytest.mark.parametrize("status", Status.values)
def test_every_role_sees_every_state(
    status: str, as_viewer: Browser, as_developer: Browser, as_outsider: Browser, app: Client,
    developer: Account, reviewer: Account,
) -> None:  # fmt: skip
    review_in(status, app, developer, reviewer)
    assert as_outsider.get(path_of(app)).status_code == 404
    for browser in (as_viewer, as_developer):
        page = browser.get(path_of(app))
        assert page.status_code == 200
        forms = re.findall(r'name="step" value="(\w+)"', page.content.decode())
        assert bool(forms) == (browser is as_developer)
        if status in AppReview.FROZEN and browser is as_developer:
            assert set(forms) == {"answer", "withdraw"}


def test_developers_can_not_take_reviewers_steps(as_owner: Browser, app: Client, owner: Account) -> None:
    sent(app, owner)
    for step in ("approve", "start", "", "__class__"):
        assert post(as_owner, app, step, status="approved", revision="1", scopes=SCOPE).status_code == 302
    assert AppReview.objects.get().status == Status.SUBMITTED
    assert not fresh(app).is_verified


def test_unknown_form_fields_are_ignored(as_owner: Browser, app: Client, owner: Account) -> None:
    other = make_project()
    taken = {
        "verified_at": "2026-01-01T00:00:00Z", "verified": "on", "approved_scopes": SCOPE, "first_party": "on",
        "owner": "otto@example.com", "project": str(other.pk), "project_id": other.public_id, "status": "approved",
        "enabled": "", "type": "web", "redirect_uris": "https://evil.example/", "client_id": "op_client_mine",
        "assignee": str(owner.pk), "number": "7", "revision": "7", "is_change": "on", "algorithm": "HS256",
        "snapshot": "{}", "decisions": '{"account.read": true}', "ask_admin": "on", "why_admin": JUSTIFICATION,
        "skip_authorization": "on",
    }  # fmt: skip
    before = Client.objects.filter(pk=app.pk).values().get()
    for step in ("save", "send"):
        post(as_owner, app, step, **(taken | BRANDING | ASKED))
    after = Client.objects.filter(pk=app.pk).values().get()
    changed = {name for name in after if after[name] != before[name]} - {"updated"}
    assert changed == {*BRANDING, "name_reading"}
    review = AppReview.objects.get()
    assert (review.status, review.number, review.revision, review.assignee) == (Status.SUBMITTED, 1, 1, None)
    of_the_client = {"logo", "type", "redirect_urls", "sign_out_urls"}
    assert set(review.snapshot) == {*BRANDING, *of_the_client, "scopes", "places", "demo_url", "circumstances"}
    assert review.snapshot["circumstances"]["held"] == []
    assert review.snapshot["scopes"] == {SCOPE: JUSTIFICATION}
    assert review.decisions == {}


# --- What is typed ---

WRONG: list[tuple[str, Any, str]] = [
    ("name", "", "Enter a name"),
    ("name", "x" * 101, "at most 100"),
    ("name", "0penp\u0430rt 0penport", "anything that looks like it"),
    ("name", "Orbit\x00", "Null characters"),
    ("home_page_url", "http://example.com", "Use https"),
    ("home_page_url", "https://exa mple.com/", "no spaces"),
    ("privacy_policy_url", "javascript:alert(1)", "begins with https"),
    ("privacy_policy_url", "https://192.168.0.1/", "domain name"),
    ("terms_url", "https://example.com/" + "x" * 600, "at most 500"),
    ("support_address", "nobody", "valid email address"),
    ("demo_url", "http://example.com/demo", "Use https"),
    ("place_account_read", "x" * 501, "at most 500"),
    ("place_account_read", "a\x00b", "Null characters"),
    ("why_account_read", "x" * 4001, "at most 4000"),
    ("note", "x" * 4001, "at most 4000"),
    ("logo", SimpleUploadedFile("x.png", b"", "image/png"), "empty"),
    ("logo", SimpleUploadedFile("x.png", b"\x89PNG\r\n\x1a\nxx", "image/png"), "Use a JPEG"),
]


@pytest.mark.parametrize(
    ("field", "value", "said"), WRONG, ids=[f"{row[0]}-{place}" for place, row in enumerate(WRONG)]
)
def test_errors_are_shown_at_their_fields_and_nothing_of_the_form_is_stored(
    field: str, value: Any, said: str, as_developer: Browser, app: Client, media: Path
) -> None:
    if hasattr(value, "seek"):
        value.seek(0)
    page = post(as_developer, app, "send", **(BRANDING | ASKED | {field: value}))
    assert page.status_code == 200
    errors = " ".join(page.context["form"].errors[field])
    assert re.search(said, errors), errors
    assert errors[:20] in unescape(page.content.decode())
    # Branding is the first form: an error in it stores nothing. Otherwise it is saved, and nothing of the other form.
    drafts = [(draft.snapshot["scopes"], draft.snapshot["demo_url"]) for draft in AppReview.objects.all()]
    assert drafts == ([] if field in OF_BRANDING else [({}, "")])
    assert fresh(app).name == ("Orbit" if field in OF_BRANDING else BRANDING["name"])
    assert not [path for path in media.rglob("*") if path.is_file()]


@pytest.mark.parametrize("step", ["save", "send"])
def test_a_form_from_before_someone_elses_change_does_not_undo_it(
    step: str, as_developer: Browser, as_owner: Browser, app: Client
) -> None:
    post(as_developer, app, "save", **BRANDING, **ASKED)
    old = as_developer.get(path_of(app)).context["form"]["seen"].value()
    seen = as_owner.get(path_of(app)).context["form"]["seen"].value()
    # The owner decides to ask for no scope. The developer, whose page is older, corrects a URL.
    assert post(as_owner, app, "save", seen=seen).status_code == 302
    other = ASKED | {"demo_url": "https://video.example.net/other"}
    response = post(as_developer, app, step, **other, seen=old)
    assert "this was changed after you opened the page" in response.content.decode()
    review = AppReview.objects.get()
    assert (review.status, review.snapshot["scopes"]) == (Status.DRAFT, {})
    assert response.context["form"]["demo_url"].value() == other["demo_url"]
    shown = response.context["form"]["seen"].value()
    assert post(as_developer, app, step, **other, seen=shown).status_code == 302
    assert list(AppReview.objects.get().snapshot["scopes"]) == [SCOPE]


def test_branding_from_before_someone_elses_change_does_not_undo_it(
    as_developer: Browser, as_owner: Browser, app: Client
) -> None:
    old = as_developer.get(branding_of(app)).context["form"]["seen"].value()
    post(as_owner, app, "save", **BRANDING)
    other = BRANDING | {"name": "Nova Notes"}
    response = post(as_developer, app, "save", **other, seen=old)
    assert "this was changed after you opened the page" in response.content.decode()
    assert fresh(app).name == BRANDING["name"]
    shown = response.context["form"]["seen"].value()
    assert post(as_developer, app, "save", **other, seen=shown).status_code == 302
    assert fresh(app).name == "Nova Notes"


def test_each_page_leaves_the_fields_of_the_other(as_developer: Browser, app: Client) -> None:
    post(as_developer, app, "save", **BRANDING, **ASKED)
    post(as_developer, app, "save", **BRANDING | {"name": "Nova Notes"})
    post(as_developer, app, "save", **ASKED | {"demo_url": ""})
    snapshot = AppReview.objects.get().snapshot
    assert (snapshot["name"], list(snapshot["scopes"]), snapshot["demo_url"]) == ("Nova Notes", [SCOPE], "")


def test_a_form_may_be_sent_twice_and_after_a_change_of_other_settings(as_developer: Browser, app: Client) -> None:
    seen = as_developer.get(path_of(app)).context["form"]["seen"].value()
    Client.objects.update(redirect_uris="https://app.example.com/other")
    for _ in range(2):
        assert post(as_developer, app, "save", **ASKED, seen=seen).status_code == 302
    assert len(AuditEvent.objects.filter(action="review.edited")) == 1


def test_an_answer_that_can_not_be_stored_is_refused(as_developer: Browser, app: Client, developer: Account) -> None:
    review = sent(app, developer)
    for text in ("", " ", "x" * 4001, "a\x00b"):
        assert post(as_developer, app, "answer", text=text).context["answer"].errors["text"]
    assert review.entries.count() == 1


def test_texts_are_escaped(as_developer: Browser, app: Client, developer: Account, reviewer: Account) -> None:
    nasty = "<script>alert(1)</script>{{ 7|add:7 }}"
    form = BRANDING | ASKED | {"name": f"Orbit {nasty}"[:90], "why_account_read": nasty, "place_account_read": nasty}
    post(as_developer, app, "send", **form, note=nasty)
    review = AppReview.objects.get()
    developer_actions.answer(review, reviewer, nasty)
    page = as_developer.get(path_of(app)).content.decode()
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 3
    assert "{{ 7|add:7 }}" in page


def test_former_members_are_not_named(as_owner: Browser, app: Client, developer: Account) -> None:
    sent(app, developer)
    assert developer.full_name in as_owner.get(path_of(app)).content.decode()
    app.project.members.get(account=developer).delete()
    Account.objects.filter(pk=developer.pk).update(given_name="Renamed", family_name="Since")
    page = as_owner.get(path_of(app)).content.decode()
    assert ("Renamed Since" in page, "a former member" in page) == (False, True)


def test_a_logo_that_is_sent_with_its_removal_is_removed(as_developer: Browser, app: Client) -> None:
    uploads: list[dict[str, Any]] = [{"logo": png()}, {}]
    for logo in uploads:
        assert post(as_developer, app, "save", **BRANDING, **logo, remove_logo="on").status_code == 302
    assert fresh(app).logo.name == ""


# --- The preview ---


def question(page: str, part: str = "") -> str:
    """Return the text of a page's question, from its name to what comes last, as it is read.

    What screen readers say about links is left out: a preview has none.
    """
    if part:
        page = page[page.index(f'id="{part}-title"') :]
        page = page[page.index("</figcaption>") :]
        page = page[: page.index("</figure>")]
    else:
        page = page[page.index('<div class="card">') : page.index("</main>")]
    page = page.replace(", in a new tab", "")
    text = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(text).split())


def test_the_preview_is_the_real_page(
    as_owner: Browser, owner: Account, app: Client, reviewer: Account, media: Path
) -> None:
    post(as_owner, app, "save", **BRANDING, **ASKED, logo=png())
    party = RelyingParty(fresh(app), as_owner)
    draft = as_owner.get(branding_of(app)).content.decode()
    before = party.authorize(scope="openid email profile").content.decode()
    assert question(draft, "now") == question(before)
    decide(developer_actions.submit(app, owner), reviewer, Status.APPROVED)
    after = party.authorize(scope=f"openid email profile {SCOPE}").content.decode()
    assert question(draft, "after") == question(after)
    # The logo is the same picture, at an address that only members have.
    shown = re.search(r'id="after-title".*?<img src="([^"]+)"', draft, re.DOTALL)
    real = re.search(r'<div class="card">.*?<img src="([^"]+)"', after, re.DOTALL)
    assert shown
    assert real
    pictures = [as_owner.get(found.group(1)).content for found in (shown, real)]
    assert pictures[0] == pictures[1]


def test_nothing_on_a_preview_can_be_clicked(as_owner: Browser, owner: Account, app: Client) -> None:
    fill(app, owner)
    page = as_owner.get(branding_of(app)).content.decode()
    part = page[page.index('id="preview"') : page.index("</section>", page.index('id="preview"'))]
    for active in ("<form", "<button", "<a ", "<input", "<script", "<iframe", "href", "action", "csrf"):
        assert active not in part.lower(), active


def test_unsaved_input_can_be_previewed(as_developer: Browser, app: Client, developer: Account) -> None:
    fill(app, developer)
    before = AppReview.objects.values().get()
    typed = BRANDING | {"name": "Nova Notes", "home_page_url": "http://wrong"}
    page = post(as_developer, app, "preview", **typed).content.decode()
    assert "Nova Notes asks for access" in question(page, "now")
    assert "Nova Notes asks for access" in question(page, "after")
    assert "example.com" in question(page, "after"), "what can't be used is not shown"
    assert AppReview.objects.values().get() == before
    assert fresh(app).name == BRANDING["name"]


def test_an_app_whose_home_page_was_given_up_is_previewed_as_people_see_it(
    app: Client, developer: Account, reviewer: Account
) -> None:
    client = approved(app, developer, reviewer)
    Client.objects.filter(pk=client.pk).update(logo="logos/orbit.webp", home_unproven_since=clock.now())
    client = fresh(client)
    now, after = consent_previews(client, client_values(client) | {"scopes": {}}, developer)
    assert (now["client"]["verified"], bool(now["client"]["logo_url"])) == (False, False)
    assert (after["client"]["verified"], bool(after["client"]["logo_url"])) == (True, True)


def test_the_preview_shows_the_approved_values_next_to_the_change(
    as_developer: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    approved(app, developer, reviewer)
    developer_actions.save_submission(app, developer, {"name": "Nova Notes"}, scopes={})
    page = as_developer.get(branding_of(app)).content.decode()
    now, after = question(page, "now"), question(page, "after")
    assert "Orbit Notes asks" in now
    assert "your plan" in now
    assert "Nova Notes asks" in after
    assert "your plan" not in after


# --- What reviewers may open ---


def test_reviewers_see_the_submission_and_no_draft(
    app: Client, developer: Account, as_viewer: Browser, as_reviewer: Browser
) -> None:
    fill(app, developer)
    assert as_viewer.get(path_of(app, "/preview/1")).status_code == 200
    assert as_reviewer.get(path_of(app, "/preview/1")).status_code == 404, "a draft is its writers' own"
    developer_actions.submit(app, developer)
    page = as_reviewer.get(path_of(app, "/preview/1"))
    assert page.status_code == 200
    assert "Orbit Notes asks for access" in question(page.content.decode(), "after")
    assert as_reviewer.get(path_of(app)).status_code == 404, "the developers' page stays theirs"
    Project.objects.filter(pk=app.project_id).update(deleted_at=clock.now())
    assert as_reviewer.get(path_of(app, "/preview/1")).status_code == 404


@pytest.mark.parametrize("is_withdrawn", [False, True])
def test_reviewers_read_what_was_sent_and_no_later_draft(
    app: Client, developer: Account, reviewer: Account, as_viewer: Browser, as_reviewer: Browser, is_withdrawn: bool
) -> None:
    approved(app, developer, reviewer)
    developer_actions.save_submission(app, developer, {"name": "Nova Notes"}, scopes={})
    review = decide(developer_actions.submit(app, developer), reviewer, Status.CHANGES_REQUESTED)
    developer_actions.save_submission(app, developer, {"name": "Quiet Plans"}, scopes={SCOPE: JUSTIFICATION})
    if is_withdrawn:
        developer_actions.withdraw(review, developer)
    admin = "/admin/review/appreview/"
    preview, page = path_of(app, "/preview/2"), f"{admin}{review.pk}/change/"
    for path in (preview, page, f"{admin}?which=developers", f"{admin}?which=all"):
        assert "Quiet Plans" not in as_reviewer.get(path).content.decode(), path
    for path in (preview, page):
        assert "Nova Notes" in as_reviewer.get(path).content.decode(), path
    assert "your plan" not in question(as_reviewer.get(preview).content.decode(), "after")
    assert "Quiet Plans" in as_viewer.get(preview).content.decode()


def test_a_logo_in_waiting_is_for_the_project_and_reviewers(
    app: Client, as_developer: Browser, as_viewer: Browser, as_reviewer: Browser
) -> None:
    post(as_developer, app, "save", **BRANDING, logo=png())
    page = as_developer.get(branding_of(app)).content.decode()
    found = re.search(r'src="([^"]+/review/logo/[^"]+)"', page)
    assert found
    address = found.group(1)
    for browser in (as_developer, as_viewer, as_reviewer):
        response: Any = browser.get(address)
        assert (response.status_code, response["Content-Type"]) == (200, "image/webp")
        assert response.content[:4] == b"RIFF"
    other = make_client(app.project, name="Orbit for phones")
    assert as_developer.get(address.replace(app.client_id, other.client_id)).status_code == 404


# --- What it costs ---


@pytest.mark.parametrize("status", [Status.DRAFT, Status.SUBMITTED, Status.CHANGES_REQUESTED, Status.REJECTED])
def test_a_page_takes_few_statements(
    status: str, as_developer: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    for number in range(8):
        ProjectMember.objects.create(
            project=app.project, account=make_reviewer(f"m{number}@example.com"), role="viewer"
        )
    for _ in range(3):
        developer_actions.withdraw(sent(app, developer), developer)
    approved(app, developer, reviewer)
    developer_actions.save_submission(app, developer, {"name": "Nova Notes"})
    if status != Status.DRAFT:
        review = developer_actions.submit(app, developer)
        if status != Status.SUBMITTED:
            decide(review, reviewer, status)
    as_developer.get(path_of(app))
    with CaptureQueriesContext(connection) as queries:
        assert as_developer.get(path_of(app)).status_code == 200
    assert len(queries) <= MOST_STATEMENTS, [query["sql"][:120] for query in queries]
