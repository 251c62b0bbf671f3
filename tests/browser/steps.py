"""The actions of people on the pages, step by step."""

from typing import Any

from playwright.sync_api import CDPSession, Page, expect

from tests.clients.app import App
from tests.clients.person import PASSWORD
from tests.relying_party import claims_of
from tests.services.service import Service

ALLOW = "button[name=decision][value=allow]"
MOST_TABS = 30
FOCUS_SHOWS = """() => {
  const style = getComputedStyle(document.activeElement);
  return style.outlineStyle !== "none" || style.boxShadow !== "none";
}"""


def sign_in(page: Page, email: str, password: str = PASSWORD) -> None:
    """Fill in the sign-in form and submit it."""
    page.fill("input[name=login]", email)
    page.fill("input[name=password]", password)
    page.click("form:has(input[name=password]) button[type=submit]")


def sign_up(page: Page, email: str) -> None:
    """Go from the sign-in page to the sign-up page, fill in its form and submit it."""
    page.get_by_role("link", name="Create an account").click()
    type_new_email(page, email)
    page.fill("input[name=given_name]", "Mary")
    page.fill("input[name=password1]", PASSWORD)
    page.get_by_role("button", name="Create account").click()


def type_new_email(page: Page, email: str) -> None:
    """Fill in the first page of a sign-up and submit it."""
    page.fill("input[name=email]", email)
    page.get_by_role("button", name="Continue").click()


def sign_up_by_passkey(page: Page, service: Service, email: str, given_name: str) -> None:
    """Sign up from the sign-in page without a password, and enter the mailed code."""
    page.get_by_role("link", name="Create an account").click()
    type_new_email(page, email)
    page.fill("input[name=given_name]", given_name)
    page.get_by_role("button", name="Continue with a passkey").click()
    type_code(page, service, email)


def reset_password(page: Page, service: Service, email: str, password: str = PASSWORD) -> None:
    """Fill in the open page of a forgotten password, enter the mailed code, and choose a new password."""
    page.fill("input[name=email]", email)
    page.get_by_role("button", name="Send the code").click()
    type_code(page, service, email)
    page.fill("input[name=password1]", password)
    page.fill("input[name=password2]", password)
    page.click("form:has(input[name=password1]) button[type=submit]")


def type_code(page: Page, service: Service, email: str) -> None:
    """Enter the code that was just mailed."""
    field = page.locator("input[name=code]")
    expect(field).to_be_visible()
    field.fill(service.code_mailed_to(email))
    page.get_by_role("button", name="Confirm").click()


def allow(page: Page) -> None:
    """Press Allow on the consent page."""
    page.click(ALLOW)


def expect_consent_page(page: Page, app: App) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(f"{app.name} asks for access to your account")


def arrive(page: Page, app: App) -> dict[str, Any]:
    """Wait until the browser is back at the app, exchange the code, and return the claims of the ID token."""
    page.wait_for_url(f"{app.redirect_uri}?*")
    answer = app.answer()
    assert answer["state"]
    assert answer["iss"] == app.service.issuer
    exchanged = app.exchange(answer["code"])
    assert exchanged.status_code == 200, exchanged.text
    return claims_of(exchanged.json()["id_token"])


class Device:
    """A virtual device of one page, which creates and stores passkeys. Its owner unlocks it immediately."""

    def __init__(self, page: Page) -> None:
        self._session: CDPSession = page.context.new_cdp_session(page)
        self._session.send("WebAuthn.enable")
        options = {
            "protocol": "ctap2",
            "transport": "internal",
            "hasResidentKey": True,
            "hasUserVerification": True,
            "isUserVerified": True,
            "automaticPresenceSimulation": True,
        }
        added = self._session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
        self._id = {"authenticatorId": added["authenticatorId"]}

    def lock(self) -> None:
        """Reject every request from now on, as if the owner pressed Cancel."""
        self._session.send("WebAuthn.setUserVerified", self._id | {"isUserVerified": False})

    def unlock(self) -> None:
        """Accept requests again."""
        self._session.send("WebAuthn.setUserVerified", self._id | {"isUserVerified": True})

    def passkeys(self) -> list[dict[str, Any]]:
        """Return the passkeys on this device."""
        kept: list[dict[str, Any]] = self._session.send("WebAuthn.getCredentials", self._id)["credentials"]
        return kept

    def take(self, passkeys: list[dict[str, Any]]) -> None:
        """Add the passkeys of another `Device` that stands for the same device on another page."""
        for passkey in passkeys:
            self._session.send("WebAuthn.addCredential", self._id | {"credential": passkey})


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until the element has the focus, and check that the focus is visible."""
    for _ in range(MOST_TABS):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            assert page.evaluate(FOCUS_SHOWS), f"the focus on {selector} can't be seen"
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} did not get the focus after {MOST_TABS} tabs")
