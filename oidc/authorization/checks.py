"""Validation of an authorization request: ordered checks. The first check that returns an outcome decides.

The order is that of docs/sign-in.md#the-order-of-the-checks. Errors found before the redirect URL is trusted are shown
as pages.
"""

import re
from collections.abc import Callable

from django.conf import settings

from accounts.sessions.authentication import level_of, means_of
from core.email_addresses import address_to_find
from oidc.apis import scopes
from oidc.apis.registry import OPENID
from oidc.apis.resources import InvalidTarget, check_resources
from oidc.apis.scope_review import kept_among
from oidc.authorization import acr, consent
from oidc.authorization.outcomes import (
    ClientUnavailable,
    IssueCode,
    Outcome,
    PromptChoice,
    PromptConsent,
    PromptLogin,
    PromptStepUp,
    RedirectError,
    UserCapReached,
)
from oidc.authorization.requests import PROMPTS, RESPONSE_MODES, AuthorizationRequest
from oidc.authorization.user_cap import is_user_cap_reached
from oidc.clients.lookup import find_client
from oidc.clients.reviewed_hosts import reason_outside
from oidc.errors import AuthorizationError, InvalidToken
from oidc.tokens import jwt
from oidc.values.parameters import MAX_QUERY, printable_name
from oidc.values.reasons import Facts, Reason
from oidc.values.redirect_uris import explain_mismatch


def id_token_hint_subject(auth_request: AuthorizationRequest) -> str | None:
    """Return the subject of the id_token_hint (OpenID Connect Core 3.1.2.1), None without a hint."""
    hint = auth_request.parameters.get("id_token_hint")
    if hint is None:
        return None
    try:
        claims = jwt.verify_id_token_hint(hint)
    except InvalidToken:
        raise AuthorizationError(Reason.ID_TOKEN_HINT_INVALID) from None
    sub = claims.get("sub")
    return sub if isinstance(sub, str) else ""


def check_signed_in(auth_request: AuthorizationRequest) -> PromptLogin | PromptChoice | None:
    account, hint = auth_request.account, auth_request.parameters.login_hint
    subject = id_token_hint_subject(auth_request)
    if account is None:
        if auth_request.silent:
            raise AuthorizationError(Reason.NOT_SIGNED_IN)
        is_new = "create" in auth_request.prompts
        return PromptChoice() if auth_request.has_others and not is_new else PromptLogin(hint=hint, new=is_new)
    sector = auth_request.client.project.public_id
    if subject is None or account.subjects.filter(sub=subject, sector=sector).exists():
        return None
    # Show the chooser whether or not the hint's person is among the other accounts: otherwise the app could find out.
    if auth_request.has_others and not auth_request.silent and not auth_request.has_chosen:
        return PromptChoice()
    raise AuthorizationError(Reason.OTHER_PERSON_SIGNED_IN)


def find_connection(auth_request: AuthorizationRequest) -> None:
    assert auth_request.account is not None
    if not auth_request.consent_given_now:
        auth_request.connection = consent.find_connection(auth_request.account, auth_request.client)


def check_account_choice(auth_request: AuthorizationRequest) -> PromptChoice | None:
    """Show the account chooser if the request asks for it (Core 3.1.2.1: prompt, login_hint)."""
    if auth_request.silent or auth_request.has_chosen or auth_request.consent_given_now:
        return None
    if "select_account" in auth_request.prompts:
        return PromptChoice()
    if auth_request.has_others and (_may_mean_another(auth_request) or _several_allowed_it(auth_request)):
        return PromptChoice()
    return None


def _several_allowed_it(auth_request: AuthorizationRequest) -> bool:
    """Return whether several of the accounts in this browser have allowed the app, and the person wants to be asked.

    Accounts that have not allowed the app don't count, so the chooser tells the app nothing about them. A hint names
    an account already.
    """
    account, parameters = auth_request.account, auth_request.parameters
    assert account is not None
    if not account.asks_which_account or parameters.login_hint or parameters.get("id_token_hint"):
        return False
    accounts = [account, *auth_request.find_others()]
    return consent.count_connections(accounts, auth_request.client) > 1


