"""Never locked out: strangers who guess, codes sent again, interrupted sign-ups, two tabs, an address taken back."""

import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.steps import allow, arrive, expect_consent_page, sign_in, sign_up, type_code
from tests.browser.watch import Watch
from tests.clients.app import App, listening
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service, running

pytestmark = pytest.mark.browser

CEILING = 8
OWNER, BESIEGED, TWO_TABS, MOVED = (f"{name}@example.com" for name in ("olga.of.tabs", "bess", "tara", "mona"))
NEW_PASSWORD = "quiet lantern 57 meadow"


@pytest.fixture(scope="module")
def guarded() -> Iterator[Service]:
    """A service behind a proxy, so that strangers come from many addresses."""
    with running(TRUSTED_PROXIES="127.0.0.1", GUESSES_PER_ACCOUNT_PER_HOUR=str(CEILING)) as service:
        yield service


@pytest.fixture(scope="module")
def apps(guarded: Service) -> Iterator[tuple[App, App]]:
    with listening(guarded, "Orbit Notes") as notes, listening(guarded, "Paperboat") as boat:
        people = [
            {"email": email, "password": PASSWORD, "given_name": "Olga"} for email in (OWNER, BESIEGED, TWO_TABS, MOVED)
        ]
        clients = [app.declaration(verified=True) for app in (notes, boat)]
        declared = guarded.provision(
            people=people, projects=[{"name": "Orbit Notes", "owner": OWNER, "clients": clients}]
        )
        for app in (notes, boat):
            app.take_credentials(declared)
        yield notes, boat


def guess_from_many_addresses(service: Service, email: str) -> None:
    """Type wrong passwords, each from a different IP address, until strangers are blocked."""
    for number in range(CEILING + 1):
        headers = {"X-Forwarded-For": f"198.51.100.{number + 1}"}
        with httpx.Client(base_url=service.address, headers=headers, timeout=20) as stranger:
            page = stranger.get("/account/login/")
            token = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)[0]
            form = {"login": email, "password": f"guess {number}", "csrfmiddlewaretoken": token}
            answer = stranger.post("/account/login/", data=form)
    assert answer.headers["Location"] == "/account/login/mailbox/"


