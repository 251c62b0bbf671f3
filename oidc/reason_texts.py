"""The texts for each reason in oidc/reasons.py, in one table.

Each row has the standard's error code (RFC 6749 §4.1.2.1 and §5.2, RFC 6750 §3.1, OpenID Connect Core 3.1.2.6), the
`error_description` for the app and, if the app's developer may know more, a text for the sign-in log. Descriptions
reveal only what the caller sent or holds: an unknown client and a wrong secret have the same text, and so do an unknown
code and a code of another client. Descriptions are ASCII without quotes and backslashes (RFC 6749 §5.2).
"""

from typing import NamedTuple

from core.messages import fill_in
from oidc.reasons import Facts, Reason


class ReasonText(NamedTuple):
    """A reason's error code, its public description, its HTTP status, and its text in the sign-in log.

    `developer` is "" if the log uses the public description. `status` is for the endpoints that apps call.
    """

    error: str
    public: str
    status: int = 400
    developer: str = ""


_ENDED = "The authorization has ended, or the app's access was removed. Sign in again."
_CLIENT_FAILED = "The client id is unknown, or the secret is wrong, missing or unexpected."
_NOT_REGISTERED = "redirect_uri does not exactly match a registered redirect URL."
_NO_SIGN_OUT_URI = "post_logout_redirect_uri does not exactly match a registered sign-out URL."
_NOT_APPROVED = "The scope {name} is not approved for this client, or not with this redirect_uri."
_NOT_GRANTED = "Access was not yet granted."
_TOO_WEAK = "The person did not sign in as strongly as requested."

ANY_REQUEST: dict[Reason, ReasonText] = {
    Reason.PARAMETER_UNCLEAR: ReasonText("invalid_request", "The parameter {name} is repeated or unreadable."),
    Reason.REQUEST_TOO_LONG: ReasonText("invalid_request", "The request is longer than {longest} characters."),
    Reason.TOO_MANY_PARAMETERS: ReasonText("invalid_request", "There are too many parameters."),
    Reason.MALFORMED: ReasonText("invalid_request", "The request is malformed."),
    Reason.BODY_TYPE: ReasonText("invalid_request", "The body must be application/x-www-form-urlencoded."),
    Reason.BODY_TOO_LARGE: ReasonText("invalid_request", "The body is too large."),
    Reason.BODY_BROKEN: ReasonText("invalid_request", "The body is incomplete."),
    Reason.BODY_NOT_ENCODED: ReasonText("invalid_request", "The body must be percent-encoded."),
    Reason.SERVER_ERROR: ReasonText("server_error", "The service failed. Try again.", 500),
    Reason.TOO_MANY_REQUESTS: ReasonText("temporarily_unavailable", "Too many requests.", 429),
    Reason.UNAVAILABLE: ReasonText("temporarily_unavailable", "Try again shortly.", 503),
    Reason.CLIENT_OFF: ReasonText("invalid_grant", "The client is turned off."),
    Reason.PROJECT_SUSPENDED: ReasonText(
        "invalid_grant", "The project of the client is suspended.", developer="The project is suspended."
    ),
    Reason.PROJECT_DELETED: ReasonText(
        "invalid_grant", "The project of the client is deleted.", developer="The project is deleted."
    ),
}

