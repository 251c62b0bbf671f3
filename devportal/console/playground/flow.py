"""A run of the playground: its steps, and its state in the developer's session."""

import base64
import hashlib
from collections.abc import MutableMapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hmac import compare_digest
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from accounts.models import Account
from api.endpoint import endpoints_with_scope
from core import clock
from core.credentials import digest, random_text
from core.database import encryption
from devportal.console.playground import internal_client, token_decoder
from devportal.console.playground.internal_client import Exchange
from devportal.console.playground.token_decoder import DecodedToken
from oidc.apis import scopes
from oidc.apis.registry import OPENID, ApiSnapshot, Scope, current_registry
from oidc.clients.lookup import lock_client
from oidc.clients.registration import update_client
from oidc.models import AccessToken, Client, RefreshToken, TokenFamily
from oidc.tokens import refresh_tokens
from oidc.tokens.vouchers import Voucher
from oidc.values.parameters import Parameters
from oidc.values.reasons import Reason
from oidc.values.redirect_uris import playground_redirect_uri

SESSION_KEY = "playground"
STARTED, ANSWERED, EXCHANGED = "started", "answered", "exchanged"
# Parameters of an authorization response (RFC 6749 §4.1.2, RFC 9207).
ANSWER = ("code", "state", "iss", "error", "error_description")
OPTIONAL_PARAMETERS = ("prompt", "max_age", "login_hint", "acr_values")
LONGEST_SHOWN = 500  # characters in a field of the response

Session = MutableMapping[str, Any]


class ForeignAnswer(Exception):
    """An authorization response that belongs to no run of this session. The argument is the reason, for the log."""


@dataclass
class PlaygroundRun:
    """A run as stored in the session, without tokens and secrets."""

    account: int
    project: str
    client_id: str
    scope: str
    state: str
    nonce: str
    verifier: str
    at: float
    prompt: str = ""
    stage: str = STARTED
    code: str = ""  # encrypted
    code_digest: str = ""
    error: str = ""
    error_description: str = ""
    family: int | None = None
    max_age: str = ""
    login_hint: str = ""
    acr_values: str = ""
    resources: list[str] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        return clock.timestamp() > self.at + settings.PENDING_REQUEST_SECONDS

    @property
    def has_code(self) -> bool:
        """Return whether there is a readable code to exchange."""
        return bool(self.code) and encryption.is_readable(self.code)

    def parameters(self) -> list[tuple[str, str]]:
        """Return the authorization request. Only `resource` can be repeated."""
        request = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": playground_redirect_uri(),
            "scope": self.scope,
            "state": self.state,
            "nonce": self.nonce,
            "code_challenge": _challenge_of(self.verifier),
            "code_challenge_method": "S256",
        }
        optional = {name: getattr(self, name) for name in OPTIONAL_PARAMETERS}
        request |= {name: value for name, value in optional.items() if value}
        return [*request.items(), *(("resource", identifier) for identifier in self.resources)]

    def url(self) -> str:
        """Return the URL of the authorization request."""
        return f"{settings.AUTH_URL}/connect/authorize?{urlencode(self.parameters())}"

    def form(self, resource: str = "") -> dict[str, str]:
        """Return the form fields of the token request, without client authentication."""
        fields = {
            "grant_type": "authorization_code",
            "code": encryption.decrypt(self.code),
            "redirect_uri": playground_redirect_uri(),
            "code_verifier": self.verifier,
        }
        return fields | _resource_field(resource)


def _resource_field(resource: str) -> dict[str, str]:
    return {"resource": resource} if resource else {}


