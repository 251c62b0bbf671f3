"""A review that can be trusted: a developer, two reviewers and people, each in their browser (docs/review.md).

The domains are proven through a name server and a web server of the test's own; the service asks them with every
guard that it has, but for the setting that lets it reach this machine.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import Browser, Page, expect

from tests.browser.camera import Camera
from tests.browser.reviewer import SEE_FIRST, Reviewer
from tests.browser.steps import allow, arrive, sign_in
from tests.browser.watch import Watch
from tests.clients.app import App, listening
from tests.clients.person import PASSWORD
from tests.services import names, pages
from tests.services.chromium import Chromium
from tests.services.service import Service, running

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.slow]

NAME = "Grove"
DEVELOPER, FIRST_REVIEWER, SECOND_REVIEWER, PERSON, NEWCOMER = (
    f"{name}@example.com" for name in ("dora.of.grove", "rhea", "rufus", "pia.of.grove", "nils.of.grove")
)
BY_RECORD, BY_FILE, FOREIGN = "grove.example", "grove-terms.example", "elsewhere.example"
FAR = f"https://{FOREIGN}/callback"
WITH_PLAN = "openid email offline_access account.read"
WHY = "The page called Plan shows which plan you have."
REVIEWED = "Reviewed by Openport"
OUTSIDE = f"Openport has reviewed {NAME}, but not with the host that it sends you to: {FOREIGN}"
BRANDING = {
    "home_page_url": f"https://{BY_RECORD}/",
    "privacy_policy_url": f"https://www.{BY_RECORD}/privacy",
    "terms_url": f"https://{BY_FILE}/terms",
    "support_address": f"help@{BY_RECORD}",
}
FIELDS = {
    "why_account_read": WHY,
    "place_account_read": "The page called Plan, behind the gear.",
    "demo_url": "https://video.example.net/grove",
}
TITLES = {
    (BY_RECORD, "/"): "Grove, notes that grow",
    (f"www.{BY_RECORD}", "/privacy"): "What Grove keeps",
    (BY_FILE, "/terms"): "Terms of Grove",
}
APPROVED_HOSTS = "from oidc.models import Client; print(Client.objects.get(name='Grove').approved_hosts)"


@dataclass
class World:
    """The app at its service, and the internet around it: a name server and a web server."""

    app: App
    project: str
    names: names.NameServer
    site: pages.Site

    @property
    def service(self) -> Service:
        return self.app.service

    @property
    def domains(self) -> str:
        return f"{self.service.address}/console/p/{self.project}/domains"

    @property
    def settings(self) -> str:
        return f"{self.service.address}/console/p/{self.project}/clients/{self.app.client_id}"

    @property
    def branding(self) -> str:
        return f"{self.settings}/branding"

    @property
    def review(self) -> str:
        return f"{self.settings}/review"

    def approved_hosts(self) -> list[str]:
        """Return what the service's own process says that the last approval took in."""
        return self.service.shell(APPROVED_HOSTS).split()


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """An app that nobody has reviewed, whose pages are there and whose domains nobody has proven."""
    with names.serve() as server, pages.serve() as site:
        for host in (BY_RECORD, f"www.{BY_RECORD}", BY_FILE, FOREIGN):
            server.set(host, "A", "127.0.0.1")
        for (host, path), title in TITLES.items():
            site.set(path, f"<!DOCTYPE html><title>{title}</title><h1>{title}</h1>", host=host)
        settings = {
            "DNS_SERVERS": server.address,
            "OUTBOUND_LOOPBACK_PORT": str(site.port),
            "REVIEW_SECOND_KEY_PEOPLE": "0",
        }
        with running(**settings) as service, listening(service, NAME) as app:
            reviewers = (FIRST_REVIEWER, SECOND_REVIEWER)
            people = [
                {"email": email, "password": PASSWORD, "given_name": email[:4].title().strip(".")}
                | ({"roles": ["reviewer"]} if email in reviewers else {})
                for email in (DEVELOPER, *reviewers, PERSON, NEWCOMER)
            ]
            project = {"name": NAME, "owner": DEVELOPER, "clients": [app.declaration()]}
            declared = service.provision(people=people, projects=[project])
            app.take_credentials(declared)
            yield World(app, declared["projects"][0]["id"], server, site)