AUTHORIZATION: dict[Reason, ReasonText] = {
    # Client and redirect URL
    Reason.CLIENT_ID_UNCLEAR: ReasonText("invalid_request", "client_id is repeated or unreadable."),
    Reason.CLIENT_ID_UNKNOWN: ReasonText("invalid_request", "No app with this client_id is registered."),
    Reason.REDIRECT_URI_UNCLEAR: ReasonText("invalid_request", "redirect_uri is missing, repeated or unreadable."),
    Reason.NO_REDIRECT_URI_REGISTERED: ReasonText(
        "invalid_request", _NOT_REGISTERED, developer="No redirect URL is registered yet."
    ),
    Reason.REDIRECT_URI_SLASH: ReasonText(
        "invalid_request", _NOT_REGISTERED, developer="Differs from {registered} only by the slash at the end."
    ),
    Reason.REDIRECT_URI_SCHEME: ReasonText(
        "invalid_request",
        _NOT_REGISTERED,
        developer="Differs from {registered}: the scheme is “{received}”, registered is “{expected}”.",
    ),
    Reason.REDIRECT_URI_HOST: ReasonText(
        "invalid_request",
        _NOT_REGISTERED,
        developer="Differs from {registered}: the host is “{received}”, registered is “{expected}”.",
    ),
    Reason.REDIRECT_URI_PORT: ReasonText(
        "invalid_request",
        _NOT_REGISTERED,
        developer="Differs from {registered}: the port is “{received}”, registered is “{expected}”.",
    ),
    Reason.REDIRECT_URI_PATH: ReasonText(
        "invalid_request",
        _NOT_REGISTERED,
        developer="Differs from {registered}: the path is “{received}”, registered is “{expected}”.",
    ),
    Reason.REDIRECT_URI_QUERY: ReasonText(
        "invalid_request",
        _NOT_REGISTERED,
        developer="Differs from {registered}: the query is “{received}”, registered is “{expected}”.",
    ),
    Reason.REDIRECT_URI_FRAGMENT: ReasonText(
        "invalid_request",
        _NOT_REGISTERED,
        developer="Differs from {registered}: the part after # is “{received}”, registered is “{expected}”.",
    ),
    Reason.REDIRECT_URI_SPELLING: ReasonText(
        "invalid_request", _NOT_REGISTERED, developer="Differs from {registered} at character {position}."
    ),
    # Parameters
    Reason.REQUEST_NOT_SUPPORTED: ReasonText("request_not_supported", "The request parameter is not supported."),
    Reason.REQUEST_URI_NOT_SUPPORTED: ReasonText(
        "request_uri_not_supported", "The request_uri parameter is not supported."
    ),
    Reason.REGISTRATION_NOT_SUPPORTED: ReasonText(
        "registration_not_supported", "The registration parameter is not supported."
    ),
    Reason.STATE_MISSING: ReasonText("invalid_request", "state is missing."),
    Reason.PARAMETER_TOO_LONG: ReasonText("invalid_request", "{name} is longer than {longest} characters."),
    Reason.RESPONSE_TYPE_MISSING: ReasonText("invalid_request", "response_type is missing."),
    Reason.RESPONSE_TYPE_UNSUPPORTED: ReasonText("unsupported_response_type", "The only response type is code."),
    Reason.RESPONSE_MODE_UNSUPPORTED: ReasonText("invalid_request", "response_mode must be query or form_post."),
    Reason.CODE_CHALLENGE_MISSING: ReasonText("invalid_request", "code_challenge is missing: PKCE is required."),
    Reason.CODE_CHALLENGE_METHOD_UNSUPPORTED: ReasonText("invalid_request", "code_challenge_method must be S256."),
    Reason.CODE_CHALLENGE_MALFORMED: ReasonText(
        "invalid_request", "code_challenge must be 43 characters of base64url."
    ),
    Reason.PROMPT_UNSUPPORTED: ReasonText(
        "invalid_request", "prompt must be none, or a list of other supported values."
    ),
    Reason.MAX_AGE_MALFORMED: ReasonText("invalid_request", "max_age must be a number of seconds."),
    Reason.ID_TOKEN_HINT_INVALID: ReasonText("invalid_request", "id_token_hint is not an ID token of this service."),
    Reason.CLAIMS_TOO_LONG: ReasonText("invalid_request", "claims is longer than {longest} characters."),
    Reason.CLAIMS_UNREADABLE: ReasonText("invalid_request", "claims is not JSON, or names a member twice."),
    Reason.CLAIMS_NOT_AN_OBJECT: ReasonText("invalid_request", "claims is not a JSON object."),
    Reason.CLAIMS_TOO_DEEP: ReasonText("invalid_request", "claims is nested too deeply."),
    Reason.CLAIMS_ID_TOKEN_NOT_AN_OBJECT: ReasonText("invalid_request", "id_token in claims is not a JSON object."),
    Reason.ACR_CLAIM_MALFORMED: ReasonText("invalid_request", "acr in claims is neither null nor a JSON object."),
    Reason.ACR_ESSENTIAL_MALFORMED: ReasonText("invalid_request", "essential of acr is neither true nor false."),
    Reason.ACR_VALUE_AND_VALUES: ReasonText("invalid_request", "acr in claims has both value and values."),
    Reason.ACR_VALUES_MALFORMED: ReasonText(
        "invalid_request", "In acr, value must be a string and values a list of strings."
    ),
    Reason.ACR_VALUES_EMPTY: ReasonText("invalid_request", "values of acr is empty."),
    Reason.ACR_NEVER_GIVEN: ReasonText(
        "unmet_authentication_requirements", "This service returns none of the requested acr values."
    ),
    # Scopes
    Reason.SCOPE_WITHOUT_OPENID: ReasonText("invalid_scope", "scope must include openid."),
    Reason.SCOPE_UNKNOWN: ReasonText(
        "invalid_scope",
        "There is no scope {name}.",
        developer="Unknown, or not approved for this client: {scopes}.",
    ),
    Reason.SCOPE_NOT_APPROVED: ReasonText(
        "invalid_scope", _NOT_APPROVED, developer="Not approved for this client: {scopes}."
    ),
    Reason.SCOPE_KEPT: ReasonText(
        "invalid_scope",
        _NOT_APPROVED,
        developer="A review is now necessary, and until then only people who had granted it keep it: {scopes}.",
    ),
    Reason.SCOPE_OUTSIDE_REVIEW: ReasonText(
        "invalid_scope",
        _NOT_APPROVED,
        developer="Approved for this client, but {host} was not in its review: {scopes}.",
    ),
    Reason.SCOPE_HOME_UNPROVEN: ReasonText(
        "invalid_scope",
        _NOT_APPROVED,
        developer="Approved for this client, but the project no longer proves the domain of its home page, {home}: "
        "{scopes}.",
    ),
    # Resource indicators
    Reason.RESOURCE_UNKNOWN: ReasonText("invalid_target", "No API of this service has the identifier {name}."),
    Reason.RESOURCE_OFF: ReasonText("invalid_target", "The API {name} is turned off."),
    Reason.RESOURCE_WITHOUT_SCOPE: ReasonText("invalid_target", "scope contains no scope of the resource {name}."),
    Reason.RESOURCE_NOT_GRANTED: ReasonText("invalid_target", "No scope of the resource {name} is granted."),
    Reason.SEVERAL_RESOURCES: ReasonText("invalid_target", "A token is for one resource. Send resource only once."),
    Reason.SCOPE_OF_OTHER_API: ReasonText(
        "invalid_scope", "The scope {name} does not belong to an API that resource names."
    ),
    Reason.SCOPE_API_OFF: ReasonText("invalid_scope", "The API of the scope {name} is turned off."),
    # The person
    Reason.NOT_SIGNED_IN: ReasonText("login_required", "The person is not signed in."),
    Reason.OTHER_PERSON_SIGNED_IN: ReasonText("login_required", "Another person is signed in."),
    Reason.SIGN_IN_TOO_OLD: ReasonText("login_required", "The person signed in longer ago than max_age."),
    Reason.STRONG_SIGN_IN_TOO_OLD: ReasonText(
        "login_required", "The last sign-in that was strong enough is older than max_age."
    ),
    Reason.LEVEL_NOT_REACHED: ReasonText(
        "unmet_authentication_requirements",
        _TOO_WEAK,
        developer="The request requires a stronger sign-in than the person has made in this session, and prompt=none "
        "does not allow asking for it.",
    ),
    Reason.LEVEL_DECLINED: ReasonText(
        "unmet_authentication_requirements",
        _TOO_WEAK,
        developer="The person was asked for a stronger sign-in, and pressed Cancel.",
    ),
    Reason.CONSENT_MISSING: ReasonText("consent_required", _NOT_GRANTED),
    Reason.CONSENT_OUTSIDE_REVIEW: ReasonText(
        "consent_required",
        _NOT_GRANTED,
        developer="The person has allowed the app, but not at {host}, which its review does not cover.",
    ),
    Reason.CONSENT_HOME_UNPROVEN: ReasonText(
        "consent_required",
        _NOT_GRANTED,
        developer="The person has allowed the app, but not at {host}: the project no longer proves the domain of its "
        "home page, {home}.",
    ),
    Reason.CANCELLED: ReasonText("access_denied", "The person pressed Cancel."),
    Reason.PEOPLE_LIMIT: ReasonText(
        "consent_required",
        _NOT_GRANTED,
        developer="The project’s unreviewed apps have {people} people, which is the limit, and the app has not been "
        "reviewed.",
    ),
    Reason.PEOPLE_LIMIT_OUTSIDE_REVIEW: ReasonText(
        "consent_required",
        _NOT_GRANTED,
        developer="The project’s unreviewed apps have {people} people, which is the limit, and {host} was not in the "
        "app’s review.",
    ),
    Reason.PEOPLE_LIMIT_HOME_UNPROVEN: ReasonText(
        "consent_required",
        _NOT_GRANTED,
        developer="The project’s unreviewed apps have {people} people, which is the limit, and the project no longer "
        "proves the domain of the app’s home page, {home}.",
    ),
}

