"""Review of the scopes of the company's own APIs: what can be requested, what is decided, and what follows."""

from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.core.exceptions import ValidationError
from django.test import Client as Browser
from django.utils.html import escape

from accounts.models import Account
from api import usage_counts
from devportal.review import tasks
from devportal.review.admin.review_queue import asked_choices
from devportal.review.decisions import reviewer_actions
from devportal.review.evidence.gathering import gather
from devportal.review.models import AppReview, ReviewCase
from devportal.review.rules import snapshots
from devportal.review.rules.workflow import IncompleteSubmission
from devportal.review.submission import developer_actions
from devportal.review.submission.consent_preview import consent_previews
from devportal.review.submission.requirements import field_of
from oidc.apis.credentials import create_credential
from oidc.apis.registry import Registry, reload_registry, use_registry
from oidc.domains import branding
from oidc.models import Api, ApiScope, Client
from tests.api.introspecting import INACTIVE, Server
from tests.devportal.review import reviewing
from tests.devportal.review.reviewing import (
    BRANDING,
    DEMO,
    JUSTIFICATION,
    PLACE,
    SCOPE,
    Status,
    approved,
    decide,
    fill,
    fresh,
    mails,
    make_reviewer,
    path_of,
    post,
    sent,
    ticked,
)
from tests.factories import make_account, make_api
from tests.relying_party import RelyingParty, claims_of, sign_in

pytestmark = pytest.mark.django_db
READ, WRITE = "calendar.read", "calendar.write"
CALENDAR = "https://calendar.example.com"


@pytest.fixture
def api() -> Api:
    """An API with a scope that needs an approval, and a sensitive one."""
    api = make_api()
    change_scope(READ, needs_approval=True)
    return api


def change_scope(name: str, **fields: Any) -> None:
    ApiScope.objects.filter(name=name).update(**fields)
    reload_registry()


def turn_off(api: Api) -> None:
    Api.objects.filter(pk=api.pk).update(enabled=False)
    reload_registry()


def approve(review: AppReview, who: Account, **scopes: bool) -> AppReview:
    if review.status == Status.SUBMITTED:
        review = reviewer_actions.start(review, who)
    decided = {name.replace("_", "."): yes for name, yes in scopes.items()}
    return reviewing.approve(review, who, decided, despite="It was checked by hand.")


def form_for(*scopes: str) -> dict[str, str]:
    form = BRANDING | {"demo_url": DEMO, "step": "send"}
    for scope in scopes:
        form |= {field_of("ask", scope): "on", field_of("why", scope): JUSTIFICATION, field_of("place", scope): PLACE}
    return form


@pytest.mark.parametrize("scope", ["openid", "calendar.delete", "Calendar.Read", "", "\x00"])
def test_scopes_that_need_no_review_can_not_be_requested(
    api: Api, app: Client, developer: Account, as_developer: Browser, scope: str
) -> None:
    with pytest.raises(ValidationError):
        fill(app, developer, [scope])
    post(as_developer, app, **form_for(READ, scope))
    assert list(AppReview.objects.get().snapshot["scopes"]) == [READ]


def test_the_form_lists_scopes_by_api(api: Api, app: Client, as_developer: Browser) -> None:
    text = as_developer.get(path_of(app)).content.decode()
    assert "<h3>Calendar</h3>" in text
    assert text.index(">account.read<") < text.index("<h3>Calendar</h3>") < text.index(f">{READ}<")
    post(as_developer, app, **form_for(READ, WRITE))
    assert list(AppReview.objects.get(status=Status.SUBMITTED).snapshot["scopes"]) == [READ, WRITE]


def test_scopes_of_an_api_that_is_turned_off_can_not_be_requested(
    api: Api, app: Client, developer: Account, as_developer: Browser
) -> None:
    fill(app, developer, [SCOPE, READ])
    turn_off(api)
    with pytest.raises(ValidationError, match="turned off"):
        fill(app, developer, [SCOPE, READ])
    assert READ not in as_developer.get(path_of(app)).content.decode()
    assert list(developer_actions.submit(app, developer).snapshot["scopes"]) == [SCOPE], "the draft was older"


def test_scopes_of_an_api_that_was_turned_off_later_are_kept(
    api: Api, app: Client, developer: Account, reviewer: Account, as_developer: Browser
) -> None:
    decide(sent(app, developer, [READ]), reviewer, Status.APPROVED)
    turn_off(api)
    text = as_developer.get(path_of(app)).content.decode()
    assert "This API is turned off" in text
    assert WRITE not in text
    decide(sent(fresh(app), developer, [SCOPE, READ]), reviewer, Status.APPROVED)
    assert fresh(app).approved_scopes == f"{SCOPE} {READ}"


def test_different_scopes_have_different_fields() -> None:
    scopes = ["a.b", "a_b", "a-b", "a-5f-b", "a/b", "A.b", "a:b", "https://a.example/b", "a.b.", "a,b", "a'b", "a<b"]
    assert len({field_of("ask", scope) for scope in scopes}) == len(scopes)
    assert field_of("ask", SCOPE) == "ask_account_read"


