"""An API from its declaration to a call that is refused: an operator, a developer, a reviewer and a person.

This takes several seconds, because it is the only test of the whole chain. The other tests cover its parts.
"""

import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.camera import Camera
from tests.browser.reviewer import Reviewer
from tests.browser.steps import allow, expect_consent_page, sign_in
from tests.browser.watch import Watch
from tests.clients.app import App, listening
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.slow]

OPERATOR, DEVELOPER, REVIEWER, PERSON = (
    f"{name}@example.com" for name in ("operator.of.dunlin", "maker.of.dunlin", "reviewer.of.dunlin", "dana.of.dunlin")
)
API, SCOPE, IDENTIFIER = "Dunlin Sightings", "dunlin.write", "https://sightings.dunlin.example"
SENTENCE = "Add and change your sightings of birds"
WRITTEN_SECONDS = 40
RULE = f'[[apis.rules]]\nmethod = "POST"\npath = "/sightings*"\nscope = "{SCOPE}"'


@pytest.fixture(scope="module")
def dunlin(live_service: Service) -> Iterator[App]:
    """An app that nobody has reviewed."""
    roles = {OPERATOR: ["operator"], REVIEWER: ["reviewer"]}
    people = [
        {"email": email, "password": PASSWORD, "given_name": "Dana", "roles": roles.get(email, [])}
        for email in (OPERATOR, DEVELOPER, REVIEWER, PERSON)
    ]
    with listening(live_service, "Dunlin Diary") as app:
        project = {"name": "Dunlin", "owner": DEVELOPER, "domains": ["dunlin.example"], "clients": [app.declaration()]}
        app.take_credentials(live_service.provision(people=people, projects=[project]))
        yield app


def declare(camera: Camera, service: Service) -> tuple[str, str]:
    """Declare the API in the admin, and return the id and the secret of its credential."""
    page = camera.page
    page.goto(f"{service.address}/admin/oidc/api/add/")
    sign_in(page, OPERATOR)
    page.fill("input[name=slug]", "dunlin")
    page.fill("input[name=name]", API)
    page.fill("input[name=identifier]", f"{IDENTIFIER}/#now")
    page.fill("textarea[name=description]", "Where and when people saw which bird.")
    page.fill("input[name=scopes-0-name]", SCOPE)
    page.fill("textarea[name=scopes-0-title]", SENTENCE)
    page.check("input[name=scopes-0-sensitive]")
    page.fill("textarea[name=rule_tables]", RULE)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Remove the part after #.")).to_be_visible()
    camera.take("api-journey-01-declaration")
    page.fill("input[name=identifier]", IDENTIFIER)
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("link", name=API).first.click()
    expect(page.locator("textarea[name=rule_tables]")).to_have_value(RULE)
    camera.take("api-journey-01-api")
    page.get_by_role("link", name="Create a credential").click()
    page.get_by_role("button", name="Create a credential").click()
    credential = page.inner_text("#credential-id").strip(), page.inner_text("#credential-secret").strip()
    expect(page.get_by_text("the id is the user name, and the secret the password")).to_be_visible()
    camera.take("api-journey-02-credential")
    page.get_by_role("link", name="I have stored it").click()
    assert credential[1] not in page.content(), "the secret is shown once"
    return credential


def request_scope(camera: Camera, app: App) -> str:
    """Find the API on the client's page, and send a review with its scope. Return the URL of the page."""
    page = camera.page
    page.goto(f"{app.service.address}/console/")
    sign_in(page, DEVELOPER)
    page.locator("main").get_by_role("link", name="Dunlin", exact=True).click()
    page.get_by_role("link", name="Apps", exact=True).first.click()
    page.locator("main").get_by_role("link", name=app.name, exact=True).click()
    page.get_by_role("navigation", name="App").get_by_role("link", name="Settings").click()
    expect(page.get_by_role("table", name=API)).to_contain_text("Needs review")
    camera.take("api-journey-03-permissions")
    permissions = page.url
    page.get_by_role("link", name="Branding", exact=True).click()
    for field, value in {
        "home_page_url": "https://dunlin.example/",
        "privacy_policy_url": "https://dunlin.example/privacy",
        "support_address": "help@dunlin.example",
    }.items():
        page.fill(f"[name={field}]", value)
    expect(page.locator("#preview")).to_contain_text("help@dunlin.example")  # it shows what was typed
    expect(page.locator("#preview h4").first).to_have_css("margin-top", "0px")
    page.get_by_role("button", name="Save", exact=True).click()
    page.goto(permissions)
    page.get_by_role("link", name=re.compile(rf"Ask for it ?: {SCOPE}")).click()
    expect(page.locator("[name=ask_dunlin_write]")).to_be_checked()
    for field, value in {
        "why_dunlin_write": "The diary sends each bird that you write down to your sightings.",
        "place_dunlin_write": "The button Add on the page of a day.",
        "demo_url": "https://video.example.net/dunlin",
    }.items():
        page.fill(f"[name={field}]", value)
    camera.take("api-journey-04-submission")
    page.get_by_role("button", name="Save and send").click()
    expect(page.get_by_role("status")).to_contain_text("Submitted for review")
    camera.take("api-journey-05-submitted")
    page.goto(permissions)
    expect(page.get_by_role("table", name=API)).to_contain_text("In review")
    return permissions