TOKEN: dict[Reason, ReasonText] = {
    # The request itself
    Reason.POST_ONLY: ReasonText("invalid_request", "Use POST.", 405),
    Reason.GET_OR_POST_ONLY: ReasonText("invalid_request", "Use GET or POST.", 405),
    Reason.QUERY_SENT: ReasonText("invalid_request", "Send the parameters in the body, not in the query."),
    Reason.GRANT_TYPE_MISSING: ReasonText("invalid_request", "grant_type is missing."),
    Reason.GRANT_TYPE_UNSUPPORTED: ReasonText(
        "unsupported_grant_type", "grant_type must be authorization_code or refresh_token."
    ),
    Reason.GRANT_TYPE_NOT_ALLOWED: ReasonText("unauthorized_client", "This client may not use this grant_type."),
    Reason.CODE_MISSING: ReasonText("invalid_request", "code is missing."),
    Reason.REFRESH_TOKEN_MISSING: ReasonText("invalid_request", "refresh_token is missing."),
    Reason.TOKEN_MISSING: ReasonText("invalid_request", "token is missing."),
    Reason.TOKEN_TYPE_UNSUPPORTED: ReasonText("unsupported_token_type", "This type of token cannot be revoked."),
    # The client
    Reason.TWO_WAYS: ReasonText("invalid_request", "The client authenticates in more than one way."),
    Reason.CLIENT_UNNAMED: ReasonText(
        "invalid_client", "No client is named: send client_id, or HTTP Basic with client id and secret.", 401
    ),
    Reason.CLIENT_FAILED: ReasonText("invalid_client", _CLIENT_FAILED, 401),
    Reason.SECRET_WRONG: ReasonText(
        "invalid_client",
        _CLIENT_FAILED,
        401,
        "The client secret is wrong. The last four characters of the live secrets: {last_four}.",
    ),
    Reason.SECRET_WHITE_SPACE: ReasonText(
        "invalid_client",
        _CLIENT_FAILED,
        401,
        "The client secret is wrong, and it ends in white space. The last four characters of the live secrets: "
        "{last_four}.",
    ),
    Reason.SECRET_OF_OTHER_CLIENT: ReasonText(
        "invalid_client", _CLIENT_FAILED, 401, "The secret belongs to another client of the project, {name}."
    ),
    Reason.SECRET_IS_API_KEY: ReasonText(
        "invalid_client", _CLIENT_FAILED, 401, "An API key was sent as the client secret."
    ),
    Reason.SECRET_MISSING: ReasonText("invalid_client", _CLIENT_FAILED, 401, "The client secret is missing."),
    Reason.SECRET_EXPIRED: ReasonText(
        "invalid_client", _CLIENT_FAILED, 401, "The secret that ends in {last_four} has expired."
    ),
    Reason.SECRET_UNEXPECTED: ReasonText(
        "invalid_client", _CLIENT_FAILED, 401, "A secret was sent, but clients of this type have none."
    ),
    Reason.HEADER_UNREADABLE: ReasonText(
        "invalid_client", "The Authorization header is not HTTP Basic with client id and secret, form-encoded.", 401
    ),
    Reason.TWO_CLIENT_IDS: ReasonText(
        "invalid_client", "The Authorization header and the body name different clients.", 401
    ),
    # The code
    Reason.CODE_UNKNOWN: ReasonText("invalid_grant", "The code is unknown, or was issued to another client."),
    Reason.CODE_USED: ReasonText("invalid_grant", "The code was already used. Its tokens have been revoked."),
    Reason.CODE_EXPIRED: ReasonText(
        "invalid_grant",
        "The code has expired. Exchange it as soon as it arrives.",
        developer="The code is older than {seconds} seconds.",
    ),
    Reason.VERIFIER_MISSING: ReasonText("invalid_request", "code_verifier is missing."),
    Reason.VERIFIER_MALFORMED: ReasonText(
        "invalid_grant", "The code_verifier must have 43 to 128 characters, of A-Z, a-z, 0-9 and -._~ only."
    ),
    Reason.VERIFIER_WRONG: ReasonText("invalid_grant", "The code_verifier does not match the code_challenge."),
    Reason.REDIRECT_URI_MISSING: ReasonText("invalid_request", "redirect_uri is missing."),
    Reason.REDIRECT_URI_DIFFERS: ReasonText(
        "invalid_grant", "redirect_uri differs from the one in the authorization request."
    ),
    # The refresh token
    Reason.REFRESH_TOKEN_UNKNOWN: ReasonText(
        "invalid_grant", "The refresh token is unknown, or was issued to another client."
    ),
    Reason.REFRESH_TOKEN_EXPIRED: ReasonText("invalid_grant", "The refresh token has expired."),
    Reason.REFRESH_TOKEN_SUPERSEDED: ReasonText(
        "invalid_grant", "The refresh token was superseded. Always store the newest one."
    ),
    Reason.REFRESH_TOKEN_REPEATED: ReasonText(
        "invalid_grant", "The refresh token was superseded a moment ago. Use the newest one."
    ),
    Reason.SCOPE_NOT_GRANTED: ReasonText("invalid_scope", "scope names something that was not granted at sign-in."),
    Reason.LOST_RACE: ReasonText("invalid_grant", "Another request with the same code or refresh token came first."),
    # The authorization behind a code or refresh token
    Reason.ACCESS_REMOVED: ReasonText(
        "invalid_grant", _ENDED, developer="The person removed the app's access, or their account is closed."
    ),
    Reason.ENDED_REFRESH_TOKEN_REUSED: ReasonText(
        "invalid_grant", _ENDED, developer="The authorization has ended: a superseded refresh token was used again."
    ),
    Reason.ENDED_CODE_REPLAYED: ReasonText(
        "invalid_grant", _ENDED, developer="The authorization has ended: its code was sent twice."
    ),
    Reason.ENDED_CONSENT_SENT_TWICE: ReasonText(
        "invalid_grant",
        _ENDED,
        developer="The authorization has ended: the same request, with the same state and code_challenge, was answered "
        "again before this code was exchanged. Only the last code counts.",
    ),
    Reason.ENDED_REVOKED_BY_APP: ReasonText(
        "invalid_grant", _ENDED, developer="The authorization has ended: the app revoked it."
    ),
    Reason.ENDED_ACCESS_REMOVED: ReasonText(
        "invalid_grant", _ENDED, developer="The authorization has ended: the person removed the app's access."
    ),
    Reason.ENDED_ACCOUNT_CLOSED: ReasonText(
        "invalid_grant", _ENDED, developer="The authorization has ended: the person's account was closed."
    ),
    Reason.ENDED_CLIENT_TYPE_CHANGED: ReasonText(
        "invalid_grant", _ENDED, developer="The authorization has ended: the type of the client was changed."
    ),
    Reason.ENDED_PROJECT_DELETED: ReasonText(
        "invalid_grant", _ENDED, developer="The authorization has ended: the project was deleted."
    ),
    Reason.ENDED_PLAYGROUND: ReasonText(
        "invalid_grant", _ENDED, developer="The authorization has ended: it belonged to the console's playground."
    ),
    Reason.ENDED_BY_OPERATOR: ReasonText(
        "invalid_grant", _ENDED, developer="An operator ended the authorization. The operator’s note: {note}"
    ),
    # The access token, at userinfo
    Reason.ACCESS_TOKEN_INVALID: ReasonText(
        "invalid_token", "The token is not a live access token of this service.", 401
    ),
    Reason.ACCESS_TOKEN_EXPIRED: ReasonText("invalid_token", "The access token has expired.", 401),
    Reason.ACCESS_TOKEN_ENDED: ReasonText(
        "invalid_token", "The authorization has ended, the app's access was removed, or the client is off.", 401
    ),
    Reason.ACCESS_TOKEN_OF_OTHER_API: ReasonText(
        "invalid_token",
        "The access token is only for the API {audience}. Request one with the resource {resource}.",
        401,
    ),
    Reason.OPENID_MISSING: ReasonText("insufficient_scope", "The access token lacks the scope openid.", 403),
}

