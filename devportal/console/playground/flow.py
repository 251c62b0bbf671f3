"""The playground's steps: registering its redirect URI, the code exchange, the API calls."""

from dataclasses import dataclass, field

from django.db import transaction

from accounts.models import Account
from devportal.console.playground import internal_client, sessions, token_decoder
from devportal.console.playground.internal_client import Exchange
from devportal.console.playground.sessions import PlaygroundRun, Session
from devportal.console.playground.token_decoder import DecodedToken
from oidc import scopes
from oidc.clients.locking import lock_client
from oidc.clients.redirect_uris import playground_redirect_uri
from oidc.clients.registration import update_client
from oidc.models import Client

PROMPTS = {
    "": "left out: pages appear where they are needed",
    "consent": "consent: the consent page in any case",
    "login": "login: sign in again",
    "none": "none: no page, ever",
}
# Descriptions of the request's parameters.
PARAMETERS = {
    "response_type": "you want a code",
    "client_id": "this client",
    "redirect_uri": "where the answer goes; registered on the client, character for character",
    "scope": "what you ask for",
    "state": "random; has to come back as it is",
    "nonce": "random; has to come back in the ID token",
    "code_challenge": "SHA-256 of a secret, the verifier, which is shown when the code is exchanged",
    "code_challenge_method": "how the challenge was made",
    "prompt": "which pages you want to be shown",
}


@dataclass(frozen=True)
class ExchangeResult:
    """The result of a code exchange: request and response, and on success decoded tokens and API calls."""

    exchange: Exchange
    tokens: list[DecodedToken] = field(default_factory=list)
    refresh_token: str = ""
    granted: list[str] = field(default_factory=list)
    calls: list[Exchange] = field(default_factory=list)


def is_registered(client: Client) -> bool:
    """Return whether the playground's redirect URI is registered on the client."""
    return client.redirect_uri_allowed(playground_redirect_uri())


def set_registered(client: Client, actor: Account, wanted: bool) -> None:
    """Register the playground's redirect URI on a client, or remove it. Raises ValidationError, Gone."""
    address = playground_redirect_uri()
    with transaction.atomic():
        row = lock_client(client.pk)
        others = [uri for uri in row.registered_redirect_uris if uri != address]
        # Last in the list: the first redirect URI is the app's domain on the consent page.
        redirects = [*others, address] if wanted else others
        update_client(row, actor, redirects, row.registered_post_logout_redirect_uris)


def choose_scopes(client: Client, asked: list[str]) -> list[str]:
    """Return the scopes of `asked` that the client may request, with `openid`, in the order of SCOPES."""
    allowed = scopes.allowed_scopes(client)
    return scopes.format_scope({scopes.OPENID, *(name for name in asked if name in allowed)}).split()


def exchange_code(session: Session, run: PlaygroundRun, client: Client, secret: str) -> ExchangeResult:
    """Exchange the run's code, decode the tokens, and call the API with them. No token is stored."""
    sent = internal_client.exchange_code(run.form(), client.client_id, secret if client.has_secret else "")
    if not sent.is_good:
        return ExchangeResult(sent)
    answer = sent.answer
    sessions.record_tokens(session, run, answer["access_token"])
    granted = scopes.parse_scope(answer["scope"])
    return ExchangeResult(
        sent,
        [
            token_decoder.decode_id_token(answer["id_token"], client.client_id, run.nonce, answer["access_token"]),
            token_decoder.decode_access_token(answer["access_token"]),
        ],
        answer.get("refresh_token", ""),
        granted,
        [internal_client.get_endpoint(path, answer["access_token"]) for path in accessible_paths(granted)],
    )


def accessible_paths(granted: list[str]) -> list[str]:
    """Return the API endpoints that a token with these scopes may call."""
    opened = set(granted)
    me = ["/v1/me"] if opened & {"email", "profile"} else []
    return [*me, "/v1/me/plan"] if "account.read" in opened else me
