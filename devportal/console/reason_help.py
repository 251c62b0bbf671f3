"""Cause and fix of each reason for which the sign-in service refuses a request (oidc/reasons.py).

The page of errors in the docs lists them all, under anchors that are the reasons' codes. The sign-in log shows the fix
of an entry, with a link to where it is done (devportal/console/logs/sign_in_fixes.py).
"""

from collections.abc import Callable
from dataclasses import dataclass

from devportal.console.fixes import client_page, docs, project_page
from oidc.models import Client
from oidc.projects.roles import Role
from oidc.reasons import Reason


@dataclass(frozen=True)
class Help:
    """Cause and fix of a reason; `label` and `place` are where the fix is done, `at_least` the role that may do it."""

    cause: str
    fix: str
    label: str
    place: Callable[[Client], str]
    at_least: str = Role.VIEWER


def _docs(page: str, anchor: str = "") -> Callable[[Client], str]:
    return lambda client: docs(page, anchor)


def _page(name: str, anchor: str = "") -> Callable[[Client], str]:
    return lambda client: client_page(client, name, anchor)


_PARAMETERS = ("Parameters of the request", _docs("authorization", "parameters"))
_PROMPT = ("prompt", _docs("authorization", "prompt"))
_CLAIMS = ("The parameter claims", _docs("authorization", "more"))
_LEVELS = ("Levels", _docs("authorization", "more"))
_SCOPES = ("Scopes", _docs("authorization", "scopes"))
_QUICK_START = ("See the lines in the quick start", _page("quick_start"))
_REDIRECT_URLS = ("Registered redirect URLs", _page("client_settings"))
_SETTINGS = ("Settings", _page("client_settings"))
_REVIEW = ("Go to the review", _page("review"), Role.DEVELOPER)
_SECRETS = ("Secrets", _page("client_secrets"), Role.DEVELOPER)
_EXCHANGE = ("How a code is exchanged", _docs("tokens", "code"))
_REFRESH = ("How to refresh", _docs("tokens", "refresh"))
_REVOCATION = ("Revocation", _docs("tokens", "revocation"))
_SIZES = ("Largest sizes", _docs("limits", "sizes"))
_INVALID_GRANT = ("invalid_grant", _docs("errors", "token-invalid_grant"))
_ERRORS = ("Errors of the endpoints", _docs("errors", "token"))

_NO_SILENT_PAGE = "prompt=none never shows a page. Send the request again without it, and the person is asked."
_REGISTER = "Register the URL if it is yours, or have the app send one that is registered, character for character."
_FEWER = "Send fewer or shorter parameters."
_WRITE_CLAIMS = "Send claims as in the example, or leave it out."
_SIGN_IN_AGAIN = "Have the person sign in again."
_TRY_AGAIN = "Try again. If the error continues, report the request id."
_ANOTHER_URL = "The app sends a redirect URL that differs from every registered one, here in "