def heading(page: Page, text: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(text)


def test_guesses_of_others_do_not_lock_out_the_owner(
    guarded: Service, apps: tuple[App, App], browser: Chromium
) -> None:
    app, _ = apps

    def old_browser(page: Page) -> None:
        page.goto(app.authorization_url())
        sign_in(page, BESIEGED)
        allow(page)
        arrive(page, app)
        page.context.clear_cookies(name="openport_session")
        guess_from_many_addresses(guarded, BESIEGED)
        page.goto(app.authorization_url())
        sign_in(page, BESIEGED)  # as ever
        arrive(page, app)

    def new_browser(page: Page) -> None:
        watch = Watch(page.context)
        page.goto(app.authorization_url())
        sign_in(page, BESIEGED)
        heading(page, "Is this your mailbox?")
        page.get_by_role("button", name="Send me the code").click()
        expect(page.get_by_text("You can ask for another one in")).to_be_visible()
        type_code(page, guarded, BESIEGED)
        heading(page, "Sign in")
        expect(page.locator("input[name=login]")).to_have_value(BESIEGED)
        sign_in(page, BESIEGED)
        arrive(page, app)
        watch.check()

    browser.visit(old_browser)
    browser.visit(new_browser)


def test_asking_for_another_code_too_soon_shows_a_countdown(
    guarded: Service, apps: tuple[App, App], browser: Chromium
) -> None:
    def steps(page: Page) -> None:
        watch = Watch(page.context)
        page.clock.install()
        page.goto(apps[0].authorization_url())
        sign_up(page, "hasty@example.com")
        waits = page.locator("[data-counts-down]")
        expect(waits).to_have_text(re.compile(r"^\d+ seconds$|^1 minute$"))
        page.get_by_role("button", name="Send a new code").click()
        heading(page, "Confirm your email")
        expect(waits).to_be_visible()
        assert len(guarded.mails("hasty@example.com")) == 1
        page.clock.fast_forward(61_000)
        expect(page.get_by_text("You can ask for another code now.")).to_be_visible()
        type_code(page, guarded, "hasty@example.com")
        expect_consent_page(page, apps[0])
        watch.check()

    browser.visit(steps)


def test_an_interrupted_sign_up_continues(guarded: Service, apps: tuple[App, App], browser: Chromium) -> None:
    app, email = apps[0], "left@example.com"

    def closes_the_tab(page: Page) -> None:
        page.goto(app.authorization_url())
        sign_up(page, email)
        heading(page, "Confirm your email")
        later = page.context.new_page()
        page.close()
        later.goto(app.authorization_url())
        heading(later, "Confirm your email")

    def elsewhere(page: Page) -> None:
        page.goto(app.authorization_url())
        sign_in(page, email)
        type_code(page, guarded, email)
        expect_consent_page(page, app)
        allow(page)
        assert arrive(page, app)["email"] == email

    browser.visit(closes_the_tab)
    browser.visit(elsewhere)


def test_two_tabs_each_continue_to_their_app(apps: tuple[App, App], browser: Chromium) -> None:
    notes, boat = apps

    def steps(page: Page) -> None:
        watch = Watch(page.context)
        watch.expect("/account/login/", 403)
        page.goto(notes.authorization_url())
        second, third = page.context.new_page(), page.context.new_page()
        for tab in (second, third):
            tab.goto(boat.authorization_url())
        sign_in(page, TWO_TABS)
        expect_consent_page(page, notes)
        sign_in(second, TWO_TABS)
        expect_consent_page(second, boat)
        sign_in(third, "someone.else@example.com")
        heading(third, "You are already signed in")
        third.get_by_role("link", name="Continue").click()
        expect_consent_page(third, boat)
        allow(page)
        arrive(page, notes)
        allow(second)
        arrive(second, boat)
        watch.check()

    browser.visit(steps)


def change_address(page: Page, service: Service, new: str) -> None:
    page.goto(f"{service.address}/account/email/")
    page.fill("input[name=email]", new)
    page.get_by_role("button", name="Send the code").click()
    type_code(page, service, new)


def test_the_old_address_takes_the_account_back(guarded: Service, apps: tuple[App, App], browser: Chromium) -> None:
    thiefs = "thief@example.com"

    def both(chromium: Browser) -> None:
        with chromium.new_context() as one, chromium.new_context() as other:
            thief = one.new_page()
            moves_it(thief)
            takes_it_back(other.new_page())
            thief.goto(f"{guarded.address}/account/")
            heading(thief, "Sign in")

    def moves_it(page: Page) -> None:
        watch = Watch(page.context)
        page.goto(f"{guarded.address}/account/login/")
        sign_in(page, MOVED)
        page.wait_for_url(f"{guarded.address}/account/")
        change_address(page, guarded, thiefs)
        expect(page.get_by_text(thiefs).first).to_be_visible()
        change_address(page, guarded, "thief.again@example.com")
        expect(page.get_by_text("thief.again@example.com").first).to_be_visible()
        watch.check()

    def takes_it_back(page: Page) -> None:
        watch = Watch(page.context)
        page.goto(f"{guarded.address}/account/address/take-back")
        page.get_by_label("Your old email address").fill(MOVED)
        page.get_by_label("Code from that email").fill(guarded.code_mailed_to(MOVED))
        page.get_by_role("button", name="Take the email address back").click()
        heading(page, "The email address is yours again")
        page.get_by_role("link", name="Choose a new password").click()
        page.fill("input[name=email]", MOVED)
        page.get_by_role("button", name="Send the code").click()
        type_code(page, guarded, MOVED)
        page.fill("input[name=password1]", NEW_PASSWORD)
        if page.locator("input[name=password2]").count():
            page.fill("input[name=password2]", NEW_PASSWORD)
        page.get_by_role("button", name="Save the new password").click()
        page.wait_for_url(f"{guarded.address}/account/")
        expect(page.get_by_text(MOVED).first).to_be_visible()
        watch.check()

    browser.use(both)
