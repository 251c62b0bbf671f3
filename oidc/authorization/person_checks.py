"""The checks of an authorization request that ask who the person is, and how they signed in."""

from accounts.levels import level_of, means_of
from oidc import scopes
from oidc.authorization import consent
from oidc.authorization.outcomes import PromptChoice, PromptLogin, PromptStepUp
from oidc.authorization.requests import AuthorizationRequest
from oidc.errors import AuthorizationError, InvalidToken
from oidc.reasons import Reason
from oidc.tokens import jwt


def id_token_hint_subject(auth_request: AuthorizationRequest) -> str | None:
    """Return whose ID token came as id_token_hint (OpenID Connect Core 3.1.2.1), None without one."""
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
    account, hint = auth_request.account, auth_request.parameters.get("login_hint") or ""
    subject = id_token_hint_subject(auth_request)
    if account is None:
        if auth_request.silent:
            raise AuthorizationError(Reason.NOT_SIGNED_IN)
        is_new = "create" in auth_request.prompts
        return PromptChoice() if auth_request.has_others and not is_new else PromptLogin(hint=hint, new=is_new)
    sector = auth_request.client.project.public_id
    if subject is None or account.subjects.filter(sub=subject, sector=sector).exists():
        return None
    # Whether the hint's person is among the others is not asked here: that the page comes would tell the app.
    if auth_request.has_others and not auth_request.silent and not auth_request.has_chosen:
        return PromptChoice()
    raise AuthorizationError(Reason.OTHER_PERSON_SIGNED_IN)


def find_connection(auth_request: AuthorizationRequest) -> None:
    assert auth_request.account is not None
    if not auth_request.consent_given_now:
        auth_request.connection = consent.find_connection(auth_request.account, auth_request.client)


def check_account_choice(auth_request: AuthorizationRequest) -> PromptChoice | None:
    """Have an account chosen where the request says so (Core 3.1.2.1: prompt, login_hint)."""
    if auth_request.silent or auth_request.has_chosen or auth_request.consent_given_now:
        return None
    if "select_account" in auth_request.prompts:
        return PromptChoice()
    return PromptChoice() if auth_request.has_others and _may_mean_another(auth_request) else None


def _may_mean_another(auth_request: AuthorizationRequest) -> bool:
    """Return whether login_hint may mean another account than the present one.

    Where the app does not know the present account's address, the chooser comes for any hint before a code would be
    given at once: otherwise an app could find out by guessing whose accounts are signed in.
    """
    hint = (auth_request.parameters.get("login_hint") or "").strip()
    if not hint or auth_request.parameters.get("id_token_hint"):
        return False
    assert auth_request.account is not None
    if hint.casefold() != auth_request.account.email.casefold():
        return True
    knows_address = not auth_request.granted_scopes.isdisjoint(scopes.ADDRESS_SCOPES)
    return not (auth_request.client.first_party or auth_request.asks_for_more or knows_address)


def check_level(auth_request: AuthorizationRequest) -> PromptStepUp | None:
    """Ask for what is missing to the level that is required, or preferred and within reach (RFC 9470 §4)."""
    assert auth_request.account is not None
    asked, client = auth_request.acr, auth_request.client
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
    """Ask for an authentication newer than the request where it says so (Core 3.1.2.1: prompt, max_age)."""
    signed_in_at, came_at = auth_request.authentication.at, auth_request.interaction.at
    max_age = auth_request.parameters.get("max_age")
    too_old = max_age is not None and came_at - signed_in_at > int(max_age)
    if (not auth_request.wants_new_sign_in and not too_old) or signed_in_at >= came_at:
        return None
    if auth_request.silent:
        raise AuthorizationError(Reason.SIGN_IN_TOO_OLD)
    return PromptLogin(again=True)