HELP: dict[Reason, Help] = {
    # --- Any request ---
    Reason.PARAMETER_UNCLEAR: Help(
        "The parameter that is named was sent twice, or is not UTF-8.",
        "Send it once, percent-encoded. Check whether your library adds what you add too.",
        *_PARAMETERS,
    ),
    Reason.REQUEST_TOO_LONG: Help("The parameters are longer than any request needs.", _FEWER, *_SIZES),
    Reason.TOO_MANY_PARAMETERS: Help("There are more than a hundred parameters.", "Send the listed ones.", *_SIZES),
    Reason.MALFORMED: Help("The request can't be read.", "Compare it with the example of its endpoint.", *_ERRORS),
    Reason.BODY_TYPE: Help(
        "The body is JSON or multipart, for example.",
        "Send the fields form-encoded, with that Content-Type. Most HTTP libraries do if they are given form data.",
        *_ERRORS,
    ),
    Reason.BODY_TOO_LARGE: Help(
        "The body or one of its fields is far larger than any request.", "Send the listed fields only.", *_SIZES
    ),
    Reason.BODY_BROKEN: Help("The connection ended before the body did.", "Send the request again.", *_ERRORS),
    Reason.BODY_NOT_ENCODED: Help("The body has characters that are not ASCII.", "Form-encode the values.", *_ERRORS),
    Reason.SCOPE_SPACES: Help("scope has extra spaces or commas.", "Separate the scopes by single spaces.", *_SCOPES),
    Reason.SERVER_ERROR: Help("The service failed.", _TRY_AGAIN, *_ERRORS),
    Reason.TOO_MANY_REQUESTS: Help(
        "Your client or its IP address sent more requests in this minute than are allowed.",
        "Wait as many seconds as Retry-After says.",
        "Limits",
        _docs("limits"),
    ),
    Reason.UNAVAILABLE: Help(
        "The database is restarting, for example.", "Wait as many seconds as Retry-After says.", *_ERRORS
    ),
    Reason.CLIENT_OFF: Help(
        "A developer of the project turned the client off.",
        "Turn the client on. Sign-in then works again immediately.",
        "Turn on",
        _page("client_settings", "switch"),
        Role.DEVELOPER,
    ),
    Reason.PROJECT_SUSPENDED: Help(
        "A reviewer suspended the project.",
        "The project’s page says why, and how to appeal.",
        "Read why",
        lambda client: project_page(client.project, "project", "appeal"),
    ),
    Reason.PROJECT_DELETED: Help(
        "An owner deleted the project.",
        "Its clients work again once an owner has restored it.",
        "Project",
        lambda client: project_page(client.project, "project"),
        Role.OWNER,
    ),
    # --- Authorization requests: client and redirect URL ---
    Reason.CLIENT_ID_UNCLEAR: Help(
        "client_id was sent twice, or is not UTF-8.", "Send the client id of the settings, once.", *_PARAMETERS
    ),
    Reason.CLIENT_ID_UNKNOWN: Help(
        "No client has this id. Case counts, and the id of a deleted client never comes back.",
        "Copy the client id from the client’s settings.",
        *_SETTINGS,
    ),
    Reason.REDIRECT_URI_UNCLEAR: Help(
        "redirect_uri is missing, was sent twice, or is not UTF-8.",
        "Send redirect_uri exactly once, as one of the registered redirect URLs.",
        *_PARAMETERS,
    ),
    Reason.NO_REDIRECT_URI_REGISTERED: Help("The client has no redirect URL yet.", _REGISTER, *_REDIRECT_URLS),
    Reason.REDIRECT_URI_SLASH: Help(f"{_ANOTHER_URL}the slash at its end.", _REGISTER, *_REDIRECT_URLS),
    Reason.REDIRECT_URI_SCHEME: Help(
        f"{_ANOTHER_URL}the scheme, for example http for https.", _REGISTER, *_REDIRECT_URLS
    ),
    Reason.REDIRECT_URI_HOST: Help(
        f"{_ANOTHER_URL}the host, for example 127.0.0.1 for localhost.", _REGISTER, *_REDIRECT_URLS
    ),
    Reason.REDIRECT_URI_PORT: Help(f"{_ANOTHER_URL}the port.", _REGISTER, *_REDIRECT_URLS),
    Reason.REDIRECT_URI_PATH: Help(f"{_ANOTHER_URL}the path.", _REGISTER, *_REDIRECT_URLS),
    Reason.REDIRECT_URI_QUERY: Help(f"{_ANOTHER_URL}the query.", _REGISTER, *_REDIRECT_URLS),
    Reason.REDIRECT_URI_FRAGMENT: Help(f"{_ANOTHER_URL}a part after #.", _REGISTER, *_REDIRECT_URLS),
    Reason.REDIRECT_URI_SPELLING: Help(f"{_ANOTHER_URL}a character that the log names.", _REGISTER, *_REDIRECT_URLS),
    # --- Authorization requests: parameters ---
    Reason.REQUEST_NOT_SUPPORTED: Help(
        "The parameter request was sent. The service does not read signed request objects.",
        "Leave it out, and send the parameters themselves in the query.",
        *_PARAMETERS,
    ),
    Reason.REQUEST_URI_NOT_SUPPORTED: Help(
        "The parameter request_uri was sent. The service does not fetch requests from elsewhere.",
        "Leave it out, and send the parameters themselves in the query.",
        *_PARAMETERS,
    ),
    Reason.REGISTRATION_NOT_SUPPORTED: Help(
        "The parameter registration was sent.", "Leave it out: clients are registered in the console.", *_PARAMETERS
    ),
    Reason.STATE_MISSING: Help(
        "There is no state.", "Send a random state with each request, and compare it on the way back.", *_QUICK_START
    ),
    Reason.PARAMETER_TOO_LONG: Help(
        "state or nonce is longer than the service stores.",
        "Send a shorter value: 32 random characters will do.",
        *_PARAMETERS,
    ),
    Reason.RESPONSE_TYPE_MISSING: Help("There is no response_type.", "Send response_type=code.", *_PARAMETERS),
    Reason.RESPONSE_TYPE_UNSUPPORTED: Help(
        "response_type is something else than code.", "Send response_type=code.", *_PARAMETERS
    ),
    Reason.RESPONSE_MODE_UNSUPPORTED: Help(
        "response_mode has an unsupported value, such as fragment.",
        "Leave response_mode out, or send query or form_post.",
        *_PARAMETERS,
    ),
    Reason.CODE_CHALLENGE_MISSING: Help(
        "PKCE is required of every client, and code_challenge is missing.",
        "Create a code_verifier, and send the code_challenge computed from it.",
        *_QUICK_START,
    ),
    Reason.CODE_CHALLENGE_METHOD_UNSUPPORTED: Help(
        "code_challenge_method is missing or is not S256.",
        "Send code_challenge_method=S256; libraries that leave it out mean plain.",
        *_QUICK_START,
    ),
    Reason.CODE_CHALLENGE_MALFORMED: Help(
        "code_challenge is not the S256 challenge of a verifier.",
        "The challenge is the SHA-256 of the verifier, as base64url without = at its end.",
        *_QUICK_START,
    ),
    Reason.PROMPT_UNSUPPORTED: Help(
        "prompt has an unsupported value, or none together with another.",
        "Send prompt=none alone, or login, consent, select_account, create.",
        *_PROMPT,
    ),
    Reason.MAX_AGE_MALFORMED: Help(
        "max_age is not a whole number.", "Send max_age as a whole number of seconds.", *_PARAMETERS
    ),
    Reason.ID_TOKEN_HINT_INVALID: Help(
        "id_token_hint is a token of another service, or not an ID token.",
        "Send an ID token that this service gave the app, or leave it out.",
        *_PARAMETERS,
    ),
    Reason.CLAIMS_TOO_LONG: Help("claims is longer than any request needs.", _WRITE_CLAIMS, *_CLAIMS),
    Reason.CLAIMS_UNREADABLE: Help("claims is not valid JSON.", _WRITE_CLAIMS, *_CLAIMS),
    Reason.CLAIMS_NOT_AN_OBJECT: Help("claims is JSON, but not an object.", _WRITE_CLAIMS, *_CLAIMS),
    Reason.CLAIMS_TOO_DEEP: Help("claims has objects nested too deeply.", _WRITE_CLAIMS, *_CLAIMS),
    Reason.CLAIMS_ID_TOKEN_NOT_AN_OBJECT: Help(
        "The member id_token of claims is not an object.", _WRITE_CLAIMS, *_CLAIMS
    ),
    Reason.ACR_CLAIM_MALFORMED: Help("The request for acr is neither null nor an object.", _WRITE_CLAIMS, *_CLAIMS),
    Reason.ACR_ESSENTIAL_MALFORMED: Help("essential is not a boolean.", _WRITE_CLAIMS, *_CLAIMS),
    Reason.ACR_VALUE_AND_VALUES: Help("The request for acr has both members.", "Send one of the two.", *_CLAIMS),
    Reason.ACR_VALUES_MALFORMED: Help("value or values has the wrong type.", _WRITE_CLAIMS, *_CLAIMS),
    Reason.ACR_VALUES_EMPTY: Help("values is an empty list.", _WRITE_CLAIMS, *_CLAIMS),
    Reason.ACR_NEVER_GIVEN: Help(
        "The request requires acr values that this service does not know.",
        "Ask for phr or for a level that the docs list.",
        *_LEVELS,
    ),
    # --- Authorization requests: scopes ---
    Reason.SCOPE_WITHOUT_OPENID: Help("openid is not among the scopes.", "Add openid to the scopes.", *_SCOPES),
    Reason.SCOPE_UNKNOWN: Help(
        "A scope is misspelt, or belongs to another service.", "Ask for the listed scopes only.", *_SCOPES
    ),
    Reason.SCOPE_NOT_APPROVED: Help(
        "The scope needs app review, and the app was not approved for it.", "Ask for the scope in the review.", *_REVIEW
    ),
    Reason.SCOPE_OUTSIDE_REVIEW: Help(
        "The app is approved for the scope, but not at the host of this redirect URL.",
        "Send the app for review with this host among its redirect URLs, or sign in at a host that was in it.",
        *_REVIEW,
    ),
    Reason.SCOPE_HOME_UNPROVEN: Help(
        "The app is approved for the scope, but the project no longer proves the domain of its home page.",
        "Prove the domain again.",
        "Domains",
        lambda client: project_page(client.project, "domains"),
        Role.DEVELOPER,
    ),
    # --- Authorization requests: the person ---
    Reason.NOT_SIGNED_IN: Help(
        "You sent prompt=none, and nobody is signed in in this browser.", _NO_SILENT_PAGE, *_PROMPT
    ),
    Reason.OTHER_PERSON_SIGNED_IN: Help(
        "The id_token_hint names somebody else than the person who is signed in.",
        "Leave id_token_hint out. Without prompt=none the person can choose an account.",
        *_PROMPT,
    ),
    Reason.SIGN_IN_TOO_OLD: Help(
        "You sent prompt=none, and the person signed in longer ago than max_age allows.", _NO_SILENT_PAGE, *_PROMPT
    ),
    Reason.STRONG_SIGN_IN_TOO_OLD: Help(
        "You sent prompt=none, and the sign-in that would be strong enough is older than max_age allows.",
        _NO_SILENT_PAGE,
        *_PROMPT,
    ),
    Reason.LEVEL_NOT_REACHED: Help(
        "You sent prompt=none, and the request or the client requires two factors or a passkey.",
        _NO_SILENT_PAGE,
        *_LEVELS,
    ),
    Reason.LEVEL_DECLINED: Help(
        "The request or the client requires two factors or a passkey, and the person pressed Cancel.",
        "Offer to try again, or go on without what needs it.",
        *_LEVELS,
    ),
    Reason.CONSENT_MISSING: Help(
        "You sent prompt=none, and the person has not allowed all of it yet.",
        f"{_NO_SILENT_PAGE} This is the page that comes then.",
        "Preview the consent page",
        _page("review"),
    ),
    Reason.CONSENT_OUTSIDE_REVIEW: Help(
        "You sent prompt=none. The person has allowed it at the hosts of the app’s review, and this is another host.",
        "Send the app for review with this host among its redirect URLs, or sign in at a host that was in it.",
        *_REVIEW,
    ),
    Reason.CONSENT_HOME_UNPROVEN: Help(
        "You sent prompt=none, and the project no longer proves the domain of the app’s home page.",
        "Prove the domain again.",
        "Domains",
        lambda client: project_page(client.project, "domains"),
        Role.DEVELOPER,
    ),
    Reason.CANCELLED: Help(
        "The person pressed Cancel, or came back from the page that says that the app is full.",
        "Say in the app that the sign-in was cancelled, and offer to try again. See what people are asked.",
        "Preview the consent page",
        _page("review"),
    ),
    Reason.PEOPLE_LIMIT: Help(
        "The app is not reviewed, and the unreviewed apps of its project have as many people as they may have.",
        "Send the app for review: a reviewed app has no limit of people.",
        *_REVIEW,
    ),
    Reason.PEOPLE_LIMIT_OUTSIDE_REVIEW: Help(
        "The app is reviewed, but not at this host, and the people limit of unreviewed apps is reached.",
        "Send the app for review with this host among its redirect URLs, or sign in at a host that was in it.",
        *_REVIEW,
    ),
    Reason.PEOPLE_LIMIT_HOME_UNPROVEN: Help(
        "The project no longer proves the domain of the app’s home page, so the limit of unreviewed apps counts.",
        "Prove the domain again.",
        "Domains",
        lambda client: project_page(client.project, "domains"),
        Role.DEVELOPER,
    ),
    # --- Token, revocation and userinfo requests ---
    Reason.POST_ONLY: Help("The request has another method.", "Send a POST with a form in its body.", *_ERRORS),
    Reason.GET_OR_POST_ONLY: Help(
        "Userinfo was called with another method.", "Send a GET with the token in the header.", *_ERRORS
    ),
    Reason.QUERY_SENT: Help("The URL has a query.", "Send everything in the body: URLs end up in logs.", *_ERRORS),
    Reason.GRANT_TYPE_MISSING: Help(
        "There is no grant_type.", "Send grant_type=authorization_code or refresh_token.", *_ERRORS
    ),
    Reason.GRANT_TYPE_UNSUPPORTED: Help(
        "grant_type is password, client_credentials or another one.",
        "Use the authorization code flow, and refresh tokens; there is no other flow.",
        *_ERRORS,
    ),
    Reason.GRANT_TYPE_NOT_ALLOWED: Help(
        "The client may not use this grant_type.", "Use the authorization code flow.", *_ERRORS
    ),
    Reason.CODE_MISSING: Help(
        "grant_type is authorization_code, and there is no code.",
        "Send the code that came with the redirect.",
        *_EXCHANGE,
    ),
    Reason.REFRESH_TOKEN_MISSING: Help(
        "grant_type is refresh_token, and there is no refresh token.",
        "Send the stored one. Without the scope offline_access the service gives no refresh token.",
        *_REFRESH,
    ),
    Reason.TOKEN_MISSING: Help("The revocation names no token.", "Send the refresh token as token.", *_REVOCATION),
    Reason.TOKEN_TYPE_UNSUPPORTED: Help(
        "token_type_hint names something that can't be revoked.", "Leave token_type_hint out.", *_REVOCATION
    ),
    # --- Client authentication ---
    Reason.TWO_WAYS: Help(
        "The secret is in the Authorization header and in the body.",
        "Choose one: client_secret_basic or client_secret_post.",
        *_EXCHANGE,
    ),
    Reason.CLIENT_UNNAMED: Help(
        "The request has neither client_id nor HTTP Basic.",
        "Browser and installed apps send client_id in the body; web apps their secret too, there or as HTTP Basic.",
        *_EXCHANGE,
    ),
    Reason.CLIENT_FAILED: Help(
        "The client id is mistyped, or belongs to another installation.",
        "Compare client id and secret with the console. Browser and installed apps send no secret.",
        *_SETTINGS,
    ),
    Reason.SECRET_WRONG: Help(
        "The secret is none of the client’s live secrets.",
        "Compare the last four characters of the secret that the app sends, or create another.",
        *_SECRETS,
    ),
    Reason.SECRET_MISSING: Help(
        "The client is a web client, and no secret was sent.",
        "Create a secret, and have the app send it in the header or in the body.",
        "Create a secret",
        _page("client_secrets"),
        Role.DEVELOPER,
    ),
    Reason.SECRET_EXPIRED: Help(
        "The app still sends a secret that has expired.", "Give the app the newest secret.", *_SECRETS
    ),
    Reason.SECRET_UNEXPECTED: Help(
        "The client is of a type that has no secret.",
        "Send client_id and no secret. An app with a server of its own can become a web client.",
        "Type",
        _page("client_settings"),
    ),
    Reason.HEADER_UNREADABLE: Help(
        "The Authorization header has another scheme, or can't be decoded.",
        "Form-encode id and secret, join them with a colon, and encode that as base64.",
        *_EXCHANGE,
    ),
    Reason.TWO_CLIENT_IDS: Help(
        "The header has one client id, the body another.", "Send the same one, or none in the body.", *_EXCHANGE
    ),
    # --- Codes ---
    Reason.CODE_UNKNOWN: Help(
        "The code is cut off, invented, or of another client; or it was deleted since.",
        "Send the code exactly as it arrived, with the client_id that asked for it.",
        *_EXCHANGE,
    ),
    Reason.CODE_USED: Help(
        "The code was exchanged before: a page was reloaded, or two processes handle the redirect.",
        "Exchange each code once, then redirect to a URL without it. The tokens have ended: sign in again.",
        *_EXCHANGE,
    ),
    Reason.CODE_EXPIRED: Help(
        "More than a minute passed between redirect and exchange.",
        "Exchange the code in the request that brings it; check clocks and queues in between.",
        *_EXCHANGE,
    ),
    Reason.VERIFIER_MISSING: Help(
        "PKCE is required of every client, and code_verifier is missing.",
        "Keep the verifier from the start of the sign-in, and turn PKCE on in your library.",
        *_QUICK_START,
    ),
    Reason.VERIFIER_MALFORMED: Help(
        "The code_verifier is too short, too long, or has other characters.",
        "Create the code_verifier of 43 to 128 random letters and digits, and send it with the code.",
        *_QUICK_START,
    ),
    Reason.VERIFIER_WRONG: Help(
        "The code_verifier is of another sign-in: two tabs share one place for it, or the session was lost.",
        "Keep the code_verifier of each sign-in with its state, and send the one that belongs to the code.",
        *_QUICK_START,
    ),
    Reason.REDIRECT_URI_MISSING: Help(
        "A code is exchanged without redirect_uri.", "Send the one of the authorization request.", *_EXCHANGE
    ),
    Reason.REDIRECT_URI_DIFFERS: Help(
        "redirect_uri differs from that of the authorization request.",
        "Send the same redirect_uri in both requests, to the last slash.",
        *_EXCHANGE,
    ),
    # --- Refresh tokens ---
    Reason.REFRESH_TOKEN_UNKNOWN: Help(
        "The refresh token is cut off, invented, of another client, or of an authorization that was deleted.",
        "Send the newest refresh token, with the client_id that got it. Otherwise have the person sign in.",
        *_REFRESH,
    ),
    Reason.REFRESH_TOKEN_EXPIRED: Help(
        "The refresh token was not used for as long as it lives.", _SIGN_IN_AGAIN, *_REFRESH
    ),
    Reason.REFRESH_TOKEN_SUPERSEDED: Help(
        "A newer one was given in exchange for it. If it comes back late, the whole authorization ends.",
        "Store the refresh token of every response before using it, and let one process refresh at a time.",
        *_REFRESH,
    ),
    Reason.REFRESH_TOKEN_REPEATED: Help(
        "A newer one was given in exchange for it a moment ago. Either the response was lost on its way, or two "
        "processes refreshed at once. The newer one still works.",
        "Use the newest one. If responses get lost, as on phones, turn on “Forgive a lost response” in the client’s "
        "settings.",
        "Forgive lost responses",
        _page("client_settings", "lost-responses"),
        Role.DEVELOPER,
    ),
    Reason.SCOPE_NOT_GRANTED: Help(
        "A refresh asks for a scope that was not granted at sign-in.",
        "A refresh gives no more than was granted: leave scope out, or ask for fewer.",
        *_REFRESH,
    ),
    Reason.LOST_RACE: Help(
        "Two requests with the same code or refresh token came at the same moment.",
        "Send one request at a time, and share its response.",
        *_INVALID_GRANT,
    ),
    # --- What codes and tokens hang on ---
    Reason.ACCESS_REMOVED: Help(
        "The person removed your app under Connected apps, or their account is closed.",
        "There is nothing to fix. Have the person sign in again.",
        *_INVALID_GRANT,
    ),
    Reason.ENDED_REFRESH_TOKEN_REUSED: Help(
        "A superseded refresh token came back late, as it would after a theft. All that came of the sign-in has ended.",
        "Store the newest refresh token of each response. Have the person sign in again.",
        *_REFRESH,
    ),
    Reason.ENDED_CODE_REPLAYED: Help(
        "The code of the sign-in was sent twice. All that came of it has ended.",
        "Exchange each code once. Have the person sign in again.",
        *_EXCHANGE,
    ),
    Reason.ENDED_CONSENT_SENT_TWICE: Help(
        "The person sent the consent form twice, and the app got a code for each. Only the last one counts.",
        "Use the code that arrives last, or have the person sign in again.",
        *_EXCHANGE,
    ),
    Reason.ENDED_REVOKED_BY_APP: Help(
        "The app sent a token of the sign-in to the revocation endpoint.", _SIGN_IN_AGAIN, *_REVOCATION
    ),
    Reason.ENDED_ACCESS_REMOVED: Help(
        "The person removed your app under Connected apps.",
        "There is nothing to fix. Have the person sign in again.",
        *_INVALID_GRANT,
    ),
    Reason.ENDED_ACCOUNT_CLOSED: Help(
        "The person’s account was deactivated or deleted.", "There is nothing to fix.", *_INVALID_GRANT
    ),
    Reason.ENDED_CLIENT_TYPE_CHANGED: Help(
        "The client’s type was changed. Tokens of the type before no longer work.", _SIGN_IN_AGAIN, *_SETTINGS
    ),
    Reason.ENDED_PROJECT_DELETED: Help(
        "An owner deleted the project. Restoring it does not bring its tokens back.", _SIGN_IN_AGAIN, *_INVALID_GRANT
    ),
    Reason.ENDED_PLAYGROUND: Help(
        "The tokens were those of a run of the console’s playground, which has ended.",
        "Start another run.",
        "Playground",
        lambda client: project_page(client.project, "playground"),
    ),
    Reason.ENDED_BY_OPERATOR: Help(
        "An operator of the service ended many authorizations at once, after a restore or a leak.",
        _SIGN_IN_AGAIN,
        *_INVALID_GRANT,
    ),
    # --- Access tokens, at userinfo ---
    Reason.ACCESS_TOKEN_INVALID: Help(
        "The token is cut off, an ID token or refresh token, or of another service.",
        "Send the access token of the newest response.",
        *_REFRESH,
    ),
    Reason.ACCESS_TOKEN_EXPIRED: Help("Access tokens are short-lived.", "Refresh it once.", *_REFRESH),
    Reason.ACCESS_TOKEN_ENDED: Help(
        "The person removed your app, the refresh token was revoked or reused, or the client is off.",
        "Refresh it once; if that is refused, have the person sign in again.",
        *_REFRESH,
    ),
    Reason.OPENID_MISSING: Help("Userinfo needs the scope openid.", "Ask for openid at the next sign-in.", *_SCOPES),
}
