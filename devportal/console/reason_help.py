"""Cause and fix of each reason for which the sign-in service refuses a request (oidc/reasons.py).

The errors page of the docs lists them all. The anchor of each is the reason's code. The sign-in log shows the fix of an
entry, with a link to the page for it (devportal/console/logs/fixes.py).
"""

from collections.abc import Callable
from dataclasses import dataclass

from devportal.console.fixes import client_page, docs, project_page
from oidc.models import Client
from oidc.projects.roles import Role
from oidc.reasons import Reason


@dataclass(frozen=True)
class Help:
    """Cause and fix of a reason.

    `label` and `place` are a link to the page for the fix. `at_least` is the lowest role that can make the fix.
    """

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
_RESOURCES = ("Tokens for an API", _docs("authorization", "resources"))
_PROMPT = ("prompt", _docs("authorization", "prompt"))
_CLAIMS = ("The parameter claims", _docs("authorization", "more"))
_LEVELS = ("Levels", _docs("authorization", "more"))
_SCOPES = ("Scopes", _docs("authorization", "scopes"))
_QUICK_START = ("See the lines in the quick start", _page("quick_start"))
_REDIRECT_URLS = ("Registered redirect URLs", _page("client_settings"))
_SIGN_OUT_URLS = ("Registered sign-out URLs", _page("client_settings"))
_SIGN_OUT = ("Sign-out", _docs("logout"))
_SETTINGS = ("Settings", _page("client_settings"))
_REVIEW = ("Go to the review", _page("review"), Role.DEVELOPER)
_SECRETS = ("Secrets", _page("client_secrets"), Role.DEVELOPER)
_EXCHANGE = ("How a code is exchanged", _docs("tokens", "code"))
_REFRESH = ("How to refresh", _docs("tokens", "refresh"))
_REVOCATION = ("Revocation", _docs("revocation"))
_SIZES = ("Largest sizes", _docs("limits", "sizes"))
_INVALID_GRANT = ("invalid_grant", _docs("errors", "token-invalid_grant"))
_ERRORS = ("Errors of the endpoints", _docs("errors", "token"))

_NO_SILENT_PAGE = "prompt=none never shows a page. Send the request again without it, so that the person is asked."
_REGISTER = "Register the URL if it is yours, or change the app to send exactly one of the registered URLs."
_REGISTER_SIGN_OUT = (
    "Register the URL as a sign-out URL if it is yours, or have the app send exactly one of the registered ones."
)
_FEWER = "Send fewer or shorter parameters."
_WRITE_CLAIMS = "Send claims as in the example, or leave it out."
_SIGN_IN_AGAIN = "Have the person sign in again."
_TRY_AGAIN = "Try again. If the error continues, report the request id."

