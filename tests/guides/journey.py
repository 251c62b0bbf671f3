"""Test what the app of every guide has to do, as a person with a browser."""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urljoin

import httpx
from bs4 import BeautifulSoup

from tests.guides.reading import OpenGuide
from tests.guides.tokens import count_refresh_tokens


@dataclass(frozen=True)
class Press:
    """A button on a page of the app, for actions that are a form in the app and not a link."""

    button: str
    page: str = "/"


Way = str | Press


@dataclass(frozen=True)
class Paths:
    """The paths of the parts of an app, which differ between libraries."""

    home: str = "/"
    sign_in: Way = "/sign-in"
    me: str = "/me"
    refresh: Way = Press("Refresh")
    sign_out: Way = Press("Sign out")
    signed_out_refresh: str = ""  # a path where a POST leads to the sign-in if nobody is signed in


def walk(
    app: OpenGuide,
    paths: Paths | None = None,
    *,
    refusal: str = "access_denied",
    before_refresh: Callable[[], None] | None = None,
) -> None:
    """Sign in, call the API, refresh, sign out at app and service, and decline once, when the app shows `refusal`."""
    paths = paths or Paths()
    ada = app.person
    _see_signed_out(app, paths)
    assert "Hello, Ada Lovelace" in sign_in(app, paths).text
    before = _me(app, paths)
    assert (before["email"], before["name"]) == (ada.email, "Ada Lovelace")

    issued = count_refresh_tokens(app.service, app.client["client_id"])
    for times in (1, 2):  # the second refresh uses the token from the first
        if before_refresh:
            before_refresh()
        _refresh(app, paths)
        assert count_refresh_tokens(app.service, app.client["client_id"]) == issued + times, "refreshed"
    assert _me(app, paths)["id"] == before["id"]

    arrived_at = ada.go(leaves(app, paths.sign_out))
    page = ada.browser.get(arrived_at, follow_redirects=True)
    assert "Hello, Ada Lovelace" not in ada.browser.get(f"{app.origin}{paths.home}").text
    sign_in(app, paths)
    assert "sign-in" in ada.asked, "the person was signed out at the service too"

    ada.browser.cookies.clear()
    ada.decision = "cancel"
    arrived_at = ada.go(f"{leaves(app, paths.sign_in)}&prompt=consent")
    page = ada.browser.get(arrived_at, follow_redirects=True)
    assert refusal in page.text, _said(app, page)


def refusal_of(app: OpenGuide, way: Way) -> str:
    """Return the app's page after the service has refused its sign-in request, with details (`_said`)."""
    arrived_at = app.person.go(leaves(app, way))
    assert "error=" in arrived_at, arrived_at
    return _said(app, app.person.browser.get(arrived_at, follow_redirects=True))


def sign_in(app: OpenGuide, paths: Paths) -> httpx.Response:
    """Sign in to the app, and return its page."""
    arrived_at = app.person.go(leaves(app, paths.sign_in))
    page = app.person.browser.get(arrived_at, follow_redirects=True)
    assert page.status_code == 200, _said(app, page)
    return page


def _refresh(app: OpenGuide, paths: Paths) -> None:
    page = _take(app, paths.refresh)
    if page.has_redirect_location:
        page = app.person.browser.get(urljoin(str(page.url), page.headers["Location"]), follow_redirects=True)
    assert page.status_code == 200, _said(app, page)


def _see_signed_out(app: OpenGuide, paths: Paths) -> None:
    """Check that people who are not signed in get no error page and no profile: the app leads to its sign-in."""
    browser = app.person.browser
    answers = [browser.get(f"{app.origin}{paths.me}")]
    if paths.signed_out_refresh:
        answers.append(browser.post(f"{app.origin}{paths.signed_out_refresh}", headers={"Origin": app.origin}))
    for answer in answers:
        assert answer.status_code < 500, _said(app, answer)
        assert app.person.email not in answer.text, _said(app, answer)
        if answer.has_redirect_location:
            url = urljoin(str(answer.url), answer.headers["Location"])
            assert app.service.owns(url) or browser.get(url).status_code < 400, _said(app, answer)
    browser.cookies.clear()


def leaves(app: OpenGuide, way: Way) -> str:
    """Follow the app's own redirects, and return the URL of the service to which they lead."""
    page = _take(app, way)
    for _ in range(5):
        assert page.has_redirect_location, _said(app, page)
        url = urljoin(str(page.url), page.headers["Location"])
        if app.service.owns(url):
            return url
        page = app.person.browser.get(url)
    raise AssertionError(f"the app leads nowhere: {url}")


def _take(app: OpenGuide, way: Way) -> httpx.Response:
    """Return the app's response to a link, or to a button that is pressed."""
    browser = app.person.browser
    if isinstance(way, str):
        return browser.get(f"{app.origin}{way}")
    page = browser.get(f"{app.origin}{way.page}", follow_redirects=True)
    forms = BeautifulSoup(page.text, "html.parser").find_all("form")
    form = next((form for form in forms if way.button in [button.get_text() for button in form("button")]), None)
    assert form is not None, _said(app, page)
    fields = {str(field["name"]): str(field.get("value", "")) for field in form("input") if field.get("name")}
    address = urljoin(str(page.url), str(form.get("action", "")))
    headers = {"Origin": app.origin, "Referer": str(page.url)}  # as browsers send them
    if form.get("enctype") == "multipart/form-data":
        parts = {name: (None, value) for name, value in fields.items()}
        answer = browser.post(address, files=parts, headers=headers)
    else:
        answer = browser.post(address, data=fields, headers=headers)
    assert answer.status_code not in (307, 308), "a browser would POST again, to where this leads"
    return answer


def _me(app: OpenGuide, paths: Paths) -> dict[str, str]:
    page = app.person.browser.get(f"{app.origin}{paths.me}")
    assert page.status_code == 200, _said(app, page)
    answer: dict[str, str] = page.json()
    return answer


def _said(app: OpenGuide, page: httpx.Response) -> str:
    log = app.log.read_text(errors="replace")[-3000:] if app.log.exists() else ""
    return f"{page.status_code} {page.url}\n{page.text[:3000]}\n{log}"
