"""People who create an account while something fails, and the duration of each of their requests."""

from collections.abc import Callable
from functools import partial
from urllib.parse import urljoin

import httpx

from tests.clients.person import PASSWORD, Form, Forms
from tests.faults.load import Ledger
from tests.services.service import Service


class NewPerson:
    """Someone who signs up in a separate browser; the ledger notes each request."""

    def __init__(self, service: Service, name: str, ledger: Ledger, browser: httpx.Client | None = None) -> None:
        self.email = f"{name.lower()}@example.com"  # as the service stores it
        self.browser = browser or service.client()
        self._ledger = ledger

    def sign_up(self) -> httpx.Response:
        """Submit the form with the password; return the page that asks for the code."""
        form = self._form_with("/account/signup/details/", "password1")
        names = {"email": self.email, "given_name": "Eve", "family_name": "", "password1": PASSWORD}
        return self._visit(self._send("sign-up", form, names))

    def type_code(self, code: str) -> httpx.Response:
        """Submit the mailed code; return the response."""
        return self._send("code", self._form_with("/account/confirm-email/", "code"), {"code": code})

    def _form_with(self, path: str, field: str) -> Form:
        page = self._noted("page", lambda: self.browser.get(path))
        (form,) = [form for form in Forms(page.text).found if field in form.fields]
        form.action = urljoin(str(page.url), form.action)
        return form

    def _send(self, name: str, form: Form, filled: dict[str, str]) -> httpx.Response:
        fields = {name: value for name, value in (form.fields | filled).items() if name}
        headers = {"Referer": form.action}
        return self._noted(name, lambda: self.browser.post(form.action, data=fields, headers=headers))

    def _visit(self, response: httpx.Response) -> httpx.Response:
        while response.has_redirect_location:
            url = urljoin(str(response.url), response.headers["Location"])
            response = self._noted("page", partial(self.browser.get, url))
        return response

    def _noted(self, name: str, send: Callable[[], httpx.Response]) -> httpx.Response:
        response = self._ledger.observe(name, send)
        assert response is not None, f"{name}: no answer"
        return response