def _may_mean_another(auth_request: AuthorizationRequest) -> bool:
    """Return whether login_hint may mean another account than the present one.

    If the app does not know the present account's email address, any hint leads to the chooser before a code is issued
    without a page. Otherwise an app could guess which accounts are signed in.
    """
    hint = auth_request.parameters.login_hint
    if not hint or auth_request.parameters.get("id_token_hint"):
        return False
    assert auth_request.account is not None
    if address_to_find(hint) != auth_request.account.email:
        return True
    knows_email = not auth_request.granted_scopes.isdisjoint(scopes.EMAIL_SCOPES)
    return not (auth_request.client.first_party or auth_request.asks_for_more or knows_email)


def check_level(auth_request: AuthorizationRequest) -> PromptStepUp | None:
    """Ask for a stronger sign-in if the required level, or a preferred one within reach, is not met (RFC 9470 §4)."""
    assert auth_request.account is not None
    asked, client = auth_request.acr, auth_request.client
    if not asked.is_returned:
        return None
    auth_request.authentication = auth_request.authentication.without_removed(auth_request.account)
    if not asked.required and not asked.preferred:
        return None
    reached = level_of(auth_request.counted_authentication.steps)
    if reached < asked.required:
        if auth_request.silent:
            raise _unmet_silently(auth_request)
        return PromptStepUp(client, asked.required, essential=True)
    if auth_request.silent or auth_request.interaction.goes_on_without:
        return None
    means = None
    for level in asked.preferred:
        if level <= reached:
            return None
        means = means or means_of(auth_request.account, auth_request.authentication.counts)
        if means.reach(level):
            return PromptStepUp(client, level, essential=False)
    return None


def _unmet_silently(auth_request: AuthorizationRequest) -> AuthorizationError:
    if level_of(auth_request.authentication.steps) >= auth_request.acr.required:
        return AuthorizationError(Reason.STRONG_SIGN_IN_TOO_OLD)
    return AuthorizationError(Reason.LEVEL_NOT_REACHED)


def check_max_age(auth_request: AuthorizationRequest) -> PromptLogin | None:
    """Ask for a new sign-in if the request requires it (Core 3.1.2.1: prompt, max_age)."""
    signed_in_at, came_at = auth_request.authentication.at, auth_request.interaction.at
    max_age = auth_request.parameters.get("max_age")
    too_old = max_age is not None and came_at - signed_in_at > int(max_age)
    if (not auth_request.wants_new_sign_in and not too_old) or signed_in_at >= came_at:
        return None
    if auth_request.silent:
        raise AuthorizationError(Reason.SIGN_IN_TOO_OLD)
    return PromptLogin(again=True)


# Longest `state` and `nonce`, in characters. Both are stored while the person signs in, `nonce` also with the family.
LONGEST = {"state": 2048, "nonce": 1024}
# Parameters of OpenID Connect Core 6 and 7.2.1 that this service does not support.
NOT_SUPPORTED = {
    "request": Reason.REQUEST_NOT_SUPPORTED,
    "request_uri": Reason.REQUEST_URI_NOT_SUPPORTED,
    "registration": Reason.REGISTRATION_NOT_SUPPORTED,
}
# RFC 7636 §4.2, method S256.
CODE_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
MAX_AGE_PATTERN = re.compile(r"\d{1,10}")


def decide(auth_request: AuthorizationRequest) -> Outcome:
    """Return the outcome of the request. Raises AuthorizationError if the error must not be redirected to the app."""
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
        returned=acr.returned_claims(auth_request.acr, auth_request.counted_authentication),
        left_out=left_out,
    )


def check_client(auth_request: AuthorizationRequest) -> None:
    parameters = auth_request.parameters
    if not parameters.is_clear("client_id"):
        raise AuthorizationError(Reason.CLIENT_ID_UNCLEAR, may_redirect=False)
    client = find_client(parameters.get("client_id"))
    if client is None:
        raise AuthorizationError(Reason.CLIENT_ID_UNKNOWN, may_redirect=False, page="client")
    auth_request.found_client = client
    if len(auth_request.interaction.query) > MAX_QUERY:
        raise AuthorizationError(Reason.REQUEST_TOO_LONG, {"longest": MAX_QUERY}, may_redirect=False)