def draw_logo(folder: Path) -> Path:
    """Return a picture that is like no other."""
    picture = Image.new("RGB", (200, 200), "white")
    pen = ImageDraw.Draw(picture)
    pen.polygon([(100, 10), (180, 150), (20, 150)], fill="darkgreen")
    pen.rectangle((85, 150, 115, 195), fill="saddlebrown")
    picture.save(folder / "logo.png")
    return folder / "logo.png"


def card_of(page: Page, domain: str) -> tuple[str, str]:
    """Return the value that the page of domains says to publish for a domain, and the address of its file."""
    card = page.get_by_role("region", name=domain, exact=True)
    expect(card).to_be_visible()
    value = card.locator("dt", has_text="Value").locator("xpath=following-sibling::dd[1]").locator("code").inner_text()
    place = card.locator("dt", has_text="URL").locator("xpath=following-sibling::dd[1]").locator("code")
    return value, place.inner_text()


def add_domain(page: Page, domain: str) -> tuple[str, str]:
    page.get_by_role("textbox", name="Domain").fill(domain)
    page.get_by_role("button", name="Add domain").click()
    expect(page.get_by_role("status")).to_contain_text(f"{domain} is added.")
    return card_of(page, domain)


def prove(page: Page, domain: str) -> None:
    card = page.get_by_role("region", name=domain, exact=True)
    card.get_by_role("button", name=re.compile("Check now")).click()


def send(page: Page) -> None:
    page.get_by_role("button", name="Save and send").click()


def badge_shows(page: Page, app: App, is_shown: bool, redirect_uri: str | None = None) -> None:
    """Load the consent page again, for one of the app's redirect URIs, and check for the badge and the logo.

    Nothing is allowed, so that each request asks.
    """
    page.goto(
        app.authorization_url(scope="openid email", prompt="consent", redirect_uri=redirect_uri or app.redirect_uri)
    )
    expect(page.get_by_role("heading", level=1)).to_contain_text(NAME)
    expect(page.get_by_text(REVIEWED, exact=True)).to_have_count(1 if is_shown else 0)
    expect(page.locator(".tile img")).to_have_count(1 if is_shown else 0)


def is_refused_until_its_domains_are_proven(page: Page, camera: Camera, world: World, logo: Path) -> None:
    """The developer fills the form in, is refused, and proves one domain by a record and another by a file."""
    page.goto(world.branding)
    sign_in(page, DEVELOPER)
    for field, value in BRANDING.items():
        page.fill(f"[name={field}]", value)
    page.set_input_files("[name=logo]", logo)
    page.get_by_role("button", name="Save", exact=True).click()
    page.goto(world.review)
    page.check("[name=ask_account_read]")
    for field, value in FIELDS.items():
        page.fill(f"[name={field}]", value)
    send(page)
    errors = page.get_by_role("alert")
    expect(errors).to_be_focused()
    for host in (BY_RECORD, f"www.{BY_RECORD}", BY_FILE):
        expect(errors).to_contain_text(host)
    camera.take("trust-review-refused")
    errors.get_by_role("link", name="Proven domains").click()
    expect(page).to_have_url(world.domains)

    token, _ = add_domain(page, BY_RECORD)
    prove(page, BY_RECORD)
    expect(page.get_by_role("status")).to_contain_text(f"No proof of {BY_RECORD} was found.")
    world.names.set(f"_openport-challenge.{BY_RECORD}", "TXT", "someone=else", token)
    prove(page, BY_RECORD)
    expect(page.get_by_role("status")).to_contain_text(f"{BY_RECORD} is proven.")

    token, place = add_domain(page, BY_FILE)
    # What answers everything with everything that it was asked proves nothing.
    path = place.removeprefix(f"https://{BY_FILE}")
    world.site.set(path, f"<title>{token}</title>{token}", host=BY_FILE)
    prove(page, BY_FILE)
    expect(page.get_by_role("status")).to_contain_text(f"No proof of {BY_FILE} was found.")
    camera.take("trust-domains")
    world.site.set(path, f"{token}\n", content_type="text/plain", host=BY_FILE)
    prove(page, BY_FILE)
    expect(page.get_by_role("status")).to_contain_text(f"{BY_FILE} is proven.")

    page.goto(world.branding)
    expect(page.locator("[name=terms_url]")).to_have_value(BRANDING["terms_url"])
    page.goto(world.review)
    send(page)
    expect(page.get_by_role("status")).to_contain_text("Submitted for review")


