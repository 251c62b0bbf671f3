"""Cause and fix of each error code of the sign-in service, for the docs and the playground."""

from typing import NamedTuple


class ErrorHelp(NamedTuple):
    """Cause and fix of an error, and its HTTP status at the endpoints that apps call."""

    cause: str
    fix: str
    status: int | None = None


# Errors that the browser brings to the app's redirect URL.
AUTHORIZATION_HELP = {
    "access_denied": ErrorHelp(
        "The person pressed Cancel, or the app can’t take more people yet.",
        "Show that the sign-in was cancelled, and offer to try again.",
    ),
    "consent_required": ErrorHelp(
        "You sent prompt=none, but the person has not allowed everything yet, or the app is not reviewed and can’t "
        "take more people.",
        "Send the request again without prompt=none, so that the person can see the consent page.",
    ),
    "invalid_request": ErrorHelp(
        "The request is malformed, and error_description says where. Often, code_challenge or state is missing, the "
        "method is not S256, or a parameter was sent twice. If the redirect URL is not registered, your app gets no "
        "response, and the person sees a page with this code.",
        "Correct the part that error_description names. The redirect URL must be exactly the registered one. Check the "
        "slash at the end, the port, http instead of https, and 127.0.0.1 instead of localhost.",
    ),
    "invalid_scope": ErrorHelp(
        "openid is missing, a scope is misspelt, your app is not approved for a scope or not for this redirect URL, or "
        "the API of a scope is turned off or not among the resources of the request.",
        "Request only the scopes that are listed under Authorization. Some of them, such as account.read, need app "
        "review first, and a redirect URL that the review covers.",
    ),
    "invalid_target": ErrorHelp(
        "resource is not the identifier of an API of this service, the API is turned off, or scope contains none of "
        "its scopes.",
        "Send the identifier as the page of the API shows it, and request a scope of that API.",
    ),
    "login_required": ErrorHelp(
        "You sent prompt=none, but nobody is signed in, the sign-in is older than max_age, or the person is not the "
        "one in id_token_hint.",
        "Send the request again without prompt=none, so that the person can sign in.",
    ),
    "registration_not_supported": ErrorHelp(
        "You sent the parameter registration.", "Leave it out: clients are registered in the console."
    ),
    "request_not_supported": ErrorHelp(
        "You sent the parameter request, but signed request objects are not supported.",
        "Send the parameters themselves in the query.",
    ),
    "request_uri_not_supported": ErrorHelp(
        "You sent the parameter request_uri, but the service does not fetch requests from a URL.",
        "Send the parameters themselves in the query.",
    ),
    "unmet_authentication_requirements": ErrorHelp(
        "Your request or your app’s settings require two factors or a passkey, but you sent prompt=none and the "
        "person has signed in with less, or the person pressed Cancel, or none of the required values is supported.",
        "Send the request without prompt=none, so that the person can meet the level. Offer to try again, or continue "
        "without the feature that needs it.",
    ),
    "unsupported_response_type": ErrorHelp("response_type is not code.", "Send response_type=code."),
    "server_error": ErrorHelp(
        "Something went wrong on our side.", "Try again. If the error continues, report the request id."
    ),
}

# Errors of the token endpoint (RFC 6749 §5.2), which the revocation endpoint shares.
TOKEN_HELP = {
    "invalid_request": ErrorHelp(
        "A parameter is missing, was sent twice or is in the query, the body is not form-encoded, or the client "
        "authenticates in two ways at once.",
        "Send a POST with Content-Type: application/x-www-form-urlencoded. Send the secret either in the Authorization "
        "header or in the body, not in both.",
        400,
    ),
    "invalid_client": ErrorHelp(
        "The client id is unknown, the secret is wrong, missing, expired or revoked, or a client without a secret sent "
        "one.",
        "Compare the client id and the secret with the console. Browser and installed apps send client_id and no "
        "secret.",
        401,
    ),
    "invalid_grant": ErrorHelp(
        "The code or refresh token is expired, already used or belongs to another client, redirect_uri or "
        "code_verifier does not match the request, the person removed your app, the app is off, or its project is "
        "suspended.",
        "Start a new sign-in. If the error happens with every code, exchange each code only once and before it "
        "expires, with the same redirect_uri and the verifier of the challenge. Always store the newest refresh token.",
        400,
    ),
    "invalid_scope": ErrorHelp(
        "The refresh requests a scope that was not granted, or only scopes of another API than resource.",
        "Leave scope out, or request fewer scopes.",
        400,
    ),
    "invalid_target": ErrorHelp(
        "resource is not the identifier of an API of this service, the API is turned off, the person granted no scope "
        "of it, or resource was sent more than once.",
        "Send one request for each API, with its identifier as the page of the API shows it. Request a scope of the "
        "API at sign-in first.",
        400,
    ),
    "unsupported_grant_type": ErrorHelp(
        "grant_type is neither authorization_code nor refresh_token.",
        "Use one of these two. Other flows are not supported.",
        400,
    ),
    "temporarily_unavailable": ErrorHelp(
        "There were too many requests (429), or the service is temporarily unavailable (503).",
        "Wait as many seconds as Retry-After says, then try again.",
        429,
    ),
}
