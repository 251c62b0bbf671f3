"""A person with a browser without scripts, who follows redirects, and reads and fills in the forms of pages."""

from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Protocol
from urllib.parse import urljoin, urlsplit

import httpx

from tests.relying_party import url_in_page

PASSWORD = "violet kettle 41 harbour"
MOST_STEPS = 20


@dataclass
class Form:
    """A form: its target, the values of its fields, and its buttons as (name, value)."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[tuple[str, str]] = field(default_factory=list)


class Forms(HTMLParser):
    """Collects the forms of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[Form] = []
        self._open: Form | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._open = Form(given.get("action", ""))
            self.found.append(self._open)
        elif self._open is None or "form" in given:
            return  # a button may be inside one form and belong to another
        elif tag == "input" and given.get("type") == "checkbox" and "checked" not in given:
            return  # browsers don't send checkboxes that are not ticked
        elif tag == "input":
            self._open.fields[given.get("name", "")] = given.get("value", "")
        elif tag == "button":
            self._open.buttons.append((given.get("name", ""), given.get("value", "")))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None


class Site(Protocol):
    """The parts of a service that a person needs: its URL, which URLs belong to it, and a client for it."""

    @property
    def address(self) -> str: ...

    def owns(self, url: str) -> bool: ...

    def client(self) -> httpx.Client: ...


class Person:
    """Someone who signs in and answers the questions of pages. Cookies are kept."""

    def __init__(self, service: Site, email: str, password: str = PASSWORD, decision: str = "allow") -> None:
        self.service = service
        self.email = email
        self.password = password
        self.decision = decision
        self.browser = service.client()
        self.asked: list[str] = []
        # Returns the current code, if the person has an authenticator app.
        self.authenticator: Callable[[], str] | None = None

    def go(self, url: str) -> str:
        """Open a URL of the service and do what its pages ask for; return the app's URL to which this leads.

        Afterwards, `asked` has the questions that were asked: "sign-in", "two-step", "consent", "sign-out".
        """
        self.asked = []
        response = self.browser.get(url)
        for _ in range(MOST_STEPS):
            if led_on := response.headers.get("Location") or url_in_page(response.text):
                url = urljoin(str(response.url), led_on)
                if not self.service.owns(url):
                    return url
                response = self.browser.get(url)
            else:
                response = self._answer(response)
        raise AssertionError(f"no end after {MOST_STEPS} steps: {url}")

    def visit(self, url: str) -> httpx.Response:
        """Open a page of the service, and sign in if the service asks for it; return the page."""
        response = self.browser.get(url, follow_redirects=True)
        if any("password" in form.fields for form in Forms(response.text).found):
            response = self._answer(response)
        return self.browser.get(url) if response.has_redirect_location else response

    def fill_in(self, page: httpx.Response, holding: str, file: bytes | None = None, **fields: str) -> httpx.Response:
        """Fill in and send the form that has the field `holding`. If there is a `file`, it is sent in that field."""
        form = next((form for form in Forms(page.text).found if holding in form.fields), None)
        assert form is not None, (page.status_code, page.text)
        return self._send(page, form, form.fields | fields, {holding: file} if file is not None else None)

    def _answer(self, response: httpx.Response) -> httpx.Response:
        assert response.status_code == 200, (response.status_code, str(response.url), response.text)
        for form in Forms(response.text).found:
            if "login" in form.fields and "password" in form.fields:
                self.asked.append("sign-in")
                filled = form.fields | {"login": self.email, "password": self.password}
                return self._send(response, form, filled)
            if "code" in form.fields and self.authenticator is not None:
                self.asked.append("two-step")
                return self._send(response, form, form.fields | {"code": self.authenticator()})
            decisions = {value for name, value in form.buttons if name == "decision"}
            for decision, question in ((self.decision, "consent"), ("sign-out", "sign-out")):
                if decision in decisions:
                    self.asked.append(question)
                    return self._send(response, form, form.fields | {"decision": decision})
        raise AssertionError(f"a page that leads nowhere: {response.url}\n{response.text}")

    def _send(
        self, page: httpx.Response, form: Form, filled: dict[str, str], files: dict[str, bytes] | None = None
    ) -> httpx.Response:
        fields = {name: value for name, value in filled.items() if name and name not in (files or {})}
        address = urljoin(str(page.url), form.action)
        parts = urlsplit(address)
        assert parts.netloc == urlsplit(str(page.url)).netloc
        # Browsers send this header, and over https forms are refused without it.
        return self.browser.post(
            address, data=fields, files=files, headers={"Origin": f"{parts.scheme}://{parts.netloc}"}
        )
