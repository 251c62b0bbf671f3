"""Reports of apps: who may send one, what becomes of it, and who learns of it."""

import html
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client as Browser
from django.urls import reverse

from accounts.data_export.archive import sections_of
from accounts.models import Account, Outbox
from core import clock
from devportal.console.models import AuditEvent
from devportal.review.cases import app_reports
from devportal.review.cases.cases import open_case
from devportal.review.models import AppReport, ReviewCase
from oidc.authorization import consent
from oidc.domains import branding
from oidc.models import Client
from tests.at_once import at_once
from tests.devportal.review.reviewing import approved
from tests.factories import make_account, make_client, make_project


@pytest.fixture
def pia(app: Client) -> Account:
    """Uses an app that nobody reviewed."""
    person = make_account("pia@example.com")
    consent.record_consent(person, app, ["openid"])
    return person


@pytest.fixture
def as_pia(pia: Account, browser_of: Callable[[Account], Browser]) -> Browser:
    return browser_of(pia)


def url_of(client: Client) -> str:
    return f"/apps/report/{client.client_id}"


def send(browser: Browser, client: Client, reason: str = "deceives", text: str = "It wanted my password.") -> Any:
    return browser.post(url_of(client), {"reason": reason, "text": text})


def text_of(browser: Browser, url: str) -> str:
    response = browser.get(url)
    assert response.status_code == 200, url
    return html.unescape(response.content.decode())


def test_a_report_opens_a_case(as_pia: Browser, pia: Account, app: Client) -> None:
    assert url_of(app) in text_of(as_pia, "/account/apps/")
    assert "It pretends to be another app" in text_of(as_pia, url_of(app))
    response = send(as_pia, app)
    assert response["Location"] == f"{url_of(app)}/sent"
    assert "Thank you for the report" in text_of(as_pia, response["Location"])
    case = ReviewCase.objects.get()
    assert (case.kind, case.client, case.project, case.is_open) == ("report", app, app.project, True)
    report = case.reports.get()
    assert (report.reporter, report.reason, report.text) == (pia, "deceives", "It wanted my password.")


def test_a_second_report_replaces_the_first_while_the_case_is_open(as_pia: Browser, app: Client) -> None:
    send(as_pia, app)
    text = text_of(as_pia, url_of(app))
    assert "It wanted my password." in text
    assert "replaces your earlier report" in text
    send(as_pia, app, "other", "I was wrong.")
    report = AppReport.objects.get()
    assert (report.reason, report.text) == ("other", "I was wrong.")
    ReviewCase.objects.update(closed_at=clock.now())
    assert "I was wrong." not in text_of(as_pia, url_of(app))
    send(as_pia, app)
    assert AppReport.objects.count() == ReviewCase.objects.count() == 2


def test_reports_of_several_people_are_one_case(
    as_pia: Browser, app: Client, browser_of: Callable[[Account], Browser]
) -> None:
    send(as_pia, app)
    other = make_account()
    consent.record_consent(other, app, ["openid"])
    send(browser_of(other), app)
    assert ReviewCase.objects.get().reports.count() == 2


def test_people_who_removed_an_app_can_still_report_it(as_pia: Browser, pia: Account, app: Client, rf: Any) -> None:
    request = rf.post("/")
    request.user = pia
    consent.remove_consent(app.connections.get(), request)
    assert send(as_pia, app).status_code == 302


def test_a_reviewed_app_with_a_page_can_be_reported_by_anyone_who_is_signed_in(
    app: Client, developer: Account, reviewer: Account, browser_of: Callable[[Account], Browser]
) -> None:
    client, stranger = approved(app, developer, reviewer), browser_of(make_account())
    assert stranger.get(url_of(client)).status_code == 404
    branding.publish_page(client, developer, "orbit-notes")
    assert stranger.get(url_of(client)).status_code == 200
    response = Browser().get(url_of(client))
    assert (response.status_code, response["Location"]) == (302, f"/account/login/?next={url_of(client)}")
    branding.take_down_page(client, developer)
    assert send(stranger, client).status_code == 404


@pytest.mark.parametrize("client_id", ["op_client_nothing", "op_client_" + "0" * 300, "..%2fadmin"])
def test_an_unknown_app_is_not_found(as_pia: Browser, client_id: str) -> None:
    assert as_pia.get(f"/apps/report/{client_id}").status_code == 404
    assert as_pia.post(f"/apps/report/{client_id}", {"reason": "other"}).status_code == 404
    assert as_pia.get(f"/apps/report/{client_id}/sent").status_code == 404