def test_the_developer_and_the_reviewer_read_what_is_requested(
    api: Api, app: Client, developer: Account, as_developer: Browser, as_reviewer: Browser
) -> None:
    review = sent(app, developer, [READ, WRITE])
    text = as_developer.get(path_of(app)).content.decode()
    for scope in (READ, WRITE):
        assert f"<dt>What <code>{scope}</code> is needed for</dt>" in text
        assert f"<dt>Where in the app <code>{scope}</code> is used</dt>" in text
    page = as_reviewer.get(f"/admin/review/appreview/{review.pk}/change/").content.decode()
    titles = [heading.get_text(" ", strip=True) for heading in BeautifulSoup(page, "html.parser").select("h3")]
    assert f"{READ} (Calendar): “See your calendar”" in titles
    assert f"{WRITE} (Calendar): “Change your calendar” sensitive" in titles


def test_each_scope_is_decided(api: Api, app: Client, developer: Account, reviewer: Account) -> None:
    approve(sent(app, developer, [READ, WRITE]), reviewer, calendar_read=True, calendar_write=False)
    assert fresh(app).approved_scopes == READ
    body = mails()[-1][2]
    assert "calendar.read (Calendar): “See your calendar”" in body
    assert "calendar.write (Calendar): “Change your calendar”" in body


def test_withdrawing_one_scope_keeps_another_that_the_process_does_not_know_yet(
    api: Api, app: Client, developer: Account, reviewer: Account
) -> None:
    approved(app, developer, reviewer)
    Client.objects.filter(pk=app.pk).update(approved_scopes=f"{SCOPE} {READ}")
    use_registry(Registry())  # loaded before the API was declared
    reviewer_actions.withdraw_approval(app, reviewer, scopes=[SCOPE], reasons=["misuse_of_data"])
    assert fresh(app).approved_scopes == READ


def test_an_approval_keeps_scopes_that_the_process_does_not_know_yet(
    api: Api, app: Client, developer: Account, reviewer: Account
) -> None:
    review = reviewer_actions.start(sent(app, developer, [READ]), reviewer)
    use_registry(Registry())  # loaded before the API was declared
    approve(review, reviewer, calendar_read=True)
    assert fresh(app).approved_scopes == READ


def test_only_requested_scopes_are_approved(
    api: Api, app: Client, developer: Account, reviewer: Account, as_reviewer: Browser
) -> None:
    review = reviewer_actions.start(sent(app, developer, [READ]), reviewer)
    for decided in ({"calendar_read": True, "calendar_write": True}, {"calendar_write": True}, {}):
        with pytest.raises(IncompleteSubmission, match="each requested scope"):
            approve(review, reviewer, **decided)
    form = {"revision": 1, f"scope_{READ}": "approve", f"scope_{WRITE}": "approve", "text": "", "confirm": "1"}
    form |= ticked(review) | {"despite": "It was checked by hand."}
    as_reviewer.post(f"/admin/review/appreview/{review.pk}/do/approve/", form)
    assert fresh(app).approved_scopes == READ


def test_a_sensitive_scope_of_any_api_takes_two_approvals(
    api: Api, app: Client, developer: Account, reviewer: Account, browser_of: Any, settings: Any
) -> None:
    settings.REVIEW_SECOND_KEY_PEOPLE = 0
    second = make_reviewer()
    approve(sent(app, developer, [READ]), reviewer, calendar_read=True)
    assert fresh(app).approved_scopes == READ, "it needs an approval, but is not sensitive"
    review = approve(sent(fresh(app), developer, [READ, WRITE]), reviewer, calendar_read=True, calendar_write=True)
    assert fresh(app).approved_scopes == READ
    page = browser_of(second).get(f"/admin/review/appreview/{review.pk}/change/").content.decode()
    assert "waits for a second approval" in page
    assert f"The app asks for {WRITE} and its project has many people" in page
    assert any(f"Because the app asks for {WRITE} and" in body.replace("\n", " ") for _, _, body in mails())
    approve(review, second, calendar_read=True, calendar_write=True)
    assert fresh(app).approved_scopes == f"{READ} {WRITE}"


def test_a_grown_project_takes_a_second_approval_for_a_sensitive_scope(
    api: Api, app: Client, developer: Account, reviewer: Account, browser_of: Any, settings: Any
) -> None:
    ApiScope.objects.create(api=api, name="calendar.write.later", title="Plan", needs_approval=True)
    reload_registry()
    decide(sent(app, developer, [READ, "calendar.write.later"]), reviewer, Status.APPROVED)
    settings.REVIEW_SECOND_KEY_PEOPLE = 0
    assert tasks.open_second_approvals() == 0, "its name only contains that of a sensitive one"
    Client.objects.filter(pk=app.pk).update(approved_scopes=f"{READ} {WRITE}")
    assert tasks.open_second_approvals() == 1
    case = ReviewCase.objects.get()
    page = browser_of(make_reviewer()).get(f"/admin/review/reviewcase/{case.pk}/do/confirm/").content.decode()
    assert f"The approval of {WRITE} stays" in page
    reviewer_actions.withdraw_approval(app, reviewer, scopes=[WRITE], reasons=["misuse_of_data"])
    assert not ReviewCase.objects.get().is_open