HELP: dict[Reason, Help] = {
    # --- Any request ---
    Reason.PARAMETER_UNCLEAR: Help(
        "A parameter was sent twice, or is not UTF-8. The error description names it.",
        "Send it once, percent-encoded. Check whether your library adds the same parameter as your code.",
        *_PARAMETERS,
    ),
    Reason.REQUEST_TOO_LONG: Help("The parameters are too long.", _FEWER, *_SIZES),
    Reason.TOO_MANY_PARAMETERS: Help(
        "There are more than a hundred parameters.", "Send only the listed parameters.", *_SIZES
    ),
    Reason.MALFORMED: Help("The request can't be read.", "Compare it with the example of its endpoint.", *_ERRORS),
    Reason.BODY_TYPE: Help(
        "The body is not form-encoded, but for example JSON or multipart.",
        "Send the fields form-encoded, with the matching Content-Type. Most HTTP libraries do this for form data.",
        *_ERRORS,
    ),
    Reason.BODY_TOO_LARGE: Help("The body or one of its fields is too large.", "Send the listed fields only.", *_SIZES),
    Reason.BODY_BROKEN: Help("The connection ended before the body did.", "Send the request again.", *_ERRORS),
    Reason.BODY_NOT_ENCODED: Help("The body has characters that are not ASCII.", "Form-encode the values.", *_ERRORS),
    Reason.SERVER_ERROR: Help("Something went wrong on our side.", _TRY_AGAIN, *_ERRORS),
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
        "Turn the client on. People can then sign in again immediately.",
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
        "client_id was sent twice, or is not UTF-8.", "Send the client id from the settings once.", *_PARAMETERS
    ),
    Reason.CLIENT_ID_UNKNOWN: Help(
        "No client has this id. Upper and lower case matter, and the id of a deleted client is never used again.",
        "Copy the client id from the client’s settings.",
        *_SETTINGS,
    ),
    Reason.REDIRECT_URI_UNCLEAR: Help(
        "redirect_uri is missing, was sent twice, or is not UTF-8.",
        "Send redirect_uri exactly once, as one of the registered redirect URLs.",
        *_PARAMETERS,
    ),
    Reason.NO_REDIRECT_URI_REGISTERED: Help("The client has no redirect URL yet.", _REGISTER, *_REDIRECT_URLS),
    Reason.REDIRECT_URI_SLASH: Help(
        "The redirect URL differs from the registered one by the slash at its end.", _REGISTER, *_REDIRECT_URLS
    ),
    Reason.REDIRECT_URI_SCHEME: Help(
        "The redirect URL differs from the registered one by the scheme, for example http for https.",
        _REGISTER,
        *_REDIRECT_URLS,
    ),
    Reason.REDIRECT_URI_HOST: Help(
        "The redirect URL differs from the registered one by the host, for example 127.0.0.1 for localhost.",
        _REGISTER,
        *_REDIRECT_URLS,
    ),
    Reason.REDIRECT_URI_PORT: Help(
        "The redirect URL differs from the registered one by the port.", _REGISTER, *_REDIRECT_URLS
    ),
    Reason.REDIRECT_URI_PATH: Help(
        "The redirect URL differs from the registered one by the path.", _REGISTER, *_REDIRECT_URLS
    ),
    Reason.REDIRECT_URI_QUERY: Help(
        "The redirect URL differs from the registered one by the query.", _REGISTER, *_REDIRECT_URLS
    ),
    Reason.REDIRECT_URI_FRAGMENT: Help(
        "The redirect URL differs from the registered one by a part after #.", _REGISTER, *_REDIRECT_URLS
    ),
    Reason.REDIRECT_URI_SPELLING: Help(
        "The redirect URL differs from the registered one by a character, which the log names.",
        _REGISTER,
        *_REDIRECT_URLS,
    ),
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
        "state is missing.",
        "Send a random state with each request, and compare it with the one in the response.",
        *_QUICK_START,
    ),
    Reason.PARAMETER_TOO_LONG: Help(
        "state or nonce is longer than the service stores.",
        "Send a shorter value. 32 random characters are enough.",
        *_PARAMETERS,
    ),
    Reason.RESPONSE_TYPE_MISSING: Help("response_type is missing.", "Send response_type=code.", *_PARAMETERS),
    Reason.RESPONSE_TYPE_UNSUPPORTED: Help("response_type is not code.", "Send response_type=code.", *_PARAMETERS),
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
        "Send code_challenge_method=S256. If it is missing, the method is plain, which is not supported.",
        *_QUICK_START,
    ),
    Reason.CODE_CHALLENGE_MALFORMED: Help(
        "code_challenge is not the S256 challenge of a verifier.",
        "The challenge is the SHA-256 of the verifier, as base64url without = at its end.",
        *_QUICK_START,
    ),
    Reason.PROMPT_UNSUPPORTED: Help(
        "prompt has an unsupported value, or none together with another value.",
        "Send prompt=none without other values, or a list of login, consent, select_account and create.",
        *_PROMPT,
    ),
    Reason.MAX_AGE_MALFORMED: Help(
        "max_age is not a whole number.", "Send max_age as a whole number of seconds.", *_PARAMETERS
    ),
    Reason.ID_TOKEN_HINT_INVALID: Help(
        "id_token_hint is a token of another service, or not an ID token.",
        "Send an ID token that your app got from this service, or leave it out.",
        *_PARAMETERS,
    ),
    Reason.CLAIMS_TOO_LONG: Help("claims is too long.", _WRITE_CLAIMS, *_CLAIMS),
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
        "Request phr or another level that the docs list.",
        *_LEVELS,
    ),
    # --- Authorization requests: scopes ---
    Reason.SCOPE_WITHOUT_OPENID: Help("The scope openid is missing.", "Add openid to the scopes.", *_SCOPES),
    Reason.SCOPE_UNKNOWN: Help(
        "A scope is misspelt, belongs to another service, or is joined to the next one by a comma.",
        "Request only the listed scopes, separated by spaces.",
        *_SCOPES,
    ),
    Reason.SCOPE_NOT_APPROVED: Help(
        "The scope needs app review, and the app is not approved for it.", "Request the scope in the review.", *_REVIEW
    ),
    Reason.SCOPE_KEPT: Help(
        "The scope needs app review since a change of its API. The app keeps it for people who granted it before, and "
        "this person had not.",
        "Request the scope in the review. Until then, leave it out for new people.",
        *_REVIEW,
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
    # --- Resource indicators ---
    Reason.RESOURCE_UNKNOWN: Help(
        "resource is misspelt, or the API was deleted.",
        "Send the identifier of an API as its page in the docs shows it.",
        *_RESOURCES,
    ),
    Reason.RESOURCE_OFF: Help(
        "The operators of this service have turned the API off.",
        "Ask the service when the API will be available again. Tokens for other APIs still work.",
        *_RESOURCES,
    ),
    Reason.RESOURCE_WITHOUT_SCOPE: Help(
        "The request names an API, and requests no scope of it.",
        "Add a scope of the API, or leave its resource out.",
        *_RESOURCES,
    ),
    Reason.RESOURCE_NOT_GRANTED: Help(
        "The person granted no scope of this API, or the approval for it was withdrawn.",
        "Request a scope of the API at sign-in first.",
        *_RESOURCES,
    ),
    Reason.SEVERAL_RESOURCES: Help(
        "The token request sends resource more than once.",
        "Send one token request for each API. The refresh token works for all of them.",
        *_RESOURCES,
    ),
    Reason.SCOPE_OF_OTHER_API: Help(
        "The request names APIs with resource, and also requests a scope of another API.",
        "Name that API as well, or leave its scope out.",
        *_RESOURCES,
    ),
    Reason.SCOPE_API_OFF: Help(
        "The operators of this service have turned off the API that the scope belongs to.",
        "Leave the scope out until the API is available again.",
        *_RESOURCES,
    ),
    # --- Authorization requests: the person ---
    Reason.NOT_SIGNED_IN: Help(
        "You sent prompt=none, and nobody is signed in in this browser.", _NO_SILENT_PAGE, *_PROMPT
    ),
    Reason.OTHER_PERSON_SIGNED_IN: Help(
        "The person who is signed in is not the one in id_token_hint.",
        "Leave id_token_hint out. Without prompt=none, the person can choose an account.",
        *_PROMPT,
    ),
    Reason.SIGN_IN_TOO_OLD: Help(
        "You sent prompt=none, and the person’s sign-in is older than max_age.", _NO_SILENT_PAGE, *_PROMPT
    ),
    Reason.STRONG_SIGN_IN_TOO_OLD: Help(
        "You sent prompt=none, and the last sign-in that was strong enough is older than max_age.",
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
        "Offer to try again, or continue without the feature that needs it.",
        *_LEVELS,
    ),
    Reason.CONSENT_MISSING: Help(
        "You sent prompt=none, and the person has not allowed everything yet.",
        f"{_NO_SILENT_PAGE} You can preview the page that they see.",
        "Preview the consent page",
        _page("review"),
    ),
    Reason.CONSENT_OUTSIDE_REVIEW: Help(
        "You sent prompt=none. The person has allowed the app only for the hosts that its review covers, and this is "
        "another host.",
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
        "The person pressed Cancel, or the app can’t take more people yet.",
        "Show in the app that the sign-in was cancelled, and offer to try again. You can preview the consent page.",
        "Preview the consent page",
        _page("review"),
    ),
    Reason.PEOPLE_LIMIT: Help(
        "The app is not reviewed, and the unreviewed apps of its project have reached their limit of people.",
        "Send the app for review. A reviewed app has no limit of people.",
        *_REVIEW,
    ),
    Reason.PEOPLE_LIMIT_OUTSIDE_REVIEW: Help(
        "The review does not cover this host, and the limit of people for unreviewed apps is reached.",
        "Send the app for review with this host among its redirect URLs, or sign in at a host that was in it.",
        *_REVIEW,
    ),
    Reason.PEOPLE_LIMIT_HOME_UNPROVEN: Help(
        "The project no longer proves the domain of the app’s home page, so the limit of people applies.",
        "Prove the domain again.",
        "Domains",
        lambda client: project_page(client.project, "domains"),
        Role.DEVELOPER,
    ),
    # --- Token, revocation and userinfo requests ---
    Reason.POST_ONLY: Help("The request is not a POST.", "Send a POST with a form in its body.", *_ERRORS),
    Reason.GET_OR_POST_ONLY: Help(
        "The request is neither a GET nor a POST.", "Send a GET with the token in the header.", *_ERRORS
    ),
    Reason.QUERY_SENT: Help("The URL has a query.", "Send everything in the body: URLs end up in logs.", *_ERRORS),
    Reason.GRANT_TYPE_MISSING: Help(
        "grant_type is missing.", "Send grant_type=authorization_code or refresh_token.", *_ERRORS
    ),
    Reason.GRANT_TYPE_UNSUPPORTED: Help(
        "grant_type is password, client_credentials or another one.",
        "Use the authorization code flow and refresh tokens. Other flows are not supported.",
        *_ERRORS,
    ),
    Reason.GRANT_TYPE_NOT_ALLOWED: Help(
        "The client is not allowed to use this grant_type.", "Use the authorization code flow.", *_ERRORS
    ),
    Reason.CODE_MISSING: Help(
        "grant_type is authorization_code, but code is missing.",
        "Send the code from the redirect.",
        *_EXCHANGE,
    ),
    Reason.REFRESH_TOKEN_MISSING: Help(
        "grant_type is refresh_token, but refresh_token is missing.",
        "Send the stored refresh token. You only get one with the scope offline_access.",
        *_REFRESH,
    ),
    Reason.TOKEN_MISSING: Help(
        "The revocation request has no token.", "Send the refresh token as token.", *_REVOCATION
    ),
    Reason.TOKEN_TYPE_UNSUPPORTED: Help(
        "token_type_hint is a type that can't be revoked.", "Leave token_type_hint out.", *_REVOCATION
    ),
    # --- Client authentication ---
    Reason.TWO_WAYS: Help(
        "The secret is in the Authorization header and in the body.",
        "Use either client_secret_basic or client_secret_post.",
        *_EXCHANGE,
    ),
    Reason.CLIENT_UNNAMED: Help(
        "The request has neither client_id nor HTTP Basic.",
        "Browser and installed apps send client_id in the body. Web apps also send their secret, there or with HTTP "
        "Basic.",
        *_EXCHANGE,
    ),
    Reason.CLIENT_FAILED: Help(
        "The client id is mistyped, or belongs to another installation.",
        "Compare the client id and the secret with the console. Browser and installed apps send no secret.",
        *_SETTINGS,
    ),
    Reason.SECRET_WRONG: Help(
        "The secret is not one of the client’s live secrets.",
        "Compare the last four characters of the secret that the app sends, or create another secret.",
        *_SECRETS,
    ),
    Reason.SECRET_WHITE_SPACE: Help(
        "The secret that the app sends ends in white space, such as the line break at the end of a file.",
        "Remove the white space where the app reads the secret. Then compare the last four characters.",
        *_SECRETS,
    ),
    Reason.SECRET_OF_OTHER_CLIENT: Help(
        "The secret is one of another client of the same project.",
        "Give the app the client id and the secret of the same client.",
        *_SECRETS,
    ),
    Reason.SECRET_IS_API_KEY: Help(
        "The app sends an API key as its client secret. API keys work only in calls to /v1.",
        "Give the app a secret of the client.",
        *_SECRETS,
    ),
    Reason.SECRET_MISSING: Help(
        "The client is a web client, and no secret was sent.",
        "Have the app send its secret in the header or in the body. If you no longer have it, create another one.",
        *_SECRETS,
    ),
    Reason.SECRET_EXPIRED: Help(
        "The app still sends a secret that has expired.", "Give the app the newest secret.", *_SECRETS
    ),
    Reason.SECRET_UNEXPECTED: Help(
        "The client is of a type that has no secret.",
        "Send client_id and no secret. If the app has a server, you can change its type to a web client.",
        "Type",
        _page("client_settings"),
    ),
    Reason.HEADER_UNREADABLE: Help(
        "The Authorization header has another scheme, or can't be decoded.",
        "Form-encode the id and the secret, join them with a colon, and encode the result as base64.",
        *_EXCHANGE,
    ),
    Reason.TWO_CLIENT_IDS: Help(
        "The header and the body have different client ids.", "Send the same id, or none in the body.", *_EXCHANGE
    ),
    # --- Codes ---
    Reason.CODE_UNKNOWN: Help(
        "The code is cut off, invented, deleted, or belongs to another client.",
        "Send the code exactly as you got it, with the client_id of the authorization request.",
        *_EXCHANGE,
    ),
    Reason.CODE_USED: Help(
        "The code was already exchanged: a page was reloaded, or two processes handled the redirect.",
        "Exchange each code once, then redirect to a URL without it. The tokens have ended. Have the person sign in "
        "again.",
        *_EXCHANGE,
    ),
    Reason.CODE_EXPIRED: Help(
        "More than a minute passed between the redirect and the exchange.",
        "Exchange the code in the request that brings it. Check clocks and queues in between.",
        *_EXCHANGE,
    ),
    Reason.VERIFIER_MISSING: Help(
        "PKCE is required of every client, and code_verifier is missing.",
        "Keep the verifier from the start of the sign-in, and turn PKCE on in your library.",
        *_QUICK_START,
    ),
    Reason.VERIFIER_MALFORMED: Help(
        "The code_verifier is too short, too long, or has other characters.",
        "Create a code_verifier of 43 to 128 random letters and digits, and send it with the code.",
        *_QUICK_START,
    ),
    Reason.VERIFIER_WRONG: Help(
        "The code_verifier is of another sign-in: two tabs share one place for it, or the session was lost.",
        "Keep the code_verifier of each sign-in with its state, and send the one that belongs to the code.",
        *_QUICK_START,
    ),
    Reason.REDIRECT_URI_MISSING: Help(
        "redirect_uri is missing.", "Send the redirect_uri of the authorization request.", *_EXCHANGE
    ),
    Reason.REDIRECT_URI_DIFFERS: Help(
        "redirect_uri differs from that of the authorization request.",
        "Send exactly the same redirect_uri in both requests.",
        *_EXCHANGE,
    ),
    # --- Refresh tokens ---
    Reason.REFRESH_TOKEN_UNKNOWN: Help(
        "The refresh token is cut off, invented, deleted, or belongs to another client.",
        "Send the newest refresh token, with the client_id that got it. Otherwise have the person sign in.",
        *_REFRESH,
    ),
    Reason.REFRESH_TOKEN_EXPIRED: Help("The refresh token was not used before it expired.", _SIGN_IN_AGAIN, *_REFRESH),
    Reason.REFRESH_TOKEN_SUPERSEDED: Help(
        "The refresh token was replaced by a newer one. If it is used again late, the whole authorization ends.",
        "Store the refresh token of every response before using it, and let one process refresh at a time.",
        *_REFRESH,
    ),
    Reason.REFRESH_TOKEN_REPEATED: Help(
        "The refresh token was replaced by a newer one a moment ago. Either the response was lost, or two processes "
        "refreshed at once. The newer one still works.",
        "Use the newest refresh token. If responses get lost, as on phones, turn on “Forgive a lost response” in the "
        "client’s settings.",
        "Forgive lost responses",
        _page("client_settings", "lost-responses"),
        Role.DEVELOPER,
    ),
    Reason.SCOPE_NOT_GRANTED: Help(
        "The refresh requests a scope that was not granted.",
        "Leave scope out, or request fewer scopes.",
        *_REFRESH,
    ),
    Reason.LOST_RACE: Help(
        "Two requests with the same code or refresh token came at the same moment.",
        "Send one request at a time, and share its response.",
        *_INVALID_GRANT,
    ),
    # --- The authorization behind codes and tokens ---
    Reason.ACCESS_REMOVED: Help(
        "The person removed your app under Connected apps, or their account is closed.",
        "There is nothing to fix. Have the person sign in again.",
        *_INVALID_GRANT,
    ),
    Reason.ENDED_REFRESH_TOKEN_REUSED: Help(
        "A replaced refresh token was used again late, as a thief would. All tokens of the sign-in have ended.",
        "Store the newest refresh token of each response. Have the person sign in again.",
        *_REFRESH,
    ),
    Reason.ENDED_CODE_REPLAYED: Help(
        "The code of the sign-in was sent twice. All tokens of the sign-in have ended.",
        "Exchange each code once. Have the person sign in again.",
        *_EXCHANGE,
    ),
    Reason.ENDED_CONSENT_SENT_TWICE: Help(
        "The same request was answered twice before its first code was exchanged, and only the last code counts. "
        "Either the app repeated state and code_challenge, or the person opened its URL again or sent the form twice.",
        "Create a new state and code_verifier for each sign-in, and have the person sign in again.",
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
        "The client’s type was changed, so its earlier tokens no longer work.", _SIGN_IN_AGAIN, *_SETTINGS
    ),
    Reason.ENDED_PROJECT_DELETED: Help(
        "An owner deleted the project. Restoring it does not bring its tokens back.", _SIGN_IN_AGAIN, *_INVALID_GRANT
    ),
    Reason.ENDED_PLAYGROUND: Help(
        "The tokens belong to a run of the console’s playground, which has ended.",
        "Start another run.",
        "Playground",
        _page("playground"),
    ),
    Reason.ENDED_BY_OPERATOR: Help(
        "An operator of the service ended many authorizations at once, after a restore or a leak.",
        _SIGN_IN_AGAIN,
        *_INVALID_GRANT,
    ),
    # --- Sign-out requests ---
    Reason.SIGN_OUT_HINT_MISSING: Help(
        "The request has post_logout_redirect_uri without id_token_hint, so it does not prove whom your app signs out.",
        "Keep the ID token of the sign-in, and send it as id_token_hint. It may be expired.",
        *_SIGN_OUT,
    ),
    Reason.SIGN_OUT_HINT_INVALID: Help(
        "id_token_hint is cut off, is an access token, or belongs to another service.",
        "Send the ID token that your app got at the sign-in. It may be expired.",
        *_SIGN_OUT,
    ),
    Reason.SIGN_OUT_CLIENT_DIFFERS: Help(
        "client_id and the audience of the ID token are different clients.",
        "Leave client_id out, or send the id of the client that got the ID token.",
        *_SIGN_OUT,
    ),
    Reason.NO_SIGN_OUT_URI_REGISTERED: Help(
        "The client has no sign-out URL, and the request has one.", _REGISTER_SIGN_OUT, *_SIGN_OUT_URLS
    ),
    Reason.SIGN_OUT_URI_NOT_REGISTERED: Help(
        "post_logout_redirect_uri is not exactly one of the registered sign-out URLs.",
        _REGISTER_SIGN_OUT,
        *_SIGN_OUT_URLS,
    ),
    # --- Access tokens, at userinfo ---
    Reason.ACCESS_TOKEN_INVALID: Help(
        "The token is cut off, is an ID token or refresh token, or belongs to another service.",
        "Send the access token of the newest response.",
        *_REFRESH,
    ),
    Reason.ACCESS_TOKEN_EXPIRED: Help("Access tokens are short-lived.", "Refresh once.", *_REFRESH),
    Reason.ACCESS_TOKEN_ENDED: Help(
        "The person removed your app, the refresh token was revoked or reused, or the client is off.",
        "Refresh once. If this fails, have the person sign in again.",
        *_REFRESH,
    ),
    Reason.ACCESS_TOKEN_OF_OTHER_API: Help(
        "The app asked for the token with the resource of another API, so it works at that API alone.",
        "Get another token for userinfo: refresh with the identifier of the API at /v1 as resource. If the app leaves "
        "resource out from the start, the token of a single API also works at userinfo.",
        *_RESOURCES,
    ),
    Reason.OPENID_MISSING: Help("Userinfo needs the scope openid.", "Request openid at the next sign-in.", *_SCOPES),
}
