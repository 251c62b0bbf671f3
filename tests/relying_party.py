"""A relying party for tests: it sends requests as an app does, and reads the responses."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, quote_plus, urlencode, urlsplit

from django.test import Client as Browser

from accounts.models import Account
from core.credentials import random_text
from oidc.models import Client
from tests.factories import PASSWORD, REDIRECT_URI

FORM = "application/x-www-form-urlencoded"


def challenge_of(verifier: str) -> str:
    """Return the S256 challenge of a verifier (RFC 7636 §4.2)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def claims_of(token: str) -> dict[str, Any]:
    """Return the claims of a JWT, without verifying it."""
    part = token.split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return claims


def header_of(token: str) -> dict[str, Any]:
    """Return the header of a JWT, without verifying it."""
    part = token.split(".")[0]
    header: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return header


def authorization_request(client_id: str, redirect_uri: str, verifier: str, /, **changes: str) -> dict[str, str]:
    """Return the parameters of a request for a code (RFC 6749 §4.1.1, RFC 7636 §4.3)."""
    return {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": redirect_uri,
        "scope": "openid email offline_access",
        "state": "s",
        "code_challenge": challenge_of(verifier),
        "code_challenge_method": "S256",
    } | changes


def code_exchange(code: str, redirect_uri: str, verifier: str) -> dict[str, str]:
    """Return the form that exchanges a code (RFC 6749 §4.1.3, RFC 7636 §4.5)."""
    own = {"code": code, "redirect_uri": redirect_uri, "code_verifier": verifier}
    return {"grant_type": "authorization_code"} | own


def basic(client_id: str, secret: str, scheme: str = "Basic") -> str:
    """Return the Authorization header of a client (RFC 6749 §2.3.1)."""
    pair = f"{quote_plus(client_id)}:{quote_plus(secret)}"
    return f"{scheme} {base64.b64encode(pair.encode()).decode()}"


def sign_in(browser: Browser, account: Account) -> Browser:
    """Sign a person in through the sign-in page."""
    response = browser.post("/account/login/", {"login": account.email, "password": PASSWORD})
    assert response.status_code == 302, response.content
    return browser


def age_sign_in(browser: Browser, seconds: float) -> None:
    """Move the sign-in of this browser's session back by `seconds`."""
    session = browser.session
    for key in ("account_authentication_methods", "authentication"):
        records = session.get(key, {})
        for record in records if isinstance(records, list) else [records]:
            record["at"] -= seconds
        session[key] = records
    noted = session.get("authentication_steps", {"steps": []})
    for step in noted["steps"]:
        step["at"] -= seconds
    session["authentication_steps"] = noted
    session.save()


@dataclass
class RelyingParty:
    """One app, and the browser of one person who uses it."""

    client: Client
    browser: Browser
    secret: str | None = None
    verifier: str = field(default_factory=lambda: random_text(64))
    state: str = field(default_factory=lambda: random_text(16))
    nonce: str = field(default_factory=lambda: random_text(16))
    redirect_uri: str = REDIRECT_URI

    def parameters(self, **changes: str | None) -> dict[str, str]:
        """Return a complete authorization request; None leaves a parameter out."""
        asked = {"scope": "openid email profile offline_access", "state": self.state, "nonce": self.nonce}
        complete = authorization_request(self.client.client_id, self.redirect_uri, self.verifier, **asked)
        return {name: value for name, value in {**complete, **changes}.items() if value is not None}

    def authorize(self, **changes: str | None) -> Any:
        """Send the browser to the authorization endpoint."""
        return self.browser.get(f"/connect/authorize?{urlencode(self.parameters(**changes))}")

    def answer_consent(self, page: Any, decision: str = "allow", optional: Sequence[str] = ()) -> Any:
        """Press a button of the consent page, with these optional scopes ticked."""
        form = {"reference": page.context["reference"], "decision": decision, "optional": optional}
        return self.browser.post("/connect/consent", form)

    def consent_if_asked(self, response: Any) -> Any:
        """Allow on the consent page; return any other response, such as the page that leads to the app."""
        asks = response.status_code == 200 and "reference" in response.context
        return self.answer_consent(response) if asks else response

    def code(self, **changes: str | None) -> str:
        """Return a new code for the signed-in person, who consents if asked."""
        return answer_of(self.consent_if_asked(self.authorize(**changes)))["code"]

    def post(self, path: str, form: dict[str, str], **headers: str) -> Any:
        """Post a form as the app's server or script does: without the browser's cookies."""
        return Browser().post(path, urlencode(form), content_type=FORM, headers=headers)

    def beside(self, browser: Browser) -> "RelyingParty":
        """Return the same app with another browser."""
        return RelyingParty(self.client, browser, self.secret, redirect_uri=self.redirect_uri)

    def credentials(self) -> dict[str, str]:
        return {"client_id": self.client.client_id} | ({"client_secret": self.secret} if self.secret else {})

    def exchange(self, code: str, **changes: str) -> Any:
        """Exchange a code (RFC 6749 §4.1.3)."""
        form = code_exchange(code, self.redirect_uri, self.verifier)
        return self.post("/connect/token", form | self.credentials() | changes)

    def refresh(self, refresh_token: str, **changes: str) -> Any:
        """Send a refresh request (RFC 6749 §6)."""
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        return self.post("/connect/token", form | self.credentials() | changes)

    def tokens(self, **changes: str | None) -> dict[str, Any]:
        """Return a new token response for the signed-in person."""
        response = self.exchange(self.code(**changes))
        assert response.status_code == 200, response.content
        answer: dict[str, Any] = response.json()
        return answer

    def call(self, path: str, token: str) -> Any:
        """Call an endpoint with an access token."""
        return Browser().get(path, headers={"Authorization": f"Bearer {token}"})


def url_in_page(page: str) -> str:
    """Return the URL to which a page navigates, "" for a page that stays."""
    found = re.search(r'<meta http-equiv="refresh" content="0; url=([^"]*)">', page)
    return html.unescape(found[1]) if found else ""


def leads_to(response: Any) -> str:
    """Return the URL of the app to which a response sends the browser: by a redirect, or after a form by a page."""
    url = response["Location"] if response.status_code in (302, 303) else url_in_page(response.content.decode())
    assert url, (response.status_code, response.content[:600])
    return str(url)


def answer_of(response: Any) -> dict[str, str]:
    """Return the parameters with which the browser is sent back to the app."""
    return {name: values[0] for name, values in parse_qs(urlsplit(leads_to(response)).query).items()}
