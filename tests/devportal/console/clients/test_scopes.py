"""The scopes in an app's settings: by API, how they were used, and which ones people may leave out."""

from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.core.exceptions import ValidationError
from django.test import Client as Browser

from accounts.models import Account
from api import usage_counts
from api.usage_counts import UsageCount
from core import clock
from devportal.console.clients.scope_report import scope_report
from devportal.console.models import SignInEvent
from devportal.review.submission import developer_actions
from devportal.review.submission.for_reviewers import ForReviewers
from oidc.apis.registry import Registry, reload_registry, use_registry
from oidc.clients.registration import change_optional_scopes
from oidc.models import Api, Client, Project, TokenFamily
from oidc.sign_in_log.steps import Endpoint, Outcome, Step
from tests import factories
from tests.devportal.console.forms import at, trail
from tests.devportal.review.reviewing import branding_of, post
from tests.factories import make_client


@pytest.fixture
def app(project: Project) -> Client:
    return make_client(project)


@pytest.fixture
def calendar() -> Api:
    return factories.make_api(name="<b>Orbit</b>", description="<i>Events</i>")


def save(browser: Browser, client: Client, optional: list[str], **more: str) -> Any:
    return browser.post(
        at("client_settings", client.project, client),
        {
            "name": client.name,
            "redirect_uris": client.redirect_uris.split(),
            "post_logout_redirect_uris": client.post_logout_redirect_uris.split(),
            "seen_scopes": "",
            "optional_scopes": optional,
        }
        | more,
    )


def optional_of(client: Client) -> str:
    return str(Client.objects.get(pk=client.pk).optional_scopes)


def page_of(browser: Browser, client: Client) -> BeautifulSoup:
    return BeautifulSoup(browser.get(at("client_settings", client.project, client)).content, "html.parser")


def states(client: Client) -> dict[str, str]:
    return {row.scope.name: row.state for section in scope_report(client).sections for row in section.rows}


def turn_off(api: Api) -> None:
    api.enabled = False
    api.save()
    reload_registry()


def test_each_api_stands_with_its_scopes_and_its_identifier(as_viewer: Browser, app: Client, calendar: Api) -> None:
    page = page_of(as_viewer, app)
    headings = [heading.get_text() for heading in page.select("h3[id^=api-]")]
    assert headings == ["Sign-in and profile", "Openport account API", "<b>Orbit</b>"]
    assert not page.select("main h3 b, main i")
    assert page.find("button", attrs={"data-copy": calendar.identifier})
    links = [str(link["href"]) for link in page.select("h3[id^=api-] a")]
    assert links == ["/docs/developer-api/me", "/docs/apis/calendar"]
    assert not page.find("input", attrs={"name": "optional_scopes"})
    assert states(app) == {
        "openid": "free",
        "email": "free",
        "profile": "free",
        "offline_access": "free",
        "account.read": "needs_review",
        "calendar.read": "free",
        "calendar.write": "needs_review",
    }
    turn_off(calendar)
    assert "calendar.read" not in page_of(as_viewer, app).get_text()


def test_the_state_follows_the_review(as_developer: Browser, developer: Account, app: Client, calendar: Api) -> None:
    assert "Ask for it: calendar.write" in page_of(as_developer, app).get_text()
    given: Any = {"values": {"name": app.name}, "scopes": {"calendar.write": "Adds events."}}
    developer_actions.save_submission(app, developer, **given, for_reviewers=ForReviewers())
    assert states(app)["calendar.write"] == "draft"
    app.reviews.update(status="in_review")
    assert states(app)["calendar.write"] == "in_review"
    assert "Open the review of calendar.write" in page_of(as_developer, app).get_text()
    Client.objects.filter(pk=app.pk).update(approved_scopes="calendar.write")
    app.refresh_from_db()
    assert states(app)["calendar.write"] == "approved"


def test_the_link_to_the_review_ticks_the_scope(as_developer: Browser, app: Client, calendar: Api) -> None:
    link = page_of(as_developer, app).select_one("a[href$='#scope-calendar.write']")
    assert link is not None
    address, _, anchor = str(link["href"]).partition("#")
    review = BeautifulSoup(as_developer.get(address).content, "html.parser")
    part = review.find(id=anchor)
    assert part is not None
    box = part.find("input", type="checkbox")
    assert box is not None
    assert box.has_attr("checked")
    assert not app.reviews.exists()
    post(as_developer, app, "save", ask_calendar_write="on", why_calendar_write="Adds events.")
    branding = BeautifulSoup(as_developer.get(branding_of(app)).content, "html.parser")
    preview = branding.find(id="preview")
    assert preview is not None
    assert preview.get_text().count("Change your calendar") == 1, "only after an approval"
    for unknown in ("nonsense", "email", "<b>"):
        assert as_developer.get(at("review", app.project, app), {"scope": unknown}).status_code == 200


def signed_in(client: Client, account: Account, scope: str, *, days_ago: int = 0) -> None:
    moment = clock.from_now(-days_ago * 86400)
    connection = client.connections.filter(account=account).first()
    if connection is None:
        factories.make_access_token(client, account, scope.split())
        connection = client.connections.get(account=account)
    family = TokenFamily.objects.create(connection=connection, scope=scope, auth_time=moment, created_at=moment)
    SignInEvent.objects.create(
        client=client,
        at=moment,
        endpoint=Endpoint.AUTHORIZE,
        outcome=Outcome.CODE_ISSUED,
        step=Step.ISSUED,
        request_id="1",
        family=family.pk,
    )


