"""The page of ready-made applications: applications that run with the settings that it shows."""

import secrets
from collections.abc import Callable

import pytest

from tests.clients.terminal import Shown
from tests.guides.journey import leaves
from tests.guides.reading import OpenGuide, needs
from tests.services import keeper

pytestmark = [pytest.mark.slow, needs("go")]

OAUTH2_PROXY = "github.com/oauth2-proxy/oauth2-proxy/v7@v7.15.6"
PLACEHOLDER = "https://app.example.com"  # the page says to replace it


def open_page(guide: Callable[..., OpenGuide], callback: str) -> OpenGuide:
    """Register an application at a free port of this machine, and open the page."""
    port = keeper.free_port()
    origin = f"http://localhost:{port}"
    urls = {"redirect_uris": [f"{origin}{callback}"], "post_logout_redirect_uris": [f"{origin}/"]}
    return guide("applications", port=port, **urls)


def shown(app: OpenGuide, is_meant: Callable[[Shown], bool]) -> str:
    """Return a block of the page for this application."""
    return next(block.code for block in app.blocks if is_meant(block)).replace(PLACEHOLDER, app.origin)


def install(app: OpenGuide, package: str) -> None:
    """Install a program in the folder. The first build of a machine takes minutes."""
    app.finish(f"go install {package}", GOBIN=str(app.folder), GOFLAGS="-p=2")


def arrive(app: OpenGuide, path: str) -> str:
    """Follow the application's link to sign in, sign in, and return the page to which this leads."""
    arrived_at = app.person.go(leaves(app, path))
    page = app.person.browser.get(arrived_at, follow_redirects=True)
    assert page.status_code < 400, f"{page.url}\n{page.text[:2000]}\n{app.log.read_text()[-2000:]}"
    return page.text


def test_oauth2_proxy(guide: Callable[..., OpenGuide]) -> None:
    app = open_page(guide, "/oauth2/callback")
    install(app, OAUTH2_PROXY)
    (app.folder / "client_secret").write_text(app.client["client_secret"])
    (app.folder / "cookie_secret").write_text(secrets.token_hex(16))
    command = shown(app, lambda block: block.code.startswith("oauth2-proxy ")).replace(
        "http://127.0.0.1:8080/", "static://200"
    )
    # https, which this test does not have, is the default.
    app.run(f"./{command} --cookie-secure=false --http-address=127.0.0.1:{app.port}")
    arrive(app, "/oauth2/start?rd=/")
    assert app.person.browser.get(f"{app.origin}/oauth2/userinfo").json()["email"] == app.person.email

    app.close()
    app.person.browser.cookies.clear()
    without = command.replace("--code-challenge-method=S256", "--skip-jwt-bearer-tokens=false")
    app.run(f"./{without} --cookie-secure=false --http-address=127.0.0.1:{app.port}")
    assert "code_challenge" in app.person.go(leaves(app, "/oauth2/start?rd=/"))
