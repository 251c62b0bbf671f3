"""Everything that a person, an app and a script have from the service, and tests that it works after a move."""

import csv
import io
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from authlib.common.security import generate_token
from authlib.integrations.httpx_client import OAuth2Client
from joserfc import jwt
from joserfc.jwk import KeySet
from PIL import Image

from tests.clients.person import PASSWORD, Person
from tests.services.proxies import Proxy
from tests.totp import totp

ADA, OWNER, REDIRECT_URI = "ada@example.com", "owner@example.com", "https://notes.example.com/callback"
PERMISSIONS = ["account.read"]
SECTIONS: dict[str, list[dict[str, Any]]] = {
    "people": [
        {"email": ADA, "password": PASSWORD, "given_name": "Ada", "family_name": "Lovelace"},
        {"email": OWNER, "password": PASSWORD, "given_name": "Grace"},
    ],
    "projects": [
        {
            "name": "Orbit",
            "owner": OWNER,
            "clients": [{"name": "Orbit Web", "type": "web", "redirect_uris": [REDIRECT_URI]}],
            "api_keys": [{"name": "reports", "owner": OWNER, "permissions": PERMISSIONS}],
        }
    ],
}
TOTP_SECRET = re.compile(r"\b[A-Z2-7]{32}\b")


@dataclass
class Journey:
    """The service at its public URLs, and the credentials and data that it has given out."""

    proxy: Proxy
    project: str
    client_id: str
    client_secret: str
    api_key: str
    tokens: dict[str, Any] = field(default_factory=dict)
    me: dict[str, Any] = field(default_factory=dict)
    picture: bytes = b""
    totp_secret: str = ""

    @classmethod
    def begin(cls, proxy: Proxy, declared: dict[str, Any]) -> "Journey":
        """Return a journey with the credentials from the output of `provision --json` for SECTIONS."""
        project = declared["projects"][0]
        client, key = project["clients"][0], project["api_keys"][0]
        return cls(proxy, project["id"], client["client_id"], client["client_secret"], key["key"])

    @property
    def address(self) -> str:
        return self.proxy.address("auth")

    def client(self) -> httpx.Client:
        """Return an HTTP client that goes through the proxy, with separate cookies."""
        return httpx.Client(transport=self.proxy.transport(), timeout=20)

    def owns(self, url: str) -> bool:
        return urlsplit(url).netloc == urlsplit(self.address).netloc

    def person(self, address: str = ADA) -> Person:
        """Return a person with a new browser."""
        person = Person(self, address)
        if address == ADA and self.totp_secret:
            person.authenticator = self._code
        return person

    def app(self) -> Any:
        """Return the app: Authlib's client."""
        return OAuth2Client(
            self.client_id,
            self.client_secret,
            scope="openid email profile offline_access",
            redirect_uri=REDIRECT_URI,
            code_challenge_method="S256",
            timeout=20,
            transport=self.proxy.transport(),
        )

    def at(self, host: str, path: str, **headers: str) -> httpx.Response:
        """Return the response of one of the hosts to a request without cookies."""
        with self.client() as caller:
            return caller.get(f"{self.proxy.address(host)}{path}", headers=headers)

    def call(self, credential: str) -> dict[str, Any]:
        """Return the response of `/v1/me` to a token or a key."""
        answer: dict[str, Any] = (
            self.at("api", "/v1/me", Authorization=f"Bearer {credential}").raise_for_status().json()
        )
        return answer

    def sign_in(self, person: Person) -> dict[str, Any]:
        """Sign a person in from the app, check the ID token, and return the tokens."""
        app, metadata = self.app(), self.at("auth", "//.well-known/openid-configuration").json()
        nonce, verifier = generate_token(20), generate_token(48)
        url, state = app.create_authorization_url(
            metadata["authorization_endpoint"], nonce=nonce, code_verifier=verifier
        )
        callback = person.go(url)
        assert parse_qs(urlsplit(callback).query)["iss"] == [metadata["issuer"]]
        tokens: dict[str, Any] = app.fetch_token(
            metadata["token_endpoint"], authorization_response=callback, state=state, code_verifier=verifier
        )
        assert self.claims(tokens["id_token"])["nonce"] == nonce
        return tokens

    def claims(self, id_token: str) -> dict[str, Any]:
        """Return the claims of an ID token, verified with the keys that are published now."""
        metadata = self.at("auth", "/.well-known/openid-configuration").json()
        keys = KeySet.import_key_set(self.at("auth", urlsplit(metadata["jwks_uri"]).path).json())
        claims: dict[str, Any] = jwt.decode(id_token, keys, algorithms=["RS256"]).claims
        assert (claims["iss"], claims["aud"]) == (metadata["issuer"], self.client_id)
        return claims

    def refresh(self) -> None:
        """Use the refresh token, and store the new tokens."""
        self.tokens = self.app().refresh_token(
            f"{self.address}/connect/token", refresh_token=self.tokens["refresh_token"]
        )

    # --- Before the move ---

    def live(self) -> None:
        """Sign in, upload a picture, and set up an authenticator app."""
        ada = self.person()
        self.tokens = self.sign_in(ada)
        assert ada.asked == ["sign-in", "consent"]
        account = f"{self.address}/account/"
        red = io.BytesIO()
        Image.new("RGB", (64, 64), (200, 30, 30)).save(red, "PNG")
        answer = ada.fill_in(ada.visit(f"{account}profile"), "picture", red.getvalue())
        assert answer.status_code == 302, answer.text
        page = ada.visit(f"{account}2fa/totp/activate/")
        found = TOTP_SECRET.search(page.text)
        assert found is not None, (page.status_code, page.url, page.text)
        self.totp_secret = found[0]
        # The code of the period before is valid too, and leaves the current one for the next sign-in.
        assert ada.fill_in(page, "code", code=totp(self.totp_secret, -1)).status_code == 302
        self.me = self.call(self.tokens["access_token"])
        assert (self.me["id"], self.me["email"]) == (self.claims(self.tokens["id_token"])["sub"], ADA)
        self.picture = self._picture()

    def invite(self, address: str) -> Person:
        """Invite someone to the project, so that an email waits in the outbox; return the signed-in owner."""
        owner = self.person(OWNER)
        members = f"{self.address}/console/p/{self.project}/team"
        page = owner.visit(members)
        assert owner.fill_in(page, "email", email=address, role="viewer").status_code == 302
        return owner

    def counted(self, owner: Person) -> int:
        """Return how many calls of the project the console shows."""
        table = owner.browser.get(f"{self.address}/console/p/{self.project}/analytics?format=csv")
        return sum(int(row["requests"]) for row in csv.DictReader(io.StringIO(table.text)))

    # --- After the move ---

    def lives_on(self) -> None:
        """Check that everything from before works: ids, keys, secrets, tokens, picture, authenticator app."""
        assert self.call(self.tokens["access_token"]) == self.me
        assert self.claims(self.tokens["id_token"])["sub"] == self.me["id"]
        assert self._picture() == self.picture
        assert self.call(self.api_key)["email"] == OWNER
        self.refresh()
        assert self.call(self.tokens["access_token"])["id"] == self.me["id"]
        ada = self.person()
        assert self.claims(self.sign_in(ada)["id_token"])["sub"] == self.me["id"]
        assert ada.asked == ["sign-in", "two-step"]

    def _picture(self) -> bytes:
        address = urlsplit(self.me["picture"])
        answer = self.at("auth", address.path)
        assert answer.headers["Content-Type"] == "image/webp"
        return answer.content

    def _code(self) -> str:
        return totp(self.totp_secret)
