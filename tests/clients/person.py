"""A person at a browser without scripts: follows redirects, reads the forms of a page, fills them in."""

from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Protocol
from urllib.parse import urljoin, urlsplit

import httpx

PASSWORD = "violet kettle 41 harbour"
MOST_STEPS = 20


@dataclass
class Form:
    """A form: where it goes, what it holds, and its buttons as (name, value)."""

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
            return  # a button may stand in one form and belong to another
        elif tag == "input" and given.get("type") == "checkbox" and "checked" not in given:
            return  # what is not ticked is not sent
        elif tag == "input":
            self._open.fields[given.get("name", "")] = given.get("value", "")
        elif tag == "button":
            self._open.buttons.append((given.get("name", ""), given.get("value", "")))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None


class Site(Protocol):
    """What a person has to know of the service: where it is, and which addresses are its own."""

    @property
    def address(self) -> str: ...

    def owns(self, url: str) -> bool: ...

    def client(self) -> httpx.Client: ...


class Person:
    """Somebody who signs in and answers questions; cookies stay from visit to visit."""

    def __init__(self, service: Site, email: str, password: str = PASSWORD, decision: str = "allow") -> None:
        self.service = service
        self.email = email
        self.password = password
        self.decision = decision
        self.browser = service.client()
        self.asked: list[str] = []
        # Gives the code of an authenticator app, for those who have one.
        self.authenticator: Callable[[], str] | None = None

    def go(self, url: str) -> str:
        """Open a URL of the service and do what its pages ask for; return the app's URL that this leads to.

        `asked` says afterwards which questions there were: "sign-in", "two-step", "consent", "sign-out".
        """
        self.asked = []
        response = self.browser.get(url)
        for _ in range(MOST_STEPS):
            if response.has_redirect_location:
                url = urljoin(str(response.url), response.headers["Location"])
                if not self.service.owns(url):
                    return url
                response = self.browser.get(url)
            else:
                response = self._answer(response)
        raise AssertionError(f"no end after {MOST_STEPS} steps: {url}")

    def visit(self, url: str) -> httpx.Response:
        """Open a page of the service, signing in on the way where that is asked for; return the page."""
        response = self.browser.get(url, follow_redirects=True)
        if any("password" in form.fields for form in Forms(response.text).found):
            response = self._answer(response)
        return self.browser.get(url) if response.has_redirect_location else response

    def fill_in(self, page: httpx.Response, holding: str, file: bytes | None = None, **fields: str) -> httpx.Response:
        """Fill in the form of a page that has the field `holding`, and send it; a file goes into that field."""
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
        # As browsers do; over https a form is refused without it.
        return self.browser.post(
            address, data=fields, files=files, headers={"Origin": f"{parts.scheme}://{parts.netloc}"}
        )