def check_redirect_uri(auth_request: AuthorizationRequest) -> None:
    uri = auth_request.parameters.get("redirect_uri")
    if not uri or not auth_request.parameters.is_clear("redirect_uri"):
        raise AuthorizationError(Reason.REDIRECT_URI_UNCLEAR, may_redirect=False, page="redirect-url")
    if not auth_request.client.redirect_uri_allowed(uri):
        reason, facts = explain_mismatch(uri, auth_request.client.registered_redirect_uris)
        raise AuthorizationError(reason, facts, may_redirect=False, page="redirect-url")
    auth_request.redirect_uri = uri


def check_client_enabled(auth_request: AuthorizationRequest) -> ClientUnavailable | None:
    return None if auth_request.client.is_on else ClientUnavailable(auth_request.client)


def check_parameters(auth_request: AuthorizationRequest) -> None:
    parameters = auth_request.parameters
    for name in sorted(parameters.repeated | parameters.malformed):
        raise AuthorizationError(Reason.PARAMETER_UNCLEAR, {"name": printable_name(name)})
    for name, reason in NOT_SUPPORTED.items():
        if parameters.get(name):
            raise AuthorizationError(reason)
    if not parameters.get("state"):
        raise AuthorizationError(Reason.STATE_MISSING)
    for name, longest in LONGEST.items():
        if len(parameters.get(name) or "") > longest:
            raise AuthorizationError(Reason.PARAMETER_TOO_LONG, {"name": name, "longest": longest})
    if not parameters.get("response_type"):
        raise AuthorizationError(Reason.RESPONSE_TYPE_MISSING)
    if parameters.get("response_type") != "code":
        raise AuthorizationError(Reason.RESPONSE_TYPE_UNSUPPORTED)
    if (parameters.get("response_mode") or "query") not in RESPONSE_MODES:
        raise AuthorizationError(Reason.RESPONSE_MODE_UNSUPPORTED)


def check_code_challenge(auth_request: AuthorizationRequest) -> None:
    # RFC 7636 §4.3: a missing method means `plain`, which is not allowed.
    if not auth_request.parameters.get("code_challenge"):
        raise AuthorizationError(Reason.CODE_CHALLENGE_MISSING)
    if auth_request.parameters.get("code_challenge_method") != "S256":
        raise AuthorizationError(Reason.CODE_CHALLENGE_METHOD_UNSUPPORTED)
    if not CODE_CHALLENGE.fullmatch(auth_request.parameters.get("code_challenge") or ""):
        raise AuthorizationError(Reason.CODE_CHALLENGE_MALFORMED)


def check_prompt(auth_request: AuthorizationRequest) -> None:
    prompts = auth_request.prompts
    unknown = [prompt for prompt in prompts if prompt not in PROMPTS]
    if unknown or ("none" in prompts and len(prompts) > 1):
        raise AuthorizationError(Reason.PROMPT_UNSUPPORTED)
    if (max_age := auth_request.parameters.get("max_age")) and not MAX_AGE_PATTERN.fullmatch(max_age):
        raise AuthorizationError(Reason.MAX_AGE_MALFORMED)


def check_acr(auth_request: AuthorizationRequest) -> None:
    auth_request.acr = acr.read_acr_request(auth_request.parameters, auth_request.client)


def check_scope(auth_request: AuthorizationRequest) -> None:
    asked = scopes.parse_scope(auth_request.parameters.get("scope"))
    if OPENID not in asked:
        raise AuthorizationError(Reason.SCOPE_WITHOUT_OPENID)
    if refused := sorted(set(asked) - auth_request.allowed_scopes):
        raise AuthorizationError(*_why_refused(auth_request, refused))
    auth_request.scopes = scopes.parse_scope(scopes.format_scope(asked))


def check_resource(auth_request: AuthorizationRequest) -> None:
    try:
        check_resources(auth_request.parameters.resources, auth_request.scopes)
    except InvalidTarget as error:
        raise AuthorizationError(error.reason, error.parameters) from error


