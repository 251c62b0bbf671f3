"""Leaving: a person takes their data along, deletes their account, changes their mind, and goes for good."""

import io
from pathlib import Path
from zipfile import ZipFile

import pytest
from playwright.sync_api import Page, expect

from tests.browser.camera import Camera
from tests.browser.steps import sign_in
from tests.browser.watch import Watch
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.slow]

ADA, OWNER = "ada.leaves@example.com", "only.owner@example.com"
THEIR_TIME_HAS_COME = f"""
from accounts.models import Account
from accounts.recovery.tasks import delete_closed_accounts
from core import clock
Account.objects.filter(email="{ADA}").exclude(deletion_due_at=None).update(deletion_due_at=clock.now())
assert delete_closed_accounts() == 1
"""


@pytest.fixture(scope="module")
def service(live_service: Service) -> Service:
    names = {"given_name": "Ada", "family_name": "Lovelace"}
    live_service.provision(
        people=[{"email": email, "password": PASSWORD} | names for email in (ADA, OWNER)],
        projects=[{"name": "Lighthouse", "owner": OWNER}],
    )
    return live_service


def heading(page: Page, text: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(text)


def test_a_person_exports_their_data(service: Service, browser: Chromium, axe: str, tmp_path: Path) -> None:
    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        page.goto(f"{service.address}/account/data")
        sign_in(page, ADA)
        heading(page, "Your data")
        camera.take("data")
        page.get_by_role("button", name="Create an export").click()
        heading(page, "Your data")
        expect(page.get_by_role("status")).to_contain_text("is ready")
        camera.take("data-with-an-export")
        with page.expect_download() as download:
            page.get_by_role("link", name="Download").click()
        assert download.value.suggested_filename.startswith("your-data-")
        with ZipFile(io.BytesIO(download.value.path().read_bytes())) as archive:
            archive.extractall(tmp_path)
        assert any("/account/data" in text for text in service.mails(ADA))
        # As it is on their own disk.
        camera.visit((tmp_path / "your-data.html").as_uri(), "export")
        expect(page.get_by_role("heading", level=1)).to_contain_text("Your data at")
        expect(page.locator("#profile")).to_contain_text(ADA)
        expect(page.locator("#security_activity")).to_contain_text("Asked for an export")
        assert page.pdf().startswith(b"%PDF")

    browser.visit(steps)


def test_a_person_closes_keeps_and_deletes_their_account(service: Service, browser: Chromium, axe: str) -> None:
    def close(page: Page) -> None:
        page.goto(f"{service.address}/account/data")
        page.get_by_role("link", name="Delete the account").click()
        heading(page, "Delete the account?")

    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        page.goto(f"{service.address}/account/")
        sign_in(page, ADA)
        close(page)
        camera.take("delete")
        page.get_by_role("button", name="Delete the account").click()
        heading(page, "Your account is closed")
        camera.take("closed")
        assert any("sign in, and confirm that you want" in " ".join(text.split()) for text in service.mails(ADA))
        page.get_by_role("link", name="sign in").click()
        sign_in(page, ADA)
        heading(page, "This account will be deleted")
        camera.take("to-be-deleted")
        for closed in ("/account/apps/", "/console/", "/account/data"):
            page.goto(f"{service.address}{closed}")
            heading(page, "This account will be deleted")
        page.get_by_role("button", name="Keep the account").click()
        expect(page.get_by_text("Your account will be kept.")).to_be_visible()
        page.goto(f"{service.address}/account/apps/")
        heading(page, "Connected apps")
        close(page)
        page.get_by_role("button", name="Delete the account").click()
        heading(page, "Your account is closed")

    def afterwards(page: Page) -> None:
        page.goto(f"{service.address}/account/login/")
        sign_in(page, ADA)
        expect(page.locator("form .alert--error")).to_be_visible()

    browser.visit(steps)
    service.shell(THEIR_TIME_HAS_COME)
    assert any("We have permanently deleted your account" in text for text in service.mails(ADA))
    browser.visit(afterwards)


def test_the_only_owner_of_a_project_gets_a_link_to_it(service: Service, browser: Chromium, axe: str) -> None:
    def steps(page: Page) -> None:
        camera = Camera(page, Watch(page.context), axe)
        page.goto(f"{service.address}/account/delete")
        sign_in(page, OWNER)
        heading(page, "Delete the account?")
        expect(page.get_by_role("button", name="Delete the account")).to_have_count(0)
        camera.take("delete-blocked")
        page.get_by_role("link", name="Open the project").click()
        heading(page, "Settings")

    browser.visit(steps)
