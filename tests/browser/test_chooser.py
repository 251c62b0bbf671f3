"""Several accounts in one browser: adding one, choosing one for an app, signing out of one and of all."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.camera import Camera
from tests.browser.steps import ALLOW, allow, arrive, expect_consent_page, sign_in
from tests.browser.watch import Watch
from tests.clients.app import App, listening
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = pytest.mark.browser

HOME, WORK, CLUB = (f"{name}@example.com" for name in ("grace.home", "grace.work", "grace.club"))
NAMES = {HOME: "Grace Home", WORK: "Grace Work", CLUB: ""}


@pytest.fixture(scope="module")
def tide(live_service: Service) -> Iterator[App]:
    """An app that several accounts of one person use."""
    with listening(live_service, "Tide") as app:
        people = [
            {"email": email, "password": PASSWORD}
            | ({"given_name": name.split()[0], "family_name": name.split()[1]} if name else {})
            for email, name in NAMES.items()
        ]
        clients = [app.declaration(verified=True)]
        projects = [{"name": "Tide", "owner": HOME, "clients": clients}]
        app.take_credentials(live_service.provision(people=people, projects=projects))
        yield app


def choose(page: Page, email: str) -> None:
    """Press an account of the chooser."""
    expect(page.get_by_role("heading", level=1)).to_have_text("Choose an account")
    page.get_by_role("button").filter(has_text=email).click()


def add_account(page: Page, app: App, email: str) -> None:
    """Sign in beside the accounts that are signed in."""
    page.goto(f"{app.service.address}/account/choose")
    page.get_by_role("button", name="Use another account").click()
    sign_in(page, email)
    page.wait_for_url(f"{app.service.address}/account/")


def begin(page: Page, app: App) -> Watch:
    """Sign in with two accounts; the one for work is present."""
    watch = Watch(page.context)
    page.goto(f"{app.service.address}/account/choose")  # nobody is signed in: the sign-in page
    sign_in(page, HOME)
    page.wait_for_url(f"{app.service.address}/account/")
    add_account(page, app, WORK)
    return watch


def expect_present(page: Page, app: App, email: str) -> None:
    page.goto(f"{app.service.address}/account/")
    expect(page.locator(".site-header__end")).to_contain_text(email)


def test_switching_at_the_consent_page(tide: App, browser: Chromium) -> None:
    def steps(page: Page) -> None:
        watch = begin(page, tide)
        page.goto(tide.authorization_url(prompt="consent"))
        expect_consent_page(page, tide)
        expect(page.locator("main")).to_contain_text(WORK)
        late = page.context.new_page()
        late.goto(tide.authorization_url(prompt="consent"))
        page.get_by_role("link", name="Use another account").click()
        choose(page, HOME)
        expect_consent_page(page, tide)
        expect(page.locator("main")).to_contain_text(HOME)
        expect(page.locator("main")).not_to_contain_text(WORK)

        late.click(ALLOW)  # opened for the other account: it gives nothing, and the question is shown again
        expect(late.locator("main")).to_contain_text("The account was switched.")
        expect(late.locator("main")).to_contain_text(HOME)
        late.close()
        assert tide.answers.empty()

        allow(page)
        assert arrive(page, tide)["email"] == HOME
        expect_present(page, tide, HOME)
        watch.check()

    browser.visit(steps)


def test_select_account_shows_the_accounts_each_time(tide: App, browser: Chromium) -> None:
    def steps(page: Page) -> None:
        watch = begin(page, tide)
        subs: dict[str, str] = {}
        for email in (WORK, HOME, WORK):
            page.goto(tide.authorization_url(prompt="select_account"))
            choose(page, email)
            page.wait_for_url(re.compile(r"/connect/authorize|/callback"))
            if page.locator(ALLOW).count():
                allow(page)
            claims = arrive(page, tide)
            assert claims["email"] == email
            assert subs.setdefault(email, claims["sub"]) == claims["sub"]
        page.goto(tide.authorization_url(prompt="select_account", login_hint=CLUB))
        page.get_by_role("button", name="Use another account").click()
        expect(page.locator("input[name=login]")).to_have_value(CLUB)
        sign_in(page, CLUB)
        expect_consent_page(page, tide)
        allow(page)
        assert arrive(page, tide)["email"] == CLUB
        watch.check()

    browser.visit(steps)


def test_signing_out_of_one_account_and_of_all(tide: App, browser: Chromium) -> None:
    def steps(page: Page) -> None:
        watch = begin(page, tide)
        page.goto(f"{tide.service.address}/account/logout/")
        expect(page.locator("main")).to_contain_text("Your other accounts in this browser stay signed in.")
        page.get_by_role("button", name="Sign out", exact=True).click()
        expect(page.locator("main")).to_contain_text(HOME)
        expect(page.locator("main")).not_to_contain_text(WORK)

        page.goto(tide.authorization_url(prompt="consent"))  # nobody is present: an account has to be chosen
        choose(page, HOME)
        expect_consent_page(page, tide)

        add_account(page, tide, WORK)
        page.goto(f"{tide.service.address}/account/choose")
        page.get_by_role("button", name="Sign out of all accounts").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("signed out")
        expect(page.locator("main")).not_to_contain_text(HOME)
        page.goto(f"{tide.service.address}/account/choose")
        expect(page.locator("input[name=login]")).to_be_visible()
        assert "openport_accounts" not in {cookie["name"] for cookie in page.context.cookies()}
        watch.check()

    browser.visit(steps)


@pytest.mark.node
@pytest.mark.slow
def test_screens_of_the_chooser(tide: App, browser: Chromium, axe: str) -> None:
    def steps(page: Page) -> None:
        camera = Camera(page, begin(page, tide), axe)
        add_account(page, tide, CLUB)
        camera.visit(f"{tide.service.address}/account/choose", "chooser")
        camera.visit(tide.authorization_url(prompt="select_account", login_hint=WORK), "chooser-for-an-app")
        camera.visit(f"{tide.service.address}/account/logout/", "sign-out-of-several")
        camera.visit(f"{tide.service.address}/connect/logout", "sign-out-asked-by-an-app-of-several")
        page.get_by_role("button", name="Sign out", exact=True).click()
        camera.take("signed-out-of-one")
        page.goto(f"{tide.service.address}/account/choose")
        page.get_by_role("button", name="Use another account").click()
        expect(page.locator("input[name=login]")).to_be_visible()
        camera.take("sign-in-beside-others")

    browser.visit(steps)