def first_approval(as_reviewer: Reviewer, camera: Camera) -> None:
    """The first reviewer looks at the evidence, is held to the checklist, and approves: nothing changes yet."""
    as_reviewer.open_from_the_queue()
    as_reviewer.start()
    for (host, path), title in TITLES.items():
        fact = as_reviewer.page.locator(".evidence__fact", has_text=f"https://{host}{path}").filter(has_text="Title:")
        expect(fact).to_contain_text(f"Title: “{title}”")
        expect(fact).to_contain_text("its title names the app")
    expect(as_reviewer.page.locator("#fact-domains")).to_contain_text("pass")
    camera.take("trust-as_reviewer")
    form = as_reviewer.begin_step("Approve")
    expect(as_reviewer.page.get_by_text("Yours is noted as the first")).to_be_visible()
    form.get_by_role("button", name=SEE_FIRST).click()
    expect(as_reviewer.page.get_by_text("This field is required").first).to_be_visible()
    camera.take("trust-approval-not-ticked")
    as_reviewer.open_from_the_queue()
    assert as_reviewer.take_step("Approve") == "", "the developers get an email of the first approval"
    expect(as_reviewer.page.locator("#second-approval")).to_contain_text("You gave the first approval")
    camera.take("trust-first-approval")


def second_approval(as_reviewer: Reviewer) -> None:
    as_reviewer.open_from_the_queue()
    expect(as_reviewer.page.locator("#second-approval")).to_contain_text("This review waits for a second approval.")
    assert "approved" in as_reviewer.take_step("Approve")


def adds_a_foreign_host(page: Page, camera: Camera, world: World) -> None:
    page.goto(world.settings)
    page.get_by_label("Redirect URL 2", exact=True).fill(FAR)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text(f"Not reviewed: {FOREIGN}. People who come from there")).to_be_visible()
    expect(page.get_by_text("Not at every host")).to_be_visible()
    camera.take("trust-foreign-host")


def takes_it_in(page: Page, world: World, people: Page) -> None:
    """The developer can't send the app with a foreign host. Proving it brings no badge until a review covers it."""
    page.goto(world.review)
    expect(page.get_by_role("heading", name="Hosts outside the review")).to_be_visible()
    send(page)
    page.get_by_role("alert").get_by_role("link", name="Proven domains").click()
    token, place = add_domain(page, FOREIGN)
    world.site.set(place.removeprefix(f"https://{FOREIGN}"), token, content_type="text/plain", host=FOREIGN)
    prove(page, FOREIGN)
    expect(page.get_by_role("status")).to_contain_text(f"{FOREIGN} is proven.")
    badge_shows(people, world.app, False, FAR)
    assert FOREIGN not in world.approved_hosts()
    page.goto(world.review)
    expect(page.get_by_role("heading", name="Hosts outside the review")).to_be_visible()
    send(page)
    expect(page.get_by_role("status")).to_contain_text("Submitted for review")


def publishes_a_page(page: Page, camera: Camera, world: World) -> str:
    page.goto(world.branding)
    page.get_by_role("link", name="Publish a public page").click()
    page.get_by_role("textbox").first.fill("grove")
    page.get_by_role("button", name="Publish a public page").click()
    expect(page.get_by_role("status")).to_contain_text("Published.")
    camera.take("trust-public-page-of-the-console")
    return f"{world.service.address}/apps/grove/"


