"""A browser app with oidc-client-ts in Chromium, on another port of the service's host."""

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.watch import Watch
from tests.clients.app import Files, answering
from tests.clients.conftest import ADA, OWNER
from tests.clients.person import PASSWORD
from tests.services.chromium import Chromium
from tests.services.service import Service

pytestmark = [pytest.mark.browser, pytest.mark.node]
LIBRARY = Path("oidc-client-ts/dist/browser/oidc-client-ts.min.js")


@pytest.fixture(scope="module")
def spa(live_service: Service, node_clients: Path) -> Iterator[str]:
    """The origin of a registered browser app."""
    settings = {"issuer": live_service.issuer}
    library = {"/oidc-client-ts.js": node_clients / "node_modules" / LIBRARY}
    with contextlib.ExitStack() as stack:
        handler = partial(Files, node_clients / "spa", library, settings)
        origin = f"http://localhost:{stack.enter_context(answering(handler))}"
        client = {
            "name": "Orbit Live",
            "type": "spa",
            "redirect_uris": [f"{origin}/callback.html", f"{origin}/silent.html"],
            "post_logout_redirect_uris": [f"{origin}/"],
        }
        declared = live_service.provision(
            people=[{"email": person, "password": PASSWORD} for person in (ADA, OWNER)],
            projects=[{"name": "Orbit Live", "owner": OWNER, "clients": [client]}],
        )
        settings["client_id"] = declared["projects"][0]["clients"][0]["client_id"]
        yield origin


def sign_in(page: Page, origin: str, scope: str) -> None:
    """Sign Ada in to the app, from the app's own page and back to it."""
    open_app(page, origin)
    page.evaluate("scope => sessionStorage.setItem('scope', scope)", scope)
    open_app(page, origin)
    page.evaluate("void manager.signinRedirect({ state: 'kept' })")
    page.fill("input[name=login]", ADA)
    page.fill("input[name=password]", PASSWORD)
    page.click("button[type=submit]:has-text('Sign in')")
    page.wait_for_selector("button[value=allow], :text('Browser app')")
    if page.query_selector("button[value=allow]"):
        page.click("button[value=allow]")
    page.wait_for_url(f"{origin}/")
    page.wait_for_function("window.manager")


def open_app(page: Page, origin: str) -> None:
    page.goto(f"{origin}/")
    page.wait_for_function("window.manager")


def user(page: Page) -> dict[str, Any]:
    """Return what the app knows of the person who is signed in to it."""
    known: dict[str, Any] = page.evaluate("manager.getUser()")
    return known


def test_sign_in_refresh_revoke_and_sign_out(live_service: Service, spa: str, browser: Chromium) -> None:
    def steps(page: Page) -> None:
        watch = Watch(page.context)
        sign_in(page, spa, "openid email profile offline_access")
        first = user(page)
        assert page.evaluate("sessionStorage.getItem('state')") == "kept"
        assert first["profile"]["email"] == ADA
        me = page.evaluate("token => me(token)", first["access_token"])
        assert (me["status"], me["body"]["id"]) == (200, first["profile"]["sub"])

        page.evaluate("manager.signinSilent()")
        second = user(page)
        assert second["refresh_token"] != first["refresh_token"]
        assert second["access_token"] != first["access_token"]
        assert second["profile"]["sub"] == first["profile"]["sub"]
        watch.check()

        page.evaluate("manager.revokeTokens()")
        assert user(page).get("refresh_token") is None
        watch.expect("/v1/me", 401)
        assert page.evaluate("token => me(token)", second["access_token"])["status"] == 401
        watch.expect("/connect/token", 400)
        page.evaluate("async user => manager.storeUser(new oidc.User(user))", second)
        assert page.evaluate("manager.signinSilent().catch(e => e.error)") == "invalid_grant"

        page.evaluate("void manager.signoutRedirect({ state: 'left' })")
        page.wait_for_url(f"{spa}/?state=*")
        page.wait_for_function("window.manager")
        assert page.evaluate("manager.signoutRedirectCallback().then(r => r.userState)") == "left"
        open_app(page, spa)
        assert page.evaluate("manager.signinSilent().catch(e => e.error)") == "login_required"
        watch.check()

    browser.visit(steps)


def test_renewal_in_a_hidden_frame(live_service: Service, spa: str, browser: Chromium) -> None:
    def steps(page: Page) -> None:
        watch = Watch(page.context)
        sign_in(page, spa, "openid email")
        first = user(page)
        assert first.get("refresh_token") is None
        page.evaluate("manager.signinSilent()")
        second = user(page)
        assert second["access_token"] != first["access_token"]
        assert second["profile"]["sub"] == first["profile"]["sub"]
        assert page.evaluate("token => me(token)", second["access_token"])["status"] == 200
        watch.check()

    browser.visit(steps)


def test_sign_in_in_a_popup(live_service: Service, spa: str, browser: Chromium) -> None:
    def open_popup(page: Page, **options: str) -> Page:
        with page.expect_popup() as opened:
            page.evaluate("options => { window.popup = manager.signinPopup(options); }", options)
        return opened.value

    def check_signed_in(page: Page, popup: Page) -> None:
        if not popup.is_closed():
            popup.wait_for_event("close")
        assert page.evaluate("popup.then(user => user.profile.email, error => `${error}`)") == ADA

    def steps(page: Page) -> None:
        watch = Watch(page.context)
        open_app(page, spa)
        popup = open_popup(page, prompt="consent")
        popup.fill("input[name=login]", ADA)
        popup.fill("input[name=password]", PASSWORD)
        popup.click("button[type=submit]:has-text('Sign in')")
        popup.wait_for_selector("button[value=allow]")
        assert popup.evaluate("opener !== null")
        popup.click("button[value=allow]")
        check_signed_in(page, popup)

        check_signed_in(page, open_popup(page))  # without pages: the consent is remembered
        watch.check()

        popup = open_popup(page, prompt="consent")
        popup.click("button[value=cancel]")
        popup.wait_for_event("close")
        assert page.evaluate("popup.catch(error => error.error)") == "access_denied"

    browser.visit(steps)