# Sign-out requests. The person is asked to confirm, and the app gets no response.
SIGN_OUT: dict[Reason, ReasonText] = {
    Reason.SIGN_OUT_HINT_MISSING: ReasonText(
        "invalid_request", "post_logout_redirect_uri was sent without id_token_hint, so the person can not return."
    ),
    Reason.SIGN_OUT_HINT_INVALID: ReasonText("invalid_request", "id_token_hint is not an ID token of this service."),
    Reason.SIGN_OUT_CLIENT_DIFFERS: ReasonText(
        "invalid_request", "client_id is not the client that got the ID token in id_token_hint."
    ),
    Reason.NO_SIGN_OUT_URI_REGISTERED: ReasonText(
        "invalid_request", _NO_SIGN_OUT_URI, developer="No sign-out URL is registered yet."
    ),
    Reason.SIGN_OUT_URI_NOT_REGISTERED: ReasonText(
        "invalid_request", _NO_SIGN_OUT_URI, developer="Differs from {registered} at character {position}."
    ),
}

# Notes of the sign-in log about issued codes. Nothing is rejected, so there is no error and no public text.
NOTES: dict[Reason, ReasonText] = {
    Reason.ACR_RETURNED: ReasonText("", "", developer="Asked for: {asked}. Returned acr: {acr}, amr: {amr}."),
    Reason.ACR_RETURNED_OUTSIDE_REVIEW: ReasonText(
        "",
        "",
        developer="Asked for: {asked}. Returned acr: {acr}, amr: {amr}. People see the app as not reviewed, because "
        "{host} was not in its review.",
    ),
    Reason.ACR_RETURNED_HOME_UNPROVEN: ReasonText(
        "",
        "",
        developer="Asked for: {asked}. Returned acr: {acr}, amr: {amr}. People see the app as not reviewed, because "
        "the project no longer proves the domain of its home page, {home}.",
    ),
    Reason.SHOWN_OUTSIDE_REVIEW: ReasonText(
        "", "", developer="People see the app as not reviewed, because {host} was not in its review."
    ),
    Reason.SHOWN_HOME_UNPROVEN: ReasonText(
        "",
        "",
        developer="People see the app as not reviewed, because the project no longer proves the domain of its home "
        "page, {home}.",
    ),
}

REASONS: dict[Reason, ReasonText] = ANY_REQUEST | AUTHORIZATION | TOKEN | SIGN_OUT | NOTES

# Every error that the authorization endpoint sends to apps.
AUTHORIZATION_ERRORS = (
    *sorted({text.error for text in AUTHORIZATION.values()}),
    "server_error",
)  # fmt: skip


def public_text(reason: Reason, parameters: Facts) -> str:
    """Return the `error_description` of a reason."""
    return _fill(REASONS[reason].public, parameters)


def developer_text(reason: str, parameters: Facts) -> str:
    """Return the sign-in log's text for a reason. Entries may be older than the table, so this never fails."""
    if reason not in REASONS:
        return reason
    text = REASONS[Reason(reason)]
    return _fill(text.developer or text.public, parameters)


def _fill(text: str, parameters: Facts) -> str:
    """Return a text with its placeholders filled in. Empty values are shown as "(none)"."""
    try:
        return fill_in(text, {name: "(none)" if value in ("", []) else value for name, value in parameters.items()})
    except KeyError:
        return text