def test_sign_ins_and_requests_of_thirty_days_are_counted(
    as_viewer: Browser, owner: Account, app: Client, calendar: Api
) -> None:
    for days_ago, scope in ((0, "openid email"), (29, "openid calendar.read"), (31, "openid profile")):
        signed_in(app, owner, scope, days_ago=days_ago)
    minute = clock.timestamp() // 60
    kinds = (("calendar", 200, 5), ("calendar", 401, 3), ("me", 200, 2), ("other", 200, 1))
    usage_counts.add_counts(
        [UsageCount(app.project_id, "", app.client_id, name, status, "", minute, 0, n) for name, status, n in kinds]
    )
    report = scope_report(app)
    rows = [row for section in report.sections for row in section.rows]
    sign_ins = {row.scope.name: row.sign_ins for row in rows if row.sign_ins}
    assert sign_ins == {"openid": 2, "email": 1, "calendar.read": 1}
    assert [(section.api.slug, section.requests) for section in report.sections if section.api] == [
        ("account", 3),
        ("calendar", 5),
    ]
    text = page_of(as_viewer, app).get_text()
    assert "1 of 2" in text
    assert "5 successful requests in 30 days" in text


def test_a_developer_sets_optional_scopes(as_developer: Browser, developer: Account, app: Client) -> None:
    assert save(as_developer, app, ["profile", "email"]).status_code == 302
    assert optional_of(app) == "email profile"
    (event,) = trail("client.changed")
    assert (event.actor, event.before, event.after) == (
        developer,
        {"optional_scopes": []},
        {"optional_scopes": ["email", "profile"]},
    )
    ticked = page_of(as_developer, app).select("input[name=optional_scopes][checked]")
    assert [box["value"] for box in ticked] == ["email", "profile"]
    save(as_developer, app, [])
    assert optional_of(app) == ""


@pytest.mark.parametrize("scope", ["openid", "account.read", "nonsense", "email\x00", "email profile"])
def test_only_available_scopes_except_openid_can_be_optional(
    as_developer: Browser, app: Client, calendar: Api, scope: str
) -> None:
    response = save(as_developer, app, ["email", scope])
    assert response.status_code in (200, 400)
    assert optional_of(app) == ""
    assert not trail("client.changed")


def test_a_refused_choice_is_shown_again_with_the_reason(as_developer: Browser, app: Client) -> None:
    page = BeautifulSoup(save(as_developer, app, ["email", "account.read"]).content, "html.parser")
    assert page.select_one("[role=alert]")
    assert "request account.read" in page.get_text()
    assert [box["value"] for box in page.select("input[name=optional_scopes][checked]")] == ["email"]


def test_an_approval_that_ended_meanwhile_is_seen_under_the_lock(developer: Account, app: Client) -> None:
    Client.objects.filter(pk=app.pk).update(approved_scopes="account.read")
    app.refresh_from_db()
    Client.objects.filter(pk=app.pk).update(approved_scopes="")
    with pytest.raises(ValidationError, match=r"account\.read"):
        change_optional_scopes(app, developer, ["account.read"])


def test_the_choice_for_an_api_that_is_turned_off_is_kept(as_developer: Browser, app: Client, calendar: Api) -> None:
    save(as_developer, app, ["calendar.read"])
    turn_off(calendar)
    save(as_developer, app, ["email"])
    assert optional_of(app) == "email calendar.read"
    assert save(as_developer, app, ["calendar.read"]).status_code == 200, "it is not offered"


def test_the_choice_for_a_scope_that_the_process_does_not_know_yet_is_kept(
    as_developer: Browser, app: Client, calendar: Api
) -> None:
    save(as_developer, app, ["calendar.read"])
    use_registry(Registry())  # loaded before the API was declared
    save(as_developer, app, ["email"])
    assert optional_of(app) == "email calendar.read"


def test_a_form_without_scopes_keeps_them(as_developer: Browser, app: Client) -> None:
    save(as_developer, app, ["email"])
    fields = {"name": "Orbit Diary", "redirect_uris": app.redirect_uris.split()}
    assert as_developer.post(at("client_settings", app.project, app), fields).status_code == 302
    assert optional_of(app) == "email"


def test_an_error_in_the_scopes_saves_no_other_setting(as_developer: Browser, app: Client) -> None:
    old = str(as_developer.get(at("client_settings", app.project, app)).context["form"]["seen_scopes"].value())
    save(as_developer, app, ["email"])
    refused = save(as_developer, app, ["profile"], seen_scopes=old, name="Orbit Diary")
    assert refused.context["form"]["name"].value() == "Orbit Diary"
    assert Client.objects.get().name == app.name


def test_adding_a_row_keeps_the_choice(as_developer: Browser, app: Client) -> None:
    page = BeautifulSoup(save(as_developer, app, ["email"], more="redirect_uris").content, "html.parser")
    assert [box["value"] for box in page.select("input[name=optional_scopes][checked]")] == ["email"]
    assert optional_of(app) == ""


def test_a_form_from_before_someone_elses_change_does_not_undo_it(as_developer: Browser, app: Client) -> None:
    page = at("client_settings", app.project, app)
    old = str(as_developer.get(page).context["form"]["seen_scopes"].value())
    save(as_developer, app, ["email"])
    refused = save(as_developer, app, ["profile"], seen_scopes=old)
    assert "this was changed after you opened the page" in refused.content.decode()
    assert optional_of(app) == "email"
    seen = refused.context["form"]["seen_scopes"].value()
    assert save(as_developer, app, ["profile"], seen_scopes=seen).status_code == 302
    assert optional_of(app) == "profile"


def test_the_choice_for_a_scope_is_kept_while_its_approval_is_withdrawn(as_developer: Browser, app: Client) -> None:
    Client.objects.filter(pk=app.pk).update(approved_scopes="account.read")
    save(as_developer, app, ["account.read"])
    Client.objects.filter(pk=app.pk).update(approved_scopes="")
    save(as_developer, app, ["email"])
    assert optional_of(app) == "email account.read"
