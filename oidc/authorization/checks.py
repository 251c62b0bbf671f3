"""Validation of an authorization request: ordered checks, the first that returns an outcome or raises decides.

In the order of docs/sign-in.md#the-order-of-the-checks; errors before the redirect URI is trusted are pages.
"""

import re
from collections.abc import Callable

from oidc import scopes
from oidc.authorization import acr, consent, person_checks
from oidc.authorization.outcomes import (
    ClientUnavailable,
    IssueCode,
    Outcome,
    PromptConsent,
    RedirectError,
    UserCapReached,
)
from oidc.authorization.requests import PROMPTS, RESPONSE_MODES, AuthorizationRequest
from oidc.authorization.user_cap import is_user_cap_reached
from oidc.clients.lookup import find_client
from oidc.clients.redirect_uris import explain_mismatch
from oidc.clients.reviewed_hosts import why_outside
from oidc.errors import AuthorizationError
from oidc.parameters import MAX_QUERY, TOO_LONG, printable_name
from oidc.server import CODE_CHALLENGE

# Longest `state` and `nonce`, in characters: they are stored while the person signs in, `nonce` with the family too.
LONGEST = {"state": 2048, "nonce": 1024}
MAX_AGE_PATTERN = re.compile(r"\d{1,10}")


def decide(auth_request: AuthorizationRequest) -> Outcome:
    """Return what comes of the request. Raises AuthorizationError while nothing may be redirected."""
    for check in CHECKS:
        try:
            outcome = check(auth_request)
        except AuthorizationError as error:
            error.client = auth_request.found_client
            error.redirect_uri = _registered_redirect_uri(auth_request)
            if not error.may_redirect:
                raise
            return RedirectError(error)
        if outcome is not None:
            return outcome
    if auth_request.consent_given_now:
        left_out = auth_request.optional_scopes - auth_request.chosen_scopes
    else:
        left_out = auth_request.left_out_before
    return _issue_code(auth_request, left_out, consent_given_now=auth_request.consent_given_now)


def _registered_redirect_uri(auth_request: AuthorizationRequest) -> str:
    """Return the request's redirect URI if its client has registered it, "" otherwise."""
    client, uri = auth_request.found_client, auth_request.parameters.get("redirect_uri") or ""
    return uri if client is not None and client.redirect_uri_allowed(uri) else ""


def _issue_code(auth_request: AuthorizationRequest, left_out: frozenset[str], *, consent_given_now: bool) -> IssueCode:
    return IssueCode(
        auth_request.client,
        [scope for scope in auth_request.scopes if scope not in left_out],
        auth_request.authentication,
        auth_request.interaction.key,
        consent_given_now,
        told=acr.told_claims(auth_request.acr, auth_request.counted_authentication),
        left_out=left_out,
    )


def check_client(auth_request: AuthorizationRequest) -> None:
    parameters = auth_request.parameters
    if not parameters.is_clear("client_id"):
        raise AuthorizationError("invalid_request", "client_id is repeated or unreadable.", may_redirect=False)
    client = find_client(parameters.get("client_id"))
    if client is None:
        raise AuthorizationError(
            "invalid_request", "No app with this client_id is registered.", may_redirect=False, page="client"
        )
    auth_request.found_client = client
    if len(auth_request.interaction.query) > MAX_QUERY:
        raise AuthorizationError("invalid_request", TOO_LONG, may_redirect=False)


def check_redirect_uri(auth_request: AuthorizationRequest) -> None:
    uri = auth_request.parameters.get("redirect_uri")
    if not uri or not auth_request.parameters.is_clear("redirect_uri"):
        raise AuthorizationError(
            "invalid_request",
            "redirect_uri is missing, repeated or unreadable.",
            may_redirect=False,
            page="redirect-url",
        )
    if not auth_request.client.redirect_uri_allowed(uri):
        text = "The redirect_uri is not, character for character, a registered one."
        reason = explain_mismatch(uri, auth_request.client.registered_redirect_uris)
        raise AuthorizationError("invalid_request", text, may_redirect=False, reason=reason, page="redirect-url")
    auth_request.redirect_uri = uri


def check_client_enabled(auth_request: AuthorizationRequest) -> ClientUnavailable | None:
    return None if auth_request.client.is_on else ClientUnavailable(auth_request.client)


def check_parameters(auth_request: AuthorizationRequest) -> None:
    parameters = auth_request.parameters
    for name in sorted(parameters.repeated | parameters.malformed):
        raise AuthorizationError("invalid_request", f"The parameter {printable_name(name)} is repeated or unreadable.")
    for name in ("request", "request_uri", "registration"):
        if parameters.get(name):
            raise AuthorizationError(f"{name}_not_supported")
    if not parameters.get("state"):
        raise AuthorizationError("invalid_request", "state is missing.")
    for name, longest in LONGEST.items():
        if len(parameters.get(name) or "") > longest:
            raise AuthorizationError("invalid_request", f"{name} is longer than {longest:,} characters.")
    if not parameters.get("response_type"):
        raise AuthorizationError("invalid_request", "response_type is missing.")
    if parameters.get("response_type") != "code":
        raise AuthorizationError("unsupported_response_type")
    if (parameters.get("response_mode") or "query") not in RESPONSE_MODES:
        raise AuthorizationError("invalid_request", "response_mode must be query or form_post.")