def reports(page: Page, camera: Camera, world: World) -> None:
    """A person comes to the public page from Connected apps, and reports the app."""
    camera.visit(f"{world.service.address}/account/apps/", "trust-connected-apps")
    expect(page.get_by_role("link", name="About its review")).to_have_attribute("href", re.compile("/apps/grove/$"))
    page.get_by_role("link", name="Report this app").click()
    page.get_by_role("button", name="Send the report").click()
    expect(page.get_by_text("Choose what is wrong.").first).to_be_visible()
    camera.take("trust-report-refused")
    page.get_by_label("It misuses what it reads from my account").check()
    page.get_by_label("What happened").fill("It mailed my plan to my neighbours.")
    page.get_by_role("button", name="Send the report").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you for the report")
    camera.take("trust-reported")


def test_the_app_shows_what_was_approved(world: World, browser: Chromium, axe: str, tmp_path: Path) -> None:
    logo = draw_logo(tmp_path)

    def steps(browser: Browser) -> None:
        with ExitStack() as opened:
            maker, first, second, person, newcomer, stranger = (
                opened.enter_context(browser.new_context()).new_page() for _ in range(6)
            )
            makers, firsts, persons, strangers = (
                Camera(page, Watch(page.context), axe) for page in (maker, first, person, stranger)
            )
            app = world.app

            # Nobody has looked at it.
            person.goto(app.authorization_url())
            sign_in(person, PERSON)
            expect(person.get_by_text("has not reviewed this app")).to_be_visible()
            allow(person)
            arrive(person, app)

            is_refused_until_its_domains_are_proven(maker, makers, world, logo)
            as_reviewers = [
                Reviewer(page, world.service, email, NAME)
                for page, email in ((first, FIRST_REVIEWER), (second, SECOND_REVIEWER))
            ]
            first_approval(as_reviewers[0], firsts)
            badge_shows(person, app, False)
            maker.goto(world.review)
            expect(maker.get_by_text("This app is reviewed")).to_have_count(0)
            second_approval(as_reviewers[1])
            maker.goto(world.review)
            expect(maker.get_by_text("This app is reviewed")).to_be_visible()

            # Badge, logo, and the scope that two reviewers approved.
            person.goto(app.authorization_url(scope=WITH_PLAN))
            expect(person.get_by_text(REVIEWED, exact=True)).to_be_visible()
            assert person.locator(".tile img").evaluate("image => image.naturalWidth") > 0
            expect(person.locator(".access", has_text="plan").first).to_be_visible()
            persons.take("trust-consent")
            allow(person)
            arrive(person, app)
            newcomer.goto(app.authorization_url())
            sign_in(newcomer, NEWCOMER)
            expect(newcomer.get_by_text(REVIEWED, exact=True)).to_be_visible()

            # A foreign host: gone there on that very request, and there at the approved one.
            adds_a_foreign_host(maker, makers, world)
            badge_shows(person, app, False, FAR)
            expect(person.get_by_text(OUTSIDE)).to_be_visible()
            persons.take("trust-consent-at-the-foreign-host")
            badge_shows(newcomer, app, False, FAR)
            badge_shows(newcomer, app, True)

            takes_it_in(maker, world, newcomer)
            as_reviewers[0].open_from_the_queue()
            as_reviewers[0].start()
            as_reviewers[0].take_step("Approve")
            assert FOREIGN not in world.approved_hosts()
            second_approval(as_reviewers[1])
            assert FOREIGN in world.approved_hosts()
            badge_shows(newcomer, app, True, FAR)

            public = publishes_a_page(maker, makers, world)
            strangers.visit(public, "trust-public-page")
            for said in (REVIEWED, BY_RECORD, WHY):
                expect(stranger.get_by_text(said).first).to_be_visible()
            assert stranger.context.cookies() == []
            reports(person, persons, world)
            first.goto(f"{world.service.address}/admin/review/reviewcase/")
            firsts.take("trust-cases")
            first.get_by_role("link", name=NAME).click()
            expect(first.get_by_text("It mailed my plan to my neighbours.")).to_be_visible()
            expect(first.get_by_text("It misuses what it reads from my account")).to_be_visible()
            firsts.take("trust-case")

    browser.use(steps)
