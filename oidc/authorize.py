"""The authorization endpoint's decision: ordered checks, the first that says something decides.

The order is that of docs/sign-in.md. Until the redirect URL is trusted a refusal is a page; after it, a redirect.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from accounts.authentication import Authentication
from accounts.models import Account
from oidc import consent, scopes, signatures
from oidc.clients import find_client
from oidc.errors import BadToken, SignInError
from oidc.models import Client
from oidc.parameters import MAX_QUERY, TOO_LONG, Parameters
from oidc.pending import Pending
from oidc.registration import first_difference
from oidc.server import CODE_CHALLENGE

PROMPTS = ("none", "login", "consent", "select_account", "create")
RESPONSE_MODES = ("query", "form_post")
# Characters of what an app makes up; it is kept while the person signs in, and `nonce` with the authorization.
LONGEST = {"state": 2048, "nonce": 1024}
MAX_AGE = re.compile(r"\d{1,10}")


# --- What may come of a request ---


@dataclass(frozen=True)
class Unavailable:
    """The client is off or its project suspended: a page, never a redirect."""

    client: Client


@dataclass(frozen=True)
class Full:
    """One person too many for an unverified app: a page with a way back."""

    client: Client


@dataclass(frozen=True)
class Login:
    """The person has to sign in: at all, `again`, or with a `new` account."""

    hint: str = ""
    again: bool = False
    new: bool = False


@dataclass(frozen=True)
class Consent:
    """The person has to be asked; `missing` is what they have not allowed yet."""

    client: Client
    scopes: list[str]
    missing: frozenset[str]


@dataclass(frozen=True)
class Refuse:
    """The app is told why not."""

    error: SignInError


@dataclass(frozen=True)
class Issue:
    """The app gets a code."""

    client: Client
    scopes: list[str]


Outcome = Unavailable | Full | Login | Consent | Refuse | Issue


@dataclass
class Attempt:
    """One look at an authorization request: what was sent, who is there, and what the checks found."""

    parameters: Parameters
    pending: Pending
    account: Account | None
    authentication: Authentication
    consent_given_now: bool = False
    client: Client = field(init=False)
    redirect_uri: str = ""
    scopes: list[str] = field(default_factory=list)

    @property
    def prompts(self) -> list[str]:
        return (self.parameters.get("prompt") or "").split()

    @property
    def silent(self) -> bool:
        return self.prompts == ["none"]

    @property
    def state(self) -> str | None:
        return self.parameters.get("state") if self.parameters.is_clear("state") else None

    @property
    def response_mode(self) -> str:
        mode = self.parameters.get("response_mode") or "query"
        return mode if mode in RESPONSE_MODES and self.parameters.is_clear("response_mode") else "query"


def decide(attempt: Attempt) -> Outcome:
    """Return what comes of the request. Raises SignInError while nothing may be redirected."""
    for check in CHECKS:
        try:
            outcome = check(attempt)
        except SignInError as error:
            if not error.may_redirect:
                raise
            return Refuse(error)
        if outcome is not None:
            return outcome
    return Issue(attempt.client, attempt.scopes)


# --- Before the redirect URL is trusted ---


def known_client(attempt: Attempt) -> None:
    parameters = attempt.parameters
    if not parameters.is_clear("client_id"):
        raise SignInError("invalid_request", "client_id is repeated or unreadable.", may_redirect=False)
    client = find_client(parameters.get("client_id"))
    if client is None:
        raise SignInError("invalid_request", "No app with this client_id is registered.", may_redirect=False)
    attempt.client = client
    if len(attempt.pending.query) > MAX_QUERY:
        raise SignInError("invalid_request", TOO_LONG, may_redirect=False)


def registered_redirect_uri(attempt: Attempt) -> None:
    uri = attempt.parameters.get("redirect_uri")
    if not uri or not attempt.parameters.is_clear("redirect_uri"):
        raise SignInError("invalid_request", "redirect_uri is missing, repeated or unreadable.", may_redirect=False)
    if not attempt.client.redirect_uri_allowed(uri):
        text = "The redirect_uri is not, character for character, a registered one."
        reason = first_difference(uri, attempt.client.registered_redirect_uris)
        raise SignInError("invalid_request", text, may_redirect=False, reason=reason)
    attempt.redirect_uri = uri


def client_is_on(attempt: Attempt) -> Unavailable | None:
    return None if attempt.client.is_on else Unavailable(attempt.client)


# --- After it ---


def well_formed(attempt: Attempt) -> None:
    parameters = attempt.parameters
    for name in sorted(parameters.repeated | parameters.malformed):
        raise SignInError("invalid_request", f"The parameter {printable(name)} is repeated or unreadable.")
    for name in ("request", "request_uri", "registration"):
        if parameters.get(name):
            raise SignInError(f"{name}_not_supported")
    if not parameters.get("state"):
        raise SignInError("invalid_request", "state is missing.")
    for name, longest in LONGEST.items():
        if len(parameters.get(name) or "") > longest:
            raise SignInError("invalid_request", f"{name} is longer than {longest:,} characters.")
    if not parameters.get("response_type"):
        raise SignInError("invalid_request", "response_type is missing.")
    if parameters.get("response_type") != "code":
        raise SignInError("unsupported_response_type")
    if (parameters.get("response_mode") or "query") not in RESPONSE_MODES:
        raise SignInError("invalid_request", "response_mode must be query or form_post.")


def printable(name: str) -> str:
    """Return a parameter's name as error descriptions may hold it (RFC 6749 §4.1.2.1), cut to 40 characters."""
    return re.sub(r"[^\x20\x21\x23-\x5b\x5d-\x7e]", "?", name[:40])