def _challenge_of(verifier: str) -> str:
    """Return the S256 challenge of a verifier (RFC 7636 §4.2)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _read(kept: Any) -> PlaygroundRun | None:
    """Parse a stored run; return None if there is none, or another version of this service stored it."""
    try:
        return PlaygroundRun(**kept)
    except TypeError:
        return None


def find_run(session: Session, account: Account, client: Client | None = None) -> PlaygroundRun | None:
    """Return the unexpired run of this session if it belongs to this person (and to `client`, if given)."""
    run = _read(session.get(SESSION_KEY))
    if run is None or run.account != account.pk or (run.is_over and run.stage != EXCHANGED):
        return None
    return run if client is None or client.client_id == run.client_id else None


def _keep(session: Session, run: PlaygroundRun) -> None:
    session[SESSION_KEY] = asdict(run)


def begin_run(
    session: Session,
    account: Account,
    client: Client,
    scope: str,
    *,
    resources: Sequence[str] = (),
    **optional: Any,
) -> PlaygroundRun:
    """Begin a run. The previous run ends and its tokens are revoked. `optional` are OPTIONAL_PARAMETERS."""
    end_run(session, account)
    run = PlaygroundRun(
        account=account.pk,
        project=client.project.public_id,
        client_id=client.client_id,
        scope=scope,
        state=random_text(22),
        nonce=random_text(22),
        verifier=random_text(64),
        at=clock.timestamp(),
        resources=list(resources),
        **optional,
    )
    _keep(session, run)
    return run


def store_answer(session: Session, account: Account, answer: Parameters) -> PlaygroundRun:
    """Store an authorization response in its run, and return the run. Raises ForeignAnswer.

    A reload may send the same response again. A different response is rejected.
    """
    run = find_run(session, account)
    if run is None:
        raise ForeignAnswer("no run was started in this session")
    if not all(answer.is_clear(name) for name in ANSWER):
        raise ForeignAnswer("a parameter is repeated or unreadable")
    if not compare_digest((answer.get("state") or "").encode(), run.state.encode()):
        raise ForeignAnswer("another state")
    if answer.get("iss") != settings.ISSUER:
        raise ForeignAnswer("another issuer")
    code = answer.get("code") or ""
    if run.stage != STARTED:
        if digest(code) != run.code_digest:
            raise ForeignAnswer("the run already has a response")
        return run
    run.stage, run.code_digest = ANSWERED, digest(code)
    run.code = encryption.encrypt(code) if code else ""
    run.error = (answer.get("error") or "")[:LONGEST_SHOWN]
    run.error_description = (answer.get("error_description") or "")[:LONGEST_SHOWN]
    _keep(session, run)
    return run


def record_tokens(session: Session, run: PlaygroundRun, access_token: str) -> None:
    """Drop the code, and store the key of the token family, to revoke it at the end of the run."""
    row = AccessToken.objects.filter(token_checksum=digest(access_token)).only("family").first()
    run.stage, run.code, run.family = EXCHANGED, "", row.family_id if row else None
    _keep(session, run)


def end_run(session: Session, account: Account) -> None:
    """End the run of this session, and revoke its tokens.

    They are found by the code, too: an exchange may be running, or its process may have died before the session was
    stored.
    """
    run = _read(session.pop(SESSION_KEY, None))
    if run is None or (run.family is None and not run.code_digest):
        return
    issued = Q(pk=run.family) if run.family is not None else Q(code__code=run.code_digest)
    family = (
        TokenFamily.objects.filter(issued, connection__account=account, connection__client__client_id=run.client_id)
        .select_related("connection__client__project")
        .first()
    )
    if family is not None:
        refresh_tokens.revoke_family(family, Reason.ENDED_PLAYGROUND)


PROMPTS = {
    "": "left out: pages appear if they are needed",
    "consent": "consent: always show the consent page",
    "login": "login: sign in again",
    "none": "none: never show a page",
}
# Descriptions of the request's parameters.
PARAMETERS = {
    "response_type": "you want a code",
    "client_id": "this client",
    "redirect_uri": "where the response goes; registered on the app, character for character",
    "scope": "the scopes that you request",
    "state": "random; must come back unchanged",
    "nonce": "random; must come back in the ID token",
    "code_challenge": "SHA-256 of a secret, the verifier, which is shown when the code is exchanged",
    "code_challenge_method": "how the challenge was computed",
    "prompt": "the pages to show",
    "max_age": "the maximum age of the sign-in, in seconds",
    "login_hint": "the email address of the person who should sign in",
    "acr_values": "how the person should sign in, the best value first",
    "resource": "an API that you request scopes of",
}


@dataclass(frozen=True)
class ExchangeResult:
    """The result of a code exchange: request, response, and on success decoded tokens and API requests."""

    exchange: Exchange
    tokens: list[DecodedToken] = field(default_factory=list)
    refresh_token: str = ""
    granted: list[str] = field(default_factory=list)
    calls: list[Exchange] = field(default_factory=list)
    is_refresh: bool = False
    api: ApiSnapshot | None = None  # the API that the access token is for


def is_registered(client: Client) -> bool:
    """Return whether the playground's redirect URI is registered on the client."""
    return client.redirect_uri_allowed(playground_redirect_uri())


