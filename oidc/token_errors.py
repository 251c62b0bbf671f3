"""What the token, revocation and userinfo endpoints say of a request that they refuse: one table.

Each row has the code of the standard (RFC 6749 §5.2, RFC 6750 §3.1), and the `error_description` that always goes with
it. Descriptions tell the caller nothing but what it sent and what it holds: an unknown client and a wrong secret read
alike, and so do an unknown code and one of another client. They are ASCII without quotes and backslashes, as §5.2 asks.
/docs/errors has an entry for each row, with the row's name as its anchor.
"""

from typing import NamedTuple


class TokenError(NamedTuple):
    """One way to be refused: its code, its description for the app's developer, and the HTTP status."""

    error: str
    description: str
    status: int = 400


TOKEN_ERRORS: dict[str, TokenError] = {
    # The request itself
    "post_only": TokenError("invalid_request", "Use POST.", 405),
    "get_or_post_only": TokenError("invalid_request", "Use GET or POST.", 405),
    "query_sent": TokenError("invalid_request", "Parameters belong in the body."),
    "body_type": TokenError("invalid_request", "The body must be application/x-www-form-urlencoded."),
    "body_too_large": TokenError("invalid_request", "The body is too large."),
    "body_broken": TokenError("invalid_request", "The body broke off."),
    "body_not_encoded": TokenError("invalid_request", "The body must be percent-encoded."),
    "too_many_parameters": TokenError("invalid_request", "There are too many parameters."),
    "parameter_unclear": TokenError("invalid_request", "The parameter {name} is repeated or unreadable."),
    "malformed": TokenError("invalid_request", "The request is malformed."),
    "grant_type_missing": TokenError("invalid_request", "grant_type is missing."),
    "grant_type_unsupported": TokenError(
        "unsupported_grant_type", "grant_type must be authorization_code or refresh_token."
    ),
    "grant_type_not_allowed": TokenError("unauthorized_client", "This client may not use this grant_type."),
    "code_missing": TokenError("invalid_request", "code is missing."),
    "refresh_token_missing": TokenError("invalid_request", "refresh_token is missing."),
    "token_missing": TokenError("invalid_request", "token is missing."),
    # The client
    "two_ways": TokenError("invalid_request", "The client authenticates in two ways."),
    "client_unnamed": TokenError(
        "invalid_client", "No client is named: send client_id, or HTTP Basic with client id and secret.", 401
    ),
    "client_failed": TokenError(
        "invalid_client", "The client id is unknown, or the secret is wrong, missing, or one too many.", 401
    ),
    "header_unreadable": TokenError(
        "invalid_client", "The Authorization header is not HTTP Basic with client id and secret, form-encoded.", 401
    ),
    "two_client_ids": TokenError(
        "invalid_client", "The Authorization header and the body name different clients.", 401
    ),
    # The code
    "code_unknown": TokenError("invalid_grant", "The code is unknown, or was given to another client."),
    "code_used": TokenError("invalid_grant", "The code was used before. Everything that it gave has ended."),
    "code_expired": TokenError("invalid_grant", "The code has expired. Exchange it as soon as it arrives."),
    "verifier_missing": TokenError("invalid_request", "code_verifier is missing."),
    "verifier_malformed": TokenError(
        "invalid_grant", "The code_verifier must have 43 to 128 characters, of A-Z, a-z, 0-9 and -._~ only."
    ),
    "verifier_wrong": TokenError("invalid_grant", "The code_verifier does not fit the code_challenge."),
    "redirect_uri_missing": TokenError("invalid_request", "redirect_uri is missing."),
    "redirect_uri_differs": TokenError("invalid_grant", "redirect_uri is not the one of the authorization request."),
    # The refresh token
    "refresh_token_unknown": TokenError(
        "invalid_grant", "The refresh token is unknown, or was given to another client."
    ),
    "refresh_token_expired": TokenError("invalid_grant", "The refresh token has expired."),
    "refresh_token_superseded": TokenError(
        "invalid_grant", "The refresh token was superseded. Store the newest one of each answer."
    ),
    "refresh_token_repeated": TokenError(
        "invalid_grant", "The refresh token was superseded a moment ago. Use the newest one of each response."
    ),
    "scope_not_granted": TokenError("invalid_scope", "scope names something that was not granted at sign-in."),
    "scope_spaces": TokenError(
        "invalid_scope", "scope must be names with one space between each two, and none before or after."
    ),
    # What a code or refresh token hangs on
    "authorization_ended": TokenError(
        "invalid_grant", "The authorization has ended, or the app's access was removed. Sign in again."
    ),
    "client_off": TokenError("invalid_grant", "The client is turned off."),
    "project_suspended": TokenError("invalid_grant", "The project of the client is suspended."),
    "project_deleted": TokenError("invalid_grant", "The project of the client is deleted."),
    "lost_race": TokenError("invalid_grant", "Another request with the same code or refresh token came first."),
    # The access token, at userinfo (RFC 6750 §3.1)
    "access_token_invalid": TokenError("invalid_token", "The token is not a live access token of this service.", 401),
    "access_token_expired": TokenError("invalid_token", "The access token has expired.", 401),
    "access_token_ended": TokenError(
        "invalid_token", "The authorization has ended, the app's access was removed, or the client is off.", 401
    ),
    "openid_missing": TokenError("insufficient_scope", "The access token lacks the scope openid.", 403),
    # The service
    "token_type_unsupported": TokenError("unsupported_token_type", "This type of token can not be revoked."),
    "server_error": TokenError("server_error", "The service failed. Try again.", 500),
    "too_many_requests": TokenError("temporarily_unavailable", "Too many requests.", 429),
    "unavailable": TokenError("temporarily_unavailable", "Try again shortly.", 503),
}

# What oauthlib refuses by itself: its code and text -> row. A text that is not here has the row of its code.
OF_LIBRARY = {
    ("invalid_request", "Missing code parameter."): "code_missing",
    ("invalid_request", "Missing refresh token parameter."): "refresh_token_missing",
    ("invalid_request", "Missing token parameter."): "token_missing",
    ("invalid_request", "Code verifier required."): "verifier_missing",
    ("invalid_request", "Missing redirect URI."): "redirect_uri_missing",
    ("invalid_scope", TOKEN_ERRORS["scope_spaces"].description): "scope_spaces",
}
OF_LIBRARY_BY_CODE = {
    "invalid_scope": "scope_not_granted",
    "invalid_client": "client_failed",
    "invalid_grant": "authorization_ended",
    "unauthorized_client": "grant_type_not_allowed",
    "unsupported_grant_type": "grant_type_unsupported",
    "invalid_token": "access_token_invalid",
    # Of a stored challenge that S256 can't check, which nothing fits; no request of this service stores one.
    "server_error": "verifier_wrong",
    "unsupported_token_type": "token_type_unsupported",
    "insufficient_scope": "openid_missing",
}


def row_of_library(error: str, description: str) -> str:
    """Return the name of the row for what oauthlib refused, by its code and text."""
    return OF_LIBRARY.get((error, description)) or OF_LIBRARY_BY_CODE.get(error, "malformed")
