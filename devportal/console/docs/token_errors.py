"""Cause and fix of each description that the token, revocation and userinfo endpoints give with an error."""

from dataclasses import dataclass

from oidc.token_errors import TOKEN_ERRORS, TokenError

# Row of TOKEN_ERRORS -> cause, fix.
HELP: dict[str, tuple[str, str]] = {
    "post_only": ("The endpoint was asked with another method.", "Send a POST with a form in its body."),
    "get_or_post_only": ("Userinfo was asked with another method.", "Send a GET with the token in the header."),
    "query_sent": (
        "Something stands after a question mark in the address.",
        "Send everything in the body: addresses end up in logs.",
    ),
    "body_type": (
        "The body is JSON, say, or multipart.",
        "Send the fields form-encoded, with that Content-Type. Most HTTP libraries do if they are given form data.",
    ),
    "body_too_large": ("The body or one of its fields is far larger than any request.", "Send the listed fields only."),
    "body_broken": ("The connection ended before the body did.", "Send the request again."),
    "body_not_encoded": ("The body has characters that are not ASCII.", "Form-encode the values."),
    "too_many_parameters": ("The body has more than a hundred fields.", "Send the listed fields only."),
    "parameter_unclear": (
        "The field that is named was sent twice, or is not UTF-8.",
        "Send it once. Look whether your library adds what you add too.",
    ),
    "malformed": (
        "The request can't be read.",
        "Compare it with the example of the endpoint.",
    ),
    "grant_type_missing": ("There is no grant_type.", "Send authorization_code or refresh_token."),
    "grant_type_unsupported": (
        "grant_type is password, client_credentials or another one.",
        "Use the authorization code flow, and refresh tokens; there is no other flow.",
    ),
    "grant_type_not_allowed": ("The client may not use this grant_type.", "Use the authorization code flow."),
    "code_missing": ("grant_type is authorization_code, and there is no code.", "Send the code of the redirect."),
    "refresh_token_missing": (
        "grant_type is refresh_token, and there is none.",
        "Send the stored one. Without the scope offline_access no refresh token is given.",
    ),
    "token_missing": ("A revocation without the token.", "Send the refresh token as token."),
    "two_ways": (
        "The secret is in the Authorization header and in the body.",
        "Choose one: client_secret_basic or client_secret_post.",
    ),
    "client_unnamed": (
        "Neither client_id nor HTTP Basic came along.",
        "Browser and installed apps send client_id in the body; web apps their secret too, there or as HTTP Basic.",
    ),
    "client_failed": (
        "The id is mistyped or of another installation; the secret is wrong, has ended or is missing; or a secret was "
        "sent for a client that has none. The answer does not tell which; the sign-in log of the client does.",
        "Compare client id and secret with the console. Browser and installed apps send no secret.",
    ),
    "header_unreadable": (
        "The Authorization header has another scheme, or can't be decoded.",
        "Form-encode id and secret, join them with a colon, and encode that as base64.",
    ),
    "two_client_ids": ("The header has one client id, the body another.", "Send the same one, or none in the body."),
    "code_unknown": (
        "The code is cut off, invented, or of another client; or it was deleted since.",
        "Send the code exactly as it arrived, with the client_id that asked for it.",
    ),
    "code_used": (
        "The code was exchanged before: a page was reloaded, or two processes handle the redirect.",
        "Exchange each code once, then redirect to an address without it. What it gave has ended: sign in again.",
    ),
    "code_expired": (
        "More than a minute passed between redirect and exchange.",
        "Exchange it in the request that brings it; look at clocks and queues between.",
    ),
    "verifier_missing": (
        "PKCE is required of every client, and code_verifier is not there.",
        "Keep the verifier from the start of the sign-in, and turn PKCE on in your library.",
    ),
    "verifier_malformed": (
        "The code_verifier is too short, too long, or has other characters.",
        "Let a library make it.",
    ),
    "verifier_wrong": (
        "The code_verifier is of another sign-in: two tabs share one place for it, or the session was lost.",
        "Keep the verifier with its state, one for each sign-in.",
    ),
    "redirect_uri_missing": (
        "A code is exchanged without redirect_uri.",
        "Send the one of the authorization request.",
    ),
    "redirect_uri_differs": (
        "redirect_uri differs from the one that the authorization request had.",
        "Send the same text in both, to the last slash.",
    ),
    "refresh_token_unknown": (
        "The refresh token is cut off, invented, of another client, or of an authorization that was deleted.",
        "Send it with the client_id that it was given to; otherwise have the person sign in.",
    ),
    "refresh_token_expired": ("It was not used for as long as it lives.", "Have the person sign in again."),
    "refresh_token_superseded": (
        "A newer one was given in exchange for it. If it comes back late, the whole authorization ends.",
        "Store the newest one before using the access token, and refresh in one place at a time.",
    ),
    "refresh_token_repeated": (
        "A newer one was given in exchange for it a moment ago. Either the response was lost on its way, or two "
        "processes refreshed at once. The newer one still works.",
        "Use the newest one. If responses get lost, as on phones, turn on “Forgive a lost response” in the client's "
        "settings.",
    ),
    "scope_not_granted": (
        "A refresh asks for a scope that the sign-in did not have.",
        "Leave scope out, or ask for fewer scopes.",
    ),
    "scope_spaces": ("scope has a space too many, or commas.", "Separate names with one space."),
    "authorization_ended": (
        "The person removed your app, their account is closed, the app revoked the token, or a code or refresh token "
        "of this sign-in was used twice. Which of it, your sign-in log says.",
        "Forget the tokens, and have the person sign in again.",
    ),
    "client_off": ("A member of the project turned the client off.", "Turn it on in the client's settings."),
    "project_suspended": (
        "Whoever runs the service has suspended the project.",
        "An owner of the project asks them; the console says why.",
    ),
    "project_deleted": ("The project of the client was deleted.", "An owner can restore it for a while."),
    "lost_race": (
        "Two requests with the same code or token ran at once, and this one came second.",
        "Use what the other one got; make sure that only one process exchanges or refreshes.",
    ),
    "access_token_invalid": (
        "It is cut off, of another service, or no access token: an ID token, a refresh token or an API key.",
        "Send the access_token of the newest answer.",
    ),
    "access_token_expired": ("It is older than its expires_in.", "Refresh it, or have the person sign in."),
    "access_token_ended": (
        "The person removed your app or closed their account, the app revoked its tokens, or the client is off.",
        "Refresh once; the answer to that says more.",
    ),
    "openid_missing": ("The token has not, or has no longer, the scope openid.", "Ask for openid at sign-in."),
    "token_type_unsupported": ("token_type_hint names another type.", "Leave token_type_hint out."),
    "server_error": ("The service failed.", "Try again; if it stays, report the request id."),
    "too_many_requests": ("A limit is reached.", "Wait as many seconds as Retry-After says."),
    "unavailable": ("A part of the service does not answer.", "Wait as many seconds as Retry-After says."),
}


@dataclass(frozen=True)
class TokenErrorRow:
    """One description, as the page of errors lists it; `name` is its anchor, after `token-`."""

    name: str
    told: TokenError
    cause: str
    fix: str


def token_descriptions() -> list[TokenErrorRow]:
    """Return every description of TOKEN_ERRORS with its cause and fix."""
    return [TokenErrorRow(name, told, *HELP[name]) for name, told in TOKEN_ERRORS.items()]