def proper_challenge(attempt: Attempt) -> None:
    # RFC 7636 §4.3; an absent method would mean `plain`, which nobody may use.
    if not attempt.parameters.get("code_challenge"):
        raise SignInError("invalid_request", "code_challenge is missing: PKCE is required.")
    if attempt.parameters.get("code_challenge_method") != "S256":
        raise SignInError("invalid_request", "code_challenge_method must be S256.")
    if not CODE_CHALLENGE.fullmatch(attempt.parameters.get("code_challenge") or ""):
        raise SignInError("invalid_request", "code_challenge must be 43 characters of base64url.")


def known_prompts(attempt: Attempt) -> None:
    prompts = attempt.prompts
    unknown = [prompt for prompt in prompts if prompt not in PROMPTS]
    if unknown or ("none" in prompts and len(prompts) > 1):
        raise SignInError("invalid_request", "prompt must be none alone, or others of the supported values.")
    if (max_age := attempt.parameters.get("max_age")) and not MAX_AGE.fullmatch(max_age):
        raise SignInError("invalid_request", "max_age must be a number of seconds.")


def allowed_scopes(attempt: Attempt) -> None:
    asked = scopes.split(attempt.parameters.get("scope"))
    if "" in asked:
        raise SignInError("invalid_scope", scopes.SPACES)
    if scopes.OPENID not in asked:
        raise SignInError("invalid_scope", "scope must include openid.")
    if refused := sorted(set(asked) - scopes.allowed_for(attempt.client)):
        raise SignInError(
            "invalid_scope",
            "A scope is unknown, or not approved for this client.",
            reason=f"Unknown, or not approved for this client: {', '.join(map(printable, refused))}.",
        )
    attempt.scopes = scopes.split(scopes.join(asked))


def hinted_subject(attempt: Attempt) -> str | None:
    """Return whose ID token came as id_token_hint (OpenID Connect Core 3.1.2.1), None without one."""
    hint = attempt.parameters.get("id_token_hint")
    if hint is None:
        return None
    try:
        claims = signatures.read_id_token_hint(hint)
    except BadToken:
        raise SignInError("invalid_request", "id_token_hint is not an ID token of this service.") from None
    sub = claims.get("sub")
    return sub if isinstance(sub, str) else ""


def signed_in(attempt: Attempt) -> Login | None:
    account, hint = attempt.account, attempt.parameters.get("login_hint") or ""
    subject = hinted_subject(attempt)
    if account is None:
        if attempt.silent:
            raise SignInError("login_required")
        return Login(hint=hint, new="create" in attempt.prompts)
    sector = attempt.client.project.public_id
    if subject is not None and not account.subjects.filter(sub=subject, sector=sector).exists():
        raise SignInError("login_required", "Another person is signed in.")
    return None


def recently_enough(attempt: Attempt) -> Login | None:
    """Ask for an authentication newer than the request where it says so (Core 3.1.2.1: prompt, max_age)."""
    signed_in_at, came_at = attempt.authentication.at, attempt.pending.at
    # The page of `select_account` is the one of `login`: it names who is signed in and offers another account.
    wants_new = {"login", "select_account"} & set(attempt.prompts)
    max_age = attempt.parameters.get("max_age")
    too_old = max_age is not None and came_at - signed_in_at > int(max_age)
    if (not wants_new and not too_old) or signed_in_at >= came_at:
        return None
    if attempt.silent:
        raise SignInError("login_required", "The person signed in longer ago than max_age.")
    return Login(again=True)


def room_for_one_more(attempt: Attempt) -> Full | None:
    assert attempt.account is not None
    if not consent.is_full_for(attempt.account, attempt.client):
        return None
    if attempt.silent:
        raise SignInError("consent_required", reason="The app has as many people as it may have before its review.")
    return Full(attempt.client)


def consented(attempt: Attempt) -> Consent | None:
    assert attempt.account is not None
    if attempt.consent_given_now:
        return None
    connection = consent.find_connection(attempt.account, attempt.client)
    missing = frozenset(set(attempt.scopes) - consent.consented(connection))
    if "consent" in attempt.prompts:
        return Consent(attempt.client, attempt.scopes, missing)
    if not missing:
        return None
    if attempt.client.first_party:
        attempt.consent_given_now = True  # the service's own apps need not ask
        return None
    if attempt.silent:
        raise SignInError("consent_required")
    return Consent(attempt.client, attempt.scopes, missing)


Check = Callable[[Attempt], Outcome | None]

CHECKS: tuple[Check, ...] = (
    known_client,
    registered_redirect_uri,
    client_is_on,
    well_formed,
    proper_challenge,
    known_prompts,
    allowed_scopes,
    signed_in,
    recently_enough,
    room_for_one_more,
    consented,
)