def _why_refused(auth_request: AuthorizationRequest, refused: list[str]) -> tuple[Reason, Facts]:
    """Return why these scopes are refused. The parameters name the first one that is wrong, and all of them."""
    named: Facts = {"name": printable_name(refused[0]), "scopes": [printable_name(scope) for scope in refused]}
    if unknown := [scope for scope in refused if scope not in scopes.known_scopes()]:
        return Reason.SCOPE_UNKNOWN, named | {"name": printable_name(unknown[0])}
    if not set(refused) <= scopes.allowed_scopes(auth_request.client):
        return Reason.SCOPE_NOT_APPROVED, named
    reason, facts = reason_outside(
        auth_request.client, auth_request.outside_host, Reason.SCOPE_OUTSIDE_REVIEW, Reason.SCOPE_HOME_UNPROVEN
    )
    return reason, facts | named


def check_kept_scopes(auth_request: AuthorizationRequest) -> None:
    """Refuse scopes that only people who granted them before may go on using (docs/apis.md#changing-a-scope)."""
    kept = kept_among(auth_request.client, auth_request.scopes)
    if not kept:
        return
    assert auth_request.account is not None
    # With the consent form, the connection was not looked up before.
    connection = auth_request.connection or consent.find_connection(auth_request.account, auth_request.client)
    if refused := sorted(kept - consent.granted_scopes(connection, auth_request.outside_host)):
        raise AuthorizationError(Reason.SCOPE_KEPT, {"name": refused[0], "scopes": refused})


def check_user_cap(auth_request: AuthorizationRequest) -> UserCapReached | None:
    assert auth_request.account is not None
    if auth_request.consent_given_now:
        return None  # consent.record_consent checks it, with the project locked
    if auth_request.connection is not None or not is_user_cap_reached(
        auth_request.account, auth_request.client, auth_request.outside_host
    ):
        return None
    if auth_request.silent:
        raise AuthorizationError(*why_full(auth_request))
    return UserCapReached(auth_request.client)


def why_full(auth_request: AuthorizationRequest) -> tuple[Reason, Facts]:
    """Return why the app can take no more people, and the parameters of that reason."""
    people: Facts = {"people": settings.UNVERIFIED_APP_PEOPLE}
    if not (outside := auth_request.outside_host):
        return Reason.PEOPLE_LIMIT, people
    reason, facts = reason_outside(
        auth_request.client, outside, Reason.PEOPLE_LIMIT_OUTSIDE_REVIEW, Reason.PEOPLE_LIMIT_HOME_UNPROVEN
    )
    return reason, facts | people


def check_consent(auth_request: AuthorizationRequest) -> PromptConsent | IssueCode | None:
    assert auth_request.account is not None
    if auth_request.consent_given_now:
        return None
    missing, left_out = auth_request.missing_scopes, auth_request.left_out_before
    ask = PromptConsent(auth_request.client, auth_request.scopes, missing, auth_request.optional_scopes, left_out)
    if "consent" in auth_request.prompts or auth_request.interaction.was_switched:
        return ask
    if not auth_request.asks_for_more:
        return None
    if auth_request.client.first_party:
        # The service's own apps need no consent page.
        return _issue_code(auth_request, left_out, consent_given_now=True)
    if auth_request.silent:
        raise AuthorizationError(*_why_asked(auth_request))
    return ask


def _why_asked(auth_request: AuthorizationRequest) -> tuple[Reason, Facts]:
    """Return why the person has to be asked: some scope was not granted yet, or only at other hosts."""
    if not set(auth_request.scopes) <= consent.granted_scopes(auth_request.connection):
        return Reason.CONSENT_MISSING, {}
    return reason_outside(
        auth_request.client, auth_request.outside_host, Reason.CONSENT_OUTSIDE_REVIEW, Reason.CONSENT_HOME_UNPROVEN
    )


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
    check_resource,
    check_signed_in,
    find_connection,
    check_account_choice,
    check_level,
    check_max_age,
    check_kept_scopes,
    check_user_cap,
    check_consent,
)