def approve(camera: Camera, app: App) -> None:
    """Approve the scope in the admin."""
    reviewer = Reviewer(camera.page, app.service, REVIEWER, app.name)
    reviewer.open_from_the_queue()
    reviewer.start()
    expect(camera.page.get_by_role("heading", name=f"{SCOPE} ({API})").first).to_contain_text(SENTENCE)
    camera.take("api-journey-06-review")
    assert SCOPE in reviewer.take_step("Approve")
    camera.take("api-journey-07-approved")


def consent(camera: Camera, app: App) -> str:
    """Sign in to the app, allow the scope, and return the access token for the API."""
    page = camera.page
    page.goto(app.authorization_url(scope=f"openid {SCOPE}", resource=IDENTIFIER))
    sign_in(page, PERSON)
    expect_consent_page(page, app)
    expect(page.get_by_role("heading", name=API)).to_be_visible()
    expect(page.get_by_text(SENTENCE)).to_be_visible()
    camera.take("api-journey-08-consent")
    allow(page)
    answer = app.exchange(app.answer()["code"]).json()
    assert answer["scope"] == SCOPE, answer
    token: str = answer["access_token"]
    return token


def remove(camera: Camera, app: App) -> None:
    """Remove the app under Connected apps."""
    page = camera.page
    page.goto(f"{app.service.address}/account/apps/")
    expect(page.get_by_role("article", name=app.name)).to_contain_text(API)
    camera.take("api-journey-09-connected-apps")
    page.get_by_role("link", name=f"Remove {app.name}").click()
    expect(page.get_by_role("heading", name=API)).to_be_visible()
    camera.take("api-journey-10-remove")
    page.get_by_role("button", name="Remove now").click()
    expect(page.get_by_role("article", name=app.name)).to_have_count(0)
    camera.take("api-journey-11-removed")


def introspect(service: Service, credential: tuple[str, str], token: str) -> dict[str, Any]:
    """Return what the API learns of a token."""
    response = httpx.post(f"{service.address}/connect/introspect", auth=credential, data={"token": token}, timeout=20)
    assert response.status_code == 200, response.text
    learnt: dict[str, Any] = response.json()
    return learnt


def ask_as_proxy(service: Service, token: str) -> httpx.Response:
    """Return the response to a proxy that asks whether a call may reach the API."""
    call = {"X-Forwarded-Method": "POST", "X-Forwarded-Uri": "/sightings", "Authorization": f"Bearer {token}"}
    return httpx.get(f"{service.address}/connect/forward-auth/dunlin", headers=call, timeout=20)


def wait_for(page: Page, *texts: str) -> None:
    """Reload a page until it shows all of `texts`: the logs and counts are written every few seconds."""
    deadline = time.monotonic() + WRITTEN_SECONDS
    while missing := [text for text in texts if text not in page.inner_text("main")]:
        assert time.monotonic() < deadline, f"{page.url} does not show {missing}:\n{page.inner_text('main')}"
        time.sleep(1)
        page.reload()


def test_an_api_is_declared_reviewed_used_and_refused(dunlin: App, browser: Chromium, axe: str) -> None:
    service = dunlin.service

    def steps(chromium: Browser) -> None:
        def camera() -> Camera:
            context = chromium.new_context()
            return Camera(context.new_page(), Watch(context), axe)

        operator, developer, reviewer, person = (camera() for _ in range(4))
        credential = declare(operator, service)
        permissions = request_scope(developer, dunlin)
        approve(reviewer, dunlin)
        token = consent(person, dunlin)

        learnt = introspect(service, credential, token)
        assert (learnt["active"], learnt["scope"], learnt["aud"]) == (True, SCOPE, IDENTIFIER)
        allowed = ask_as_proxy(service, token)
        assert (allowed.status_code, allowed.headers["X-Auth-Subject"]) == (200, learnt["sub"])
        remove(person, dunlin)
        assert introspect(service, credential, token) == {"active": False}
        assert ask_as_proxy(service, token).status_code == 401
        developer.page.goto(permissions)
        wait_for(developer.page, "Reviewed", "1 of 1")
        developer.take("api-journey-12-permissions-approved")
        developer.page.get_by_role("link", name="Logs", exact=True).click()
        developer.page.get_by_role("link", name="Requests", exact=True).click()
        wait_for(developer.page, API, "POST /sightings", "401")
        developer.take("api-journey-13-request-log")
        for each in (operator, developer, reviewer, person):
            each.page.context.close()

    browser.use(steps)