def set_registered(client: Client, actor: Account, wanted: bool) -> None:
    """Register or remove the playground's redirect URI on a client. Raises ValidationError, Gone."""
    address = playground_redirect_uri()
    with transaction.atomic():
        row = lock_client(client.pk)
        others = [uri for uri in row.registered_redirect_uris if uri != address]
        # It goes last, because the consent page shows the domain of the first redirect URI.
        redirects = [*others, address] if wanted else others
        update_client(row, actor, redirects, row.registered_post_logout_redirect_uris)


def choose_scopes(client: Client, asked: list[str]) -> list[str]:
    """Return the scopes of `asked` that the client may request, with `openid`, in the order of known_scopes()."""
    offered = {scope.name for scope in offered_scopes(client)}
    return scopes.format_scope({OPENID, *(name for name in asked if name in offered)}).split()


def offered_scopes(client: Client) -> list[Scope]:
    """Return the scopes that the page offers: the ones that the client may request, of APIs that are on."""
    allowed = scopes.allowed_scopes(client)
    return [
        scope for name, scope in scopes.known_scopes().items() if name in allowed and name != OPENID and scope.enabled
    ]


def offered_resources() -> list[ApiSnapshot]:
    """Return the APIs whose identifiers the page offers as `resource`: the ones that are on."""
    return [api for api in current_registry().apis.values() if api.enabled]


def choose_resources(asked: Sequence[str]) -> list[str]:
    """Return the identifiers of `asked` that the page offers, without repetitions."""
    offered = {api.identifier for api in offered_resources()}
    return [identifier for identifier in dict.fromkeys(asked) if identifier in offered]


def exchange_code(
    session: Session, run: PlaygroundRun, client: Client, secret: str, resource: str = ""
) -> ExchangeResult:
    """Exchange the run's code, decode the tokens, and call the API with them. No token is stored.

    Without a secret, a voucher for this code stands in for it. The caller has checked the member's role.
    """
    voucher = None
    if client.has_secret and not secret:
        voucher = Voucher(
            client.client_id, run.account, digest(run.form()["code"]), code_challenge=_challenge_of(run.verifier)
        )
    form = run.form(resource)
    sent = internal_client.request_tokens(form, client.client_id, secret if client.has_secret else "", voucher)
    if sent.is_good:
        record_tokens(session, run, sent.answer["access_token"])
    return _result(sent, run, client)


def owns_refresh_token(run: PlaygroundRun, raw: str) -> bool:
    """Return whether this is a refresh token that the run was issued."""
    return (
        run.stage == EXCHANGED
        and run.family is not None
        and RefreshToken.objects.filter(token_checksum=digest(raw), family=run.family, user=run.account).exists()
    )


def refresh(run: PlaygroundRun, client: Client, raw: str, resource: str = "") -> ExchangeResult:
    """Refresh the run's tokens with its refresh token (`owns_refresh_token`). No token is stored."""
    voucher = Voucher(client.client_id, run.account, digest(raw), family=run.family) if client.has_secret else None
    form = {"grant_type": "refresh_token", "refresh_token": raw} | _resource_field(resource)
    sent = internal_client.request_tokens(form, client.client_id, voucher=voucher)
    return replace(_result(sent, run, client), is_refresh=True)


def _result(sent: Exchange, run: PlaygroundRun, client: Client) -> ExchangeResult:
    if not sent.is_good:
        return ExchangeResult(sent)
    answer = sent.answer
    granted = scopes.parse_scope(answer["scope"])
    # A refreshed ID token has no nonce (OpenID Connect Core 12.2).
    nonce = "" if sent.form["grant_type"] == "refresh_token" else run.nonce
    max_age = int(run.max_age) if run.max_age and nonce else None
    api = current_registry().api_with_identifier(token_decoder.audience_of(answer["access_token"]))
    paths = accessible_paths(granted) if api and api.is_own else []
    return ExchangeResult(
        sent,
        [
            token_decoder.decode_id_token(
                answer["id_token"], client.client_id, nonce, answer["access_token"], max_age=max_age
            ),
            token_decoder.decode_access_token(answer["access_token"]),
        ],
        answer.get("refresh_token", ""),
        granted,
        [internal_client.get_endpoint(path, answer["access_token"]) for path in paths],
        api=api,
    )


def accessible_paths(granted: list[str]) -> list[str]:
    """Return the API endpoints that a token with these scopes may call."""
    return sorted({f"/v1/{name}" for scope in granted for name in endpoints_with_scope(scope)})
