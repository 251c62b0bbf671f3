"""A developer who uses the playground."""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from django.test import Client as Browser
from django.urls import reverse

from devportal.console.playground.flow import SESSION_KEY
from oidc.models import Client
from tests.relying_party import leads_to

CALLBACK = "/console/playground/callback"


@dataclass
class Playground:
    """The playground of one client, in one browser."""

    client: Client
    browser: Browser

    def path(self, name: str = "playground") -> str:
        return reverse(f"console:{name}", args=[self.client.project.public_id, self.client.client_id])

    def page(self) -> Any:
        return self.browser.get(self.path())

    def post(self, name: str, **fields: Any) -> Any:
        return self.browser.post(self.path(f"playground_{name}"), fields)

    def open(self) -> "Playground":
        """Register the playground's redirect URL."""
        assert self.post("address", wanted="yes").status_code == 302
        return self

    @property
    def run(self) -> dict[str, Any]:
        kept: dict[str, Any] = self.browser.session[SESSION_KEY]
        return kept

    def begin(self, *scopes: str, **optional: str | list[str]) -> str:
        """Create a request, and return the URL to which the page sends the developer."""
        assert self.post("begin", scope=list(scopes), **optional).status_code == 302
        url: str = self.page().context["run"].url()
        return url

    def sign_in(self, url: str, decision: str = "allow") -> str:
        """Open the URL, answer the consent page, and return the URL to which this redirects, without opening it."""
        response = self.browser.get(_path(url))
        if response.status_code == 200:
            form = {"reference": response.context["reference"], "decision": decision}
            response = self.browser.post("/connect/consent", form)
        return leads_to(response)

    def arrive(self, location: str) -> Any:
        return self.browser.get(_path(location))

    def go(self, *scopes: str, decision: str = "allow") -> Any:
        """Take all steps up to the exchange; return the page that asks for it."""
        arrived = self.arrive(self.sign_in(self.begin(*scopes), decision))
        assert (arrived.status_code, arrived["Location"]) == (302, self.path())
        return self.page()

    def exchange(self, secret: str = "", once: str | None = None, **more: str) -> Any:
        marked = self.page().context["once"] if once is None else once
        return self.post("exchange", client_secret=secret, once=marked, **more)

    def refresh(self, refresh_token: str, once: str | None = None, **more: str) -> Any:
        marked = self.page().context["once"] if once is None else once
        return self.post("refresh", refresh_token=refresh_token, once=marked, **more)


def _path(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"


def parameters_of(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query))


def tokens_on(page: Any) -> dict[str, Any]:
    """Return the token response that a page shows."""
    answer: dict[str, Any] = page.context["result"].exchange.answer
    return answer


def tokens_in(text: str) -> list[str]:
    """Return everything in a text that looks like a token of this service."""
    return re.findall(r"eyJ[\w-]+\.[\w-]+\.[\w-]+", text)