def test_the_queue_is_filtered_by_api_and_by_scope(
    api: Api, app: Client, developer: Account, as_reviewer: Browser
) -> None:
    sent(app, developer, [READ])
    for value, is_found in (("api:calendar", True), (READ, True), (WRITE, False), (SCOPE, False)):
        page = as_reviewer.get(f"/admin/review/appreview/?asks={value}").content.decode()
        assert ("Asks for calendar.read</div>" in page) is is_found, value
    assert list(asked_choices()) == [SCOPE, "api:calendar", READ, WRITE]
    for value in ("openid", "api:", "api:none", "'", "calendar"):
        assert as_reviewer.get("/admin/review/appreview/", {"asks": value}).status_code == 200


def test_a_sentence_that_changed_after_the_submission_is_marked(
    api: Api, app: Client, developer: Account, reviewer: Account, as_reviewer: Browser
) -> None:
    review = sent(app, developer, [READ, WRITE])
    change_scope(READ, title="Look at your appointments")
    page = as_reviewer.get(f"/admin/review/appreview/{review.pk}/change/").content.decode()
    assert "When the app was submitted, it was “See your calendar”" in page
    assert page.count("The sentence for people has changed") == 1
    _, after = consent_previews(fresh(app), snapshots.sent_snapshot(review, None), reviewer)
    shown = [(access["api"], access["title"]) for access in after["scope_descriptions"]]
    assert shown[-2:] == [("Calendar", "Look at your appointments"), ("Calendar", "Change your calendar")]


def test_the_public_page_names_apis_and_leaves_out_what_is_turned_off(
    api: Api, app: Client, developer: Account, reviewer: Account
) -> None:
    make_api("tasks")
    decide(sent(app, developer, [READ]), reviewer, Status.APPROVED)
    branding.publish_page(fresh(app), developer, "orbit-notes")
    text = Browser().get("/apps/orbit-notes/").content.decode()
    assert "Calendar: See your calendar" in text
    assert "<li>Tasks: See your tasks</li>" in text
    turn_off(api)
    assert "Calendar" not in Browser().get("/apps/orbit-notes/").content.decode()


def test_withdrawing_a_scope_narrows_the_tokens_of_its_api(
    api: Api, app: Client, developer: Account, reviewer: Account
) -> None:
    review = decide(sent(app, developer, [READ, WRITE]), reviewer, Status.APPROVED)
    server = Server(api, *create_credential(api))
    party = RelyingParty(fresh(app), sign_in(Browser(), make_account()))
    tokens = party.tokens(scope=f"openid offline_access {READ} {WRITE}")
    assert server.learn(tokens["access_token"])["scope"] == f"{READ} {WRITE}"
    usage_counts.flush_usage()
    used = gather(AppReview.objects.select_related("client__project").get(pk=review.pk)).usage.scopes[WRITE]
    assert (used.asked, used.calls_lately) == (1, 1)
    reviewer_actions.withdraw_approval(app, reviewer, scopes=[WRITE], reasons=["misuse_of_data"])
    assert server.learn(tokens["access_token"])["scope"] == READ
    again = party.refresh(tokens["refresh_token"], resource=CALENDAR).json()
    assert claims_of(again["access_token"])["scope"] == again["scope"] == READ
    refused = party.refresh(again["refresh_token"], scope=WRITE)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_scope")
    reviewer_actions.withdraw_approval(app, reviewer, scopes=[READ], reasons=["misuse_of_data"])
    assert server.learn(tokens["access_token"]) == server.learn(again["access_token"]) == INACTIVE
    refused = party.refresh(again["refresh_token"], resource=CALENDAR)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_target")
    assert party.authorize(scope=f"openid {READ}").headers["Location"].find("error=invalid_scope") > 0


@pytest.mark.parametrize("scope", ["a'b", "50%s", "<b>", "https://a.example/read?x=1&y", "{0}"])
def test_any_name_of_a_scope_goes_through_a_review(
    api: Api, app: Client, developer: Account, reviewer: Account, as_developer: Any, as_reviewer: Any, scope: str
) -> None:
    ApiScope.objects.create(api=api, name=scope, title="See <i>it</i>", needs_approval=True)
    reload_registry()
    fill(app, developer, [])
    post(as_developer, app, **form_for(scope))
    review = reviewer_actions.start(AppReview.objects.get(status=Status.SUBMITTED), reviewer)
    page = as_reviewer.get(f"/admin/review/appreview/{review.pk}/change/").content.decode()
    assert "<i>it</i>" not in page
    assert escape(scope) in page
    queue = as_reviewer.get("/admin/review/appreview/", {"asks": scope}).content.decode()
    assert f"<div>Asks for {escape(scope)}</div>" in queue
    form = {"revision": 1, f"scope_{scope}": "approve", "confirm": "1", "despite": "It was checked by hand."}
    as_reviewer.post(f"/admin/review/appreview/{review.pk}/do/approve/", form | ticked(review))
    assert fresh(app).approved_scopes == scope