def test_an_app_without_connection_looks_like_an_unknown_one(as_pia: Browser) -> None:
    other = make_client(make_project())
    assert as_pia.get(url_of(other)).status_code == 404
    assert send(as_pia, other).status_code == 404
    assert not ReviewCase.objects.exists()


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({}, "Choose what is wrong"),
        ({"reason": "nonsense", "text": "Kept"}, "nonsense is not one of the available choices"),
        ({"reason": "other", "text": "x" * 4001}, "at most 4000 characters"),
        ({"reason": "other", "text": "a\x00b"}, "Null characters are not allowed"),
    ],
)
def test_an_incomplete_report_shows_errors_and_keeps_the_input(
    as_pia: Browser, app: Client, form: dict[str, str], said: str
) -> None:
    response = as_pia.post(url_of(app), form)
    text = html.unescape(response.content.decode())
    assert response.status_code == 200
    assert said in text
    assert form.get("text", "").replace("\x00", "") in text.replace("\x00", "")
    assert not ReviewCase.objects.exists()


def test_hostile_texts_are_stored_as_texts_and_shown_as_such(as_pia: Browser, app: Client) -> None:
    wild = "<script>alert(1)</script>\u202e{{ 7 }}\x07'\";--"
    assert send(as_pia, app, text=wild).status_code == 302
    assert "<script>alert(1)" not in as_pia.get(url_of(app)).content.decode()
    assert "\x07" not in AppReport.objects.get().text


def test_developers_do_not_see_reports(as_pia: Browser, pia: Account, app: Client, as_owner: Browser) -> None:
    send(as_pia, app)
    assert not AuditEvent.objects.exclude(project="").filter(action__contains="report").exists()
    assert not Outbox.objects.filter(body__contains="password").exists()
    for name in ("review", "sign_ins"):
        text = text_of(as_owner, reverse(f"console:{name}", args=[app.project.public_id, app.client_id]))
        assert "wanted my password" not in text
        assert pia.email not in text
    for name in ("activity", "project"):
        text = text_of(as_owner, reverse(f"console:{name}", args=[app.project.public_id]))
        assert "report" not in text.lower()


def test_it_is_in_the_reporters_export_and_loses_the_name_with_the_account(
    as_pia: Browser, pia: Account, app: Client
) -> None:
    send(as_pia, app)
    (mine,) = list(dict(sections_of(pia))["reported_apps"])
    assert (mine["app"], mine["text"]) == ("Orbit", "It wanted my password.")
    pia.delete()
    report = AppReport.objects.get()
    assert (report.reporter, report.text) == (None, "It wanted my password.")


def test_too_many_reports_are_refused_without_losing_the_text(as_pia: Browser, app: Client, settings: Any) -> None:
    settings.REPORTS_PER_PERSON_PER_DAY = 2
    for number in range(2):
        assert send(as_pia, app, text=f"Report {number}").status_code == 302
    response = send(as_pia, app, text="The third")
    assert response.status_code == 200
    assert "There were too many reports" in response.content.decode()
    assert "The third" in response.content.decode()
    assert AppReport.objects.get().text == "Report 1"


def test_a_report_that_meets_a_closing_case_goes_to_the_next_one(
    app: Client, pia: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_case("report", app.project, app)
    made: list[ReviewCase] = []

    def closed_in_between(*args: Any) -> ReviewCase:
        case = open_case(*args)
        if not made:
            ReviewCase.objects.filter(pk=case.pk).update(closed_at=clock.now() + timedelta(seconds=1))
        made.append(case)
        return case

    monkeypatch.setattr(app_reports, "open_case", closed_in_between)
    report = app_reports.report_app(app, pia, "other", "")
    assert report.case_id != first.pk
    assert report.case.is_open


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_reports_share_one_case() -> None:
    client = make_client(make_project(make_account()))
    people = [make_account() for _ in range(3)]
    at_once(6, lambda number: app_reports.report_app(client, people[number % 3], "other", f"{number}"))
    assert ReviewCase.objects.count() == 1
    assert AppReport.objects.count() == 3