def check_code_challenge(auth_request: AuthorizationRequest) -> None:
    # RFC 7636 §4.3; an absent method would mean `plain`, which nobody may use.
    if not auth_request.parameters.get("code_challenge"):
        raise AuthorizationError("invalid_request", "code_challenge is missing: PKCE is required.")
    if auth_request.parameters.get("code_challenge_method") != "S256":
        raise AuthorizationError("invalid_request", "code_challenge_method must be S256.")
    if not CODE_CHALLENGE.fullmatch(auth_request.parameters.get("code_challenge") or ""):
        raise AuthorizationError("invalid_request", "code_challenge must be 43 characters of base64url.")


def check_prompt(auth_request: AuthorizationRequest) -> None:
    prompts = auth_request.prompts
    unknown = [prompt for prompt in prompts if prompt not in PROMPTS]
    if unknown or ("none" in prompts and len(prompts) > 1):
        raise AuthorizationError("invalid_request", "prompt must be none alone, or others of the supported values.")
    if (max_age := auth_request.parameters.get("max_age")) and not MAX_AGE_PATTERN.fullmatch(max_age):
        raise AuthorizationError("invalid_request", "max_age must be a number of seconds.")


def check_acr(auth_request: AuthorizationRequest) -> None:
    auth_request.acr = acr.read_acr_request(auth_request.parameters, auth_request.client)


def check_scope(auth_request: AuthorizationRequest) -> None:
    asked = scopes.parse_scope(auth_request.parameters.get("scope"))
    if "" in asked:
        raise AuthorizationError("invalid_scope", scopes.SPACES)
    if scopes.OPENID not in asked:
        raise AuthorizationError("invalid_scope", "scope must include openid.")
    if refused := sorted(set(asked) - auth_request.allowed_scopes):
        raise AuthorizationError("invalid_scope", _which_refused(refused), reason=_why_refused(auth_request, refused))
    auth_request.scopes = scopes.parse_scope(scopes.format_scope(asked))


def _which_refused(refused: list[str]) -> str:
    """Return the public description of refused scopes: the first that is wrong, and how."""
    unknown = [scope for scope in refused if scope not in scopes.SCOPES]
    if unknown:
        return f"There is no scope {printable_name(unknown[0])}."
    return f"The scope {refused[0]} is not approved for this client, or not with this redirect_uri."


def _why_refused(auth_request: AuthorizationRequest, refused: list[str]) -> str:
    """Return the reason, for the app's developer, why these scopes are refused."""
    approved = scopes.allowed_scopes(auth_request.client)
    if set(refused) <= approved:
        return (
            f"Approved for this client, but {why_outside(auth_request.client, auth_request.outside_host)}: "
            f"{', '.join(map(printable_name, refused))}."
        )
    return f"Unknown, or not approved for this client: {', '.join(map(printable_name, refused))}."


def check_user_cap(auth_request: AuthorizationRequest) -> UserCapReached | None:
    assert auth_request.account is not None
    if auth_request.consent_given_now:
        return None  # consent.record_consent checks it, with the project locked
    if auth_request.connection is not None or not is_user_cap_reached(
        auth_request.account, auth_request.client, auth_request.outside_host
    ):
        return None
    if auth_request.silent:
        outside = auth_request.outside_host
        why = why_outside(auth_request.client, outside) if outside else "it has not been reviewed"
        raise AuthorizationError("consent_required", reason=f"The project has as many people as it may have: {why}.")
    return UserCapReached(auth_request.client)


def check_consent(auth_request: AuthorizationRequest) -> PromptConsent | IssueCode | None:
    assert auth_request.account is not None
    if auth_request.consent_given_now:
        return None
    missing, left_out = auth_request.missing_scopes, auth_request.left_out_before
    ask = PromptConsent(auth_request.client, auth_request.scopes, missing, auth_request.optional_scopes, left_out)
    if "consent" in auth_request.prompts:
        return ask
    if not auth_request.asks_for_more:
        return None
    if auth_request.client.first_party:
        # The service's own apps need not ask.
        return _issue_code(auth_request, left_out, consent_given_now=True)
    if auth_request.silent:
        raise AuthorizationError("consent_required", reason=_why_asked(auth_request))
    return ask


def _why_asked(auth_request: AuthorizationRequest) -> str:
    """Return the reason why a person is asked who has allowed all of it elsewhere, "" for one who has not."""
    if set(auth_request.scopes) <= consent.granted_scopes(auth_request.connection):
        outside = auth_request.outside_host
        if auth_request.client.carries_badge:
            return f"The person has allowed it, but not at {outside}, which its review did not take in."
        return f"The person has allowed it, but not at {outside}: {why_outside(auth_request.client, outside)}."
    return ""


Check = Callable[[AuthorizationRequest], Outcome | None]

CHECKS: tuple[Check, ...] = (
    check_client,
    check_redirect_uri,
    check_client_enabled,
    check_parameters,
    check_code_challenge,
    check_prompt,
    check_acr,
    check_scope,
    person_checks.check_signed_in,
    person_checks.find_connection,
    person_checks.check_account_choice,
    person_checks.check_level,
    person_checks.check_max_age,
    check_user_cap,
    check_consent,
)
