"""The reasons for which the sign-in service refuses a request or ends a token family, in one table.

Exceptions, the sign-in log, metrics and analytics all carry a `Reason` and its parameters. The text is chosen where it
is shown. Descriptions reveal only what the caller sent or holds: an unknown client and a wrong secret have the same
text, and so do an unknown code and a code of another client.
"""

from enum import StrEnum, auto
from functools import partial
from typing import Any, NamedTuple

from core.messages import fill_in

# The parameters of a reason: the values for the placeholders of its texts.
Facts = dict[str, str | int | list[str]]


class Link(NamedTuple):
    """A link to the page for a fix: its label, and what the page is of: "docs", "client" or "project".

    `at_least` is the lowest role that can make the fix.
    """

    label: str
    of: str
    page: str
    anchor: str = ""
    at_least: str = "viewer"


_PARAMETERS = Link("Parameters of the request", "docs", "authorization", "parameters")
_RESOURCES = Link("Tokens for an API", "docs", "authorization", "resources")
_PROMPT = Link("prompt", "docs", "authorization", "prompt")
_CLAIMS = Link("The parameter claims", "docs", "authorization", "more")
_LEVELS = Link("Levels", "docs", "authorization", "more")
_SCOPES = Link("Scopes", "docs", "authorization", "scopes")
_SIGN_OUT = Link("Sign-out", "docs", "logout")
_EXCHANGE = Link("How a code is exchanged", "docs", "tokens", "code")
_REFRESH = Link("How to refresh", "docs", "tokens", "refresh")
_REVOCATION = Link("Revocation", "docs", "revocation")
_LIMITS = Link("Limits", "docs", "limits")
_SIZES = Link("Largest sizes", "docs", "limits", "sizes")
_INVALID_GRANT = Link("invalid_grant", "docs", "errors", "token-invalid_grant")
_ERRORS = Link("Errors of the endpoints", "docs", "errors", "token")
_APPLICATIONS = Link("PKCE settings of applications", "docs", "guide_applications", "pkce")
_QUICK_START = Link("See the lines in the quick start", "client", "quick_start")
REDIRECT_URLS = Link("Registered redirect URLs", "client", "client_settings")
SIGN_OUT_URLS = Link("Registered sign-out URLs", "client", "client_settings")
_SETTINGS = Link("Settings", "client", "client_settings")
_TYPE = Link("Type", "client", "client_settings")
_TURN_ON = Link("Turn on", "client", "client_settings", "switch", "developer")
_LOST_RESPONSES = Link("Forgive lost responses", "client", "client_settings", "lost-responses", "developer")
_SECRETS = Link("Secrets", "client", "client_settings", "secrets", "developer")
_REVIEW = Link("Go to the review", "client", "review", at_least="developer")
_PREVIEW = Link("Preview the consent page", "client", "review")
_PLAYGROUND = Link("Playground", "client", "playground")
_DOMAINS = Link("Domains", "project", "domains", at_least="developer")
_APPEAL = Link("Read why", "project", "project", "appeal")
_PROJECT = Link("Project", "project", "project", at_least="owner")

_NOT_REGISTERED = "redirect_uri does not exactly match a registered redirect URL."
_REGISTER = "Register the URL if it is yours, or change the app to send exactly one of the registered URLs."
_NO_SIGN_OUT_URI = "post_logout_redirect_uri does not exactly match a registered sign-out URL."
_REGISTER_SIGN_OUT = (
    "Register the URL as a sign-out URL if it is yours, or have the app send exactly one of the registered ones."
)
_NOT_APPROVED = "The scope {name} is not approved for this client, or not with this redirect_uri."
_REVIEW_HOST = "Send the app for review with this host among its redirect URLs, or sign in at a host that was in it."
_PROVE = "Prove the domain again."
_NO_SILENT_PAGE = "prompt=none never shows a page. Send the request again without it, so that the person is asked."
_CLIENT_FAILED = "The client id is unknown, or the secret is wrong, missing or unexpected."
_ENDED = "The authorization has ended, or the app's access was removed. Sign in again."
_SIGN_IN_AGAIN = "Have the person sign in again."
_NOTHING_TO_FIX = "There is nothing to fix. Have the person sign in again."

# The tables of the errors page, by the endpoint.
AUTHORIZATION, TOKEN, SIGN_OUT = "authorization", "token", "sign-out"


def _row(
    table: str,
    error: str,
    description: str,
    cause: str,
    fix: str,
    link: Link,
    *,
    log: str = "",
    status: int = 400,
    anyone: bool = False,
) -> tuple[Any, ...]:
    """Return the values of a reason (see there). Its code is the member's name in lower case."""
    return auto(), table, error, description, cause, fix, link, log, status, anyone


# Rows that share some of their values.
_request = partial(_row, AUTHORIZATION, "invalid_request")
_redirect_uri = partial(_request, _NOT_REGISTERED, fix=_REGISTER, link=REDIRECT_URLS)
_claims = partial(_request, fix="Send claims as in the example, or leave it out.", link=_CLAIMS)
_scope = partial(_row, AUTHORIZATION, "invalid_scope")
_resource = partial(_row, AUTHORIZATION, "invalid_target", link=_RESOURCES)
_login = partial(_row, AUTHORIZATION, "login_required", fix=_NO_SILENT_PAGE, link=_PROMPT)
_level = partial(_row, AUTHORIZATION, "unmet_authentication_requirements", link=_LEVELS)
_consent = partial(_row, AUTHORIZATION, "consent_required", "Access was not yet granted.")
_form = partial(_row, TOKEN, "invalid_request", anyone=True)
_client = partial(_row, TOKEN, "invalid_client", status=401, anyone=True)
_secret = partial(_client, _CLIENT_FAILED, link=_SECRETS)
_grant = partial(_row, TOKEN, "invalid_grant")
_ended = partial(_grant, _ENDED)
_access_token = partial(_row, TOKEN, "invalid_token", status=401)
_sign_out = partial(_row, SIGN_OUT, "invalid_request", link=_SIGN_OUT)
_sign_out_uri = partial(_sign_out, _NO_SIGN_OUT_URI, fix=_REGISTER_SIGN_OUT, link=SIGN_OUT_URLS)
_note = partial(_row, "", "", "", "", "", _SETTINGS)


class Reason(StrEnum):
    """A reason code, as used in the sign-in log, the metrics and the documentation, with its row of the table.

    `error` is the standard's code (RFC 6749 §4.1.2.1 and §5.2, RFC 6750 §3.1, OpenID Connect Core 3.1.2.6).
    `description` is the `error_description` for the app: ASCII without quotes and backslashes (RFC 6749 §5.2). `log` is
    the text of the sign-in log, for the app's developers, or "" if the log uses the description. `cause`, `fix` and
    `link` help developers in the docs and the console. `table` is the table of the errors page, and `status` the HTTP
    status at the endpoints that apps call. `anyone` is True if the token or revocation endpoint refuses the request
    before the client is authenticated, so that anyone who knows the client's id can cause it.
    """

    table: str
    error: str
    description: str
    cause: str
    fix: str
    link: Link
    log: str
    status: int
    anyone: bool

    def __new__(cls, code: str, *values: Any) -> "Reason":
        reason = str.__new__(cls, code)
        reason._value_ = code
        vars(reason).update(zip(cls.__annotations__, values, strict=True))
        return reason

    # Any request
    PARAMETER_UNCLEAR = _form(
        "The parameter {name} is repeated or unreadable.",
        "A parameter was sent twice, or is not UTF-8. The error description names it.",
        "Send it once, percent-encoded. Check whether your library adds the same parameter as your code.",
        _PARAMETERS,
    )
    REQUEST_TOO_LONG = _form(
        "The request is longer than {longest} characters.",
        "The parameters are too long.",
        "Send fewer or shorter parameters.",
        _SIZES,
    )
    TOO_MANY_PARAMETERS = _form(
        "There are too many parameters.",
        "There are more than a hundred parameters.",
        "Send only the listed parameters.",
        _SIZES,
    )
    MALFORMED = _form(
        "The request is malformed.",
        "The request can't be read.",
        "Compare it with the example of its endpoint.",
        _ERRORS,
    )
    BODY_TYPE = _form(
        "The body must be application/x-www-form-urlencoded.",
        "The body is not form-encoded, but for example JSON or multipart.",
        "Send the fields form-encoded, with the matching Content-Type. Most HTTP libraries do this for form data.",
        _ERRORS,
    )
    BODY_TOO_LARGE = _form(
        "The body is too large.", "The body or one of its fields is too large.", "Send the listed fields only.", _SIZES
    )
    BODY_BROKEN = _form(
        "The body is incomplete.", "The connection ended before the body did.", "Send the request again.", _ERRORS
    )
    BODY_NOT_ENCODED = _form(
        "The body must be percent-encoded.",
        "The body has characters that are not ASCII.",
        "Form-encode the values.",
        _ERRORS,
    )
    SERVER_ERROR = _row(
        TOKEN,
        "server_error",
        "The service failed. Try again.",
        "Something went wrong on our side.",
        "Try again. If the error continues, report the request id.",
        _ERRORS,
        status=500,
    )
    TOO_MANY_REQUESTS = _row(
        TOKEN,
        "temporarily_unavailable",
        "Too many requests.",
        "Your app or its IP address sent more requests in this minute than are allowed.",
        "Wait as many seconds as Retry-After says.",
        _LIMITS,
        status=429,
    )
    UNAVAILABLE = _row(
        TOKEN,
        "temporarily_unavailable",
        "Try again shortly.",
        "The database is restarting, for example.",
        "Wait as many seconds as Retry-After says.",
        _ERRORS,
        status=503,
    )

    # The client of any request
    CLIENT_OFF = _grant(
        "The app is turned off.",
        "A developer of the project turned the app off.",
        "Turn the app on. People can then sign in again immediately.",
        _TURN_ON,
    )
    PROJECT_SUSPENDED = _grant(
        "The project of the app is suspended.",
        "A reviewer suspended the project.",
        "The project’s page says why, and how to appeal.",
        _APPEAL,
        log="The project is suspended.",
    )
    PROJECT_DELETED = _grant(
        "The project of the app is deleted.",
        "An owner deleted the project.",
        "Its apps work again once an owner has restored it.",
        _PROJECT,
        log="The project is deleted.",
    )

    # Authorization requests: client and redirect URL
    CLIENT_ID_UNCLEAR = _request(
        "client_id is repeated or unreadable.",
        "client_id was sent twice, or is not UTF-8.",
        "Send the client id from the settings once.",
        _PARAMETERS,
    )
    CLIENT_ID_UNKNOWN = _request(
        "No app with this client_id is registered.",
        "No client has this id. Upper and lower case matter, and the id of a deleted client is never used again.",
        "Copy the client id from the client’s settings.",
        _SETTINGS,
    )
    REDIRECT_URI_UNCLEAR = _request(
        "redirect_uri is missing, repeated or unreadable.",
        "redirect_uri is missing, was sent twice, or is not UTF-8.",
        "Send redirect_uri exactly once, as one of the registered redirect URLs.",
        _PARAMETERS,
    )
    NO_REDIRECT_URI_REGISTERED = _redirect_uri(
        "The app has no redirect URL yet.", log="No redirect URL is registered yet."
    )
    REDIRECT_URI_SLASH = _redirect_uri(
        "The redirect URL differs from the registered one by the slash at its end.",
        log="Differs from {registered} only by the slash at the end.",
    )
    REDIRECT_URI_SCHEME = _redirect_uri(
        "The redirect URL differs from the registered one by the scheme, for example http for https.",
        log="Differs from {registered}: the scheme is “{received}”, registered is “{expected}”.",
    )
    REDIRECT_URI_HOST = _redirect_uri(
        "The redirect URL differs from the registered one by the host, for example 127.0.0.1 for localhost.",
        log="Differs from {registered}: the host is “{received}”, registered is “{expected}”.",
    )
    REDIRECT_URI_PORT = _redirect_uri(
        "The redirect URL differs from the registered one by the port.",
        log="Differs from {registered}: the port is “{received}”, registered is “{expected}”.",
    )
    REDIRECT_URI_PATH = _redirect_uri(
        "The redirect URL differs from the registered one by the path.",
        log="Differs from {registered}: the path is “{received}”, registered is “{expected}”.",
    )
    REDIRECT_URI_QUERY = _redirect_uri(
        "The redirect URL differs from the registered one by the query.",
        log="Differs from {registered}: the query is “{received}”, registered is “{expected}”.",
    )
    REDIRECT_URI_FRAGMENT = _redirect_uri(
        "The redirect URL differs from the registered one by a part after #.",
        log="Differs from {registered}: the part after # is “{received}”, registered is “{expected}”.",
    )
    REDIRECT_URI_SPELLING = _redirect_uri(
        "The redirect URL differs from the registered one by a character, which the log names.",
        log="Differs from {registered} at character {position}.",
    )

    # Authorization requests: parameters
    REQUEST_NOT_SUPPORTED = _row(
        AUTHORIZATION,
        "request_not_supported",
        "The request parameter is not supported.",
        "The parameter request was sent. The service does not read signed request objects.",
        "Leave it out, and send the parameters themselves in the query.",
        _PARAMETERS,
    )
    REQUEST_URI_NOT_SUPPORTED = _row(
        AUTHORIZATION,
        "request_uri_not_supported",
        "The request_uri parameter is not supported.",
        "The parameter request_uri was sent. The service does not fetch requests from elsewhere.",
        "Leave it out, and send the parameters themselves in the query.",
        _PARAMETERS,
    )
    REGISTRATION_NOT_SUPPORTED = _row(
        AUTHORIZATION,
        "registration_not_supported",
        "The registration parameter is not supported.",
        "The parameter registration was sent.",
        "Leave it out: clients are registered in the console.",
        _PARAMETERS,
    )
    STATE_MISSING = _request(
        "state is missing.",
        "state is missing.",
        "Send a random state with each request, and compare it with the one in the response.",
        _QUICK_START,
    )
    PARAMETER_TOO_LONG = _request(
        "{name} is longer than {longest} characters.",
        "state or nonce is longer than the service stores.",
        "Send a shorter value. 32 random characters are enough.",
        _PARAMETERS,
    )
    RESPONSE_TYPE_MISSING = _request(
        "response_type is missing.", "response_type is missing.", "Send response_type=code.", _PARAMETERS
    )
    RESPONSE_TYPE_UNSUPPORTED = _row(
        AUTHORIZATION,
        "unsupported_response_type",
        "The only response type is code.",
        "response_type is not code.",
        "Send response_type=code.",
        _PARAMETERS,
    )
    RESPONSE_MODE_UNSUPPORTED = _request(
        "response_mode must be query or form_post.",
        "response_mode has an unsupported value, such as fragment.",
        "Leave response_mode out, or send query or form_post.",
        _PARAMETERS,
    )
    CODE_CHALLENGE_MISSING = _request(
        "code_challenge is missing: PKCE is required.",
        "PKCE is required of every client, and code_challenge is missing.",
        "Turn on PKCE with S256 in your application or library, or send the code_challenge of a new code_verifier.",
        _APPLICATIONS,
    )
    CODE_CHALLENGE_METHOD_UNSUPPORTED = _request(
        "code_challenge_method must be S256.",
        "code_challenge_method is missing or is not S256.",
        "Send code_challenge_method=S256. If it is missing, the method is plain, which is not supported.",
        _QUICK_START,
    )
    CODE_CHALLENGE_MALFORMED = _request(
        "code_challenge must be 43 characters of base64url.",
        "code_challenge is not the S256 challenge of a verifier.",
        "The challenge is the SHA-256 of the verifier, as base64url without = at its end.",
        _QUICK_START,
    )
    PROMPT_UNSUPPORTED = _request(
        "prompt must be none, or a list of other supported values.",
        "prompt has an unsupported value, or none together with another value.",
        "Send prompt=none without other values, or a list of login, consent, select_account and create.",
        _PROMPT,
    )
    MAX_AGE_MALFORMED = _request(
        "max_age must be a number of seconds.",
        "max_age is not a whole number.",
        "Send max_age as a whole number of seconds.",
        _PARAMETERS,
    )
    ID_TOKEN_HINT_INVALID = _request(
        "id_token_hint is not an ID token of this service.",
        "id_token_hint is a token of another service, or not an ID token.",
        "Send an ID token that your app got from this service, or leave it out.",
        _PARAMETERS,
    )
    CLAIMS_TOO_LONG = _claims("claims is longer than {longest} characters.", "claims is too long.")
    CLAIMS_UNREADABLE = _claims("claims is not JSON, or names a member twice.", "claims is not valid JSON.")
    CLAIMS_NOT_AN_OBJECT = _claims("claims is not a JSON object.", "claims is JSON, but not an object.")
    CLAIMS_TOO_DEEP = _claims("claims is nested too deeply.", "claims has objects nested too deeply.")
    CLAIMS_ID_TOKEN_NOT_AN_OBJECT = _claims(
        "id_token in claims is not a JSON object.", "The member id_token of claims is not an object."
    )
    ACR_CLAIM_MALFORMED = _claims(
        "acr in claims is neither null nor a JSON object.", "The request for acr is neither null nor an object."
    )
    ACR_ESSENTIAL_MALFORMED = _claims("essential of acr is neither true nor false.", "essential is not a boolean.")
    ACR_VALUE_AND_VALUES = _claims(
        "acr in claims has both value and values.", "The request for acr has both members.", fix="Send one of the two."
    )
    ACR_VALUES_MALFORMED = _claims(
        "In acr, value must be a string and values a list of strings.", "value or values has the wrong type."
    )
    ACR_VALUES_EMPTY = _claims("values of acr is empty.", "values is an empty list.")
    ACR_NEVER_GIVEN = _level(
        "This service returns none of the requested acr values.",
        "The request requires acr values that this service does not know.",
        "Request phr or another level that the docs list.",
    )

    # Authorization requests: scopes
    SCOPE_WITHOUT_OPENID = _scope(
        "scope must include openid.", "The scope openid is missing.", "Add openid to the scopes.", _SCOPES
    )
    SCOPE_UNKNOWN = _scope(
        "There is no scope {name}.",
        "A scope is misspelt, belongs to another service, or is joined to the next one by a comma.",
        "Request only the listed scopes, separated by spaces.",
        _SCOPES,
        log="Unknown, or not reviewed for this app: {scopes}.",
    )
    SCOPE_NOT_APPROVED = _scope(
        _NOT_APPROVED,
        "The scope needs app review, and was not reviewed for this app.",
        "Request the scope in the review.",
        _REVIEW,
        log="Not reviewed for this app: {scopes}.",
    )
    SCOPE_KEPT = _scope(
        _NOT_APPROVED,
        "The scope needs app review since a change of its API. The app keeps it for people who granted it before, and "
        "this person had not.",
        "Request the scope in the review. Until then, leave it out for new people.",
        _REVIEW,
        log="A review is now necessary, and until then only people who had granted it keep it: {scopes}.",
    )
    SCOPE_OUTSIDE_REVIEW = _scope(
        _NOT_APPROVED,
        "The app is reviewed for the scope, but not at the host of this redirect URL.",
        _REVIEW_HOST,
        _REVIEW,
        log="Reviewed for this app, but {host} was not in its review: {scopes}.",
    )
    SCOPE_HOME_UNPROVEN = _scope(
        _NOT_APPROVED,
        "The app is reviewed for the scope, but the project no longer proves the domain of its home page.",
        _PROVE,
        _DOMAINS,
        log="Reviewed for this app, but the project no longer proves the domain of its home page, {home}: {scopes}.",
    )

    # Resource indicators
    RESOURCE_UNKNOWN = _resource(
        "No API of this service has the identifier {name}.",
        "resource is misspelt, or the API was deleted.",
        "Send the identifier of an API as its page in the docs shows it.",
    )
    RESOURCE_OFF = _resource(
        "The API {name} is turned off.",
        "The operators of this service have turned the API off.",
        "Ask the service when the API will be available again. Tokens for other APIs still work.",
    )
    RESOURCE_WITHOUT_SCOPE = _resource(
        "scope contains no scope of the resource {name}.",
        "The request names an API, and requests no scope of it.",
        "Add a scope of the API, or leave its resource out.",
    )
    RESOURCE_NOT_GRANTED = _resource(
        "No scope of the resource {name} is granted.",
        "The person granted no scope of this API, or the approval for it was withdrawn.",
        "Request a scope of the API at sign-in first.",
    )
    SEVERAL_RESOURCES = _resource(
        "A token is for one resource. Send resource only once.",
        "The token request sends resource more than once.",
        "Send one token request for each API. The refresh token works for all of them.",
    )
    SCOPE_OF_OTHER_API = _scope(
        "The scope {name} does not belong to an API that resource names.",
        "The request names APIs with resource, and also requests a scope of another API.",
        "Name that API as well, or leave its scope out.",
        _RESOURCES,
    )
    SCOPE_API_OFF = _scope(
        "The API of the scope {name} is turned off.",
        "The operators of this service have turned off the API that the scope belongs to.",
        "Leave the scope out until the API is available again.",
        _RESOURCES,
    )

    # Authorization requests: the person
    NOT_SIGNED_IN = _login(
        "The person is not signed in.", "You sent prompt=none, and nobody is signed in in this browser."
    )
    OTHER_PERSON_SIGNED_IN = _login(
        "Another person is signed in.",
        "The person who is signed in is not the one in id_token_hint.",
        fix="Leave id_token_hint out. Without prompt=none, the person can choose an account.",
    )
    SIGN_IN_TOO_OLD = _login(
        "The person signed in longer ago than max_age.",
        "You sent prompt=none, and the person’s sign-in is older than max_age.",
    )
    STRONG_SIGN_IN_TOO_OLD = _login(
        "The last sign-in that was strong enough is older than max_age.",
        "You sent prompt=none, and the last sign-in that was strong enough is older than max_age.",
    )
    LEVEL_NOT_REACHED = _level(
        "The person did not sign in as strongly as requested.",
        "You sent prompt=none, and the request or the app requires two factors or a passkey.",
        _NO_SILENT_PAGE,
        log="The request requires a stronger sign-in than the person has made in this session, and prompt=none does "
        "not allow asking for it.",
    )
    LEVEL_DECLINED = _level(
        "The person did not sign in as strongly as requested.",
        "The request or the app requires two factors or a passkey, and the person pressed Cancel.",
        "Offer to try again, or continue without the feature that needs it.",
        log="The person was asked for a stronger sign-in, and pressed Cancel.",
    )
    CONSENT_MISSING = _consent(
        "You sent prompt=none, and the person has not allowed everything yet.",
        f"{_NO_SILENT_PAGE} You can preview the page that they see.",
        _PREVIEW,
    )
    CONSENT_OUTSIDE_REVIEW = _consent(
        "You sent prompt=none. The person has allowed the app only for the hosts that its review covers, and this is "
        "another host.",
        _REVIEW_HOST,
        _REVIEW,
        log="The person has allowed the app, but not at {host}, which its review does not cover.",
    )
    CONSENT_HOME_UNPROVEN = _consent(
        "You sent prompt=none, and the project no longer proves the domain of the app’s home page.",
        _PROVE,
        _DOMAINS,
        log="The person has allowed the app, but not at {host}: the project no longer proves the domain of its home "
        "page, {home}.",
    )
    CANCELLED = _row(
        AUTHORIZATION,
        "access_denied",
        "The person pressed Cancel.",
        "The person pressed Cancel, or the app can’t take more people yet.",
        "Show in the app that the sign-in was cancelled, and offer to try again. You can preview the consent page.",
        _PREVIEW,
    )
    PEOPLE_LIMIT = _consent(
        "The app is not reviewed, and its project has reached the limit of people for apps without a review.",
        "Send the app for review. A reviewed app has no limit of people.",
        _REVIEW,
        log="The project’s apps without a review have {people} people, which is the limit, and the app has not been "
        "reviewed.",
    )
    PEOPLE_LIMIT_OUTSIDE_REVIEW = _consent(
        "The review does not cover this host, and the limit of people for apps without a review is reached.",
        _REVIEW_HOST,
        _REVIEW,
        log="The project’s apps without a review have {people} people, which is the limit, and {host} was not part of "
        "the app’s review.",
    )
    PEOPLE_LIMIT_HOME_UNPROVEN = _consent(
        "The project no longer proves the domain of the app’s home page, so the limit of people applies.",
        _PROVE,
        _DOMAINS,
        log="The project’s apps without a review have {people} people, which is the limit, and the project no longer "
        "proves the domain of the app’s home page, {home}.",
    )

    # Token, revocation and userinfo requests
    POST_ONLY = _row(
        TOKEN,
        "invalid_request",
        "Use POST.",
        "The request is not a POST.",
        "Send a POST with a form in its body.",
        _ERRORS,
        status=405,
    )
    GET_OR_POST_ONLY = _row(
        TOKEN,
        "invalid_request",
        "Use GET or POST.",
        "The request is neither a GET nor a POST.",
        "Send a GET with the token in the header.",
        _ERRORS,
        status=405,
    )
    QUERY_SENT = _form(
        "Send the parameters in the body, not in the query.",
        "The URL has a query.",
        "Send everything in the body: URLs end up in logs.",
        _ERRORS,
    )
    GRANT_TYPE_MISSING = _form(
        "grant_type is missing.",
        "grant_type is missing.",
        "Send grant_type=authorization_code or refresh_token.",
        _ERRORS,
    )
    GRANT_TYPE_UNSUPPORTED = _row(
        TOKEN,
        "unsupported_grant_type",
        "grant_type must be authorization_code or refresh_token.",
        "grant_type is password, client_credentials or another one.",
        "Use the authorization code flow and refresh tokens. Other flows are not supported.",
        _ERRORS,
        anyone=True,
    )
    GRANT_TYPE_NOT_ALLOWED = _row(
        TOKEN,
        "unauthorized_client",
        "This client may not use this grant_type.",
        "The client is not allowed to use this grant_type.",
        "Use the authorization code flow.",
        _ERRORS,
    )
    CODE_MISSING = _form(
        "code is missing.",
        "grant_type is authorization_code, but code is missing.",
        "Send the code from the redirect.",
        _EXCHANGE,
    )
    REFRESH_TOKEN_MISSING = _form(
        "refresh_token is missing.",
        "grant_type is refresh_token, but refresh_token is missing.",
        "Send the stored refresh token. You only get one with the scope offline_access.",
        _REFRESH,
    )
    TOKEN_MISSING = _form(
        "token is missing.", "The revocation request has no token.", "Send the refresh token as token.", _REVOCATION
    )
    TOKEN_TYPE_UNSUPPORTED = _row(
        TOKEN,
        "unsupported_token_type",
        "This type of token cannot be revoked.",
        "token_type_hint is a type that can't be revoked.",
        "Leave token_type_hint out.",
        _REVOCATION,
    )

    # Client authentication
    TWO_WAYS = _form(
        "The client authenticates in more than one way.",
        "The secret is in the Authorization header and in the body.",
        "Use either client_secret_basic or client_secret_post.",
        _EXCHANGE,
    )
    CLIENT_UNNAMED = _client(
        "No client is named: send client_id, or HTTP Basic with client id and secret.",
        "The request has neither client_id nor HTTP Basic.",
        "Browser and installed apps send client_id in the body. Web apps also send their secret, there or with HTTP "
        "Basic.",
        _EXCHANGE,
        anyone=False,
    )
    CLIENT_FAILED = _client(
        _CLIENT_FAILED,
        "The client id is mistyped, or belongs to another installation.",
        "Compare the client id and the secret with the console. Browser and installed apps send no secret.",
        _SETTINGS,
        anyone=False,
    )
    SECRET_WRONG = _secret(
        "The secret is not one of the app’s live secrets.",
        "Compare the last four characters of the secret that the app sends, or create another secret.",
        log="The client secret is wrong. The last four characters of the live secrets: {last_four}.",
    )
    SECRET_WHITE_SPACE = _secret(
        "The secret that the app sends ends in white space, such as the line break at the end of a file.",
        "Remove the white space where the app reads the secret. Then compare the last four characters.",
        log="The client secret is wrong, and it ends in white space. The last four characters of the live secrets: "
        "{last_four}.",
    )
    SECRET_OF_OTHER_CLIENT = _secret(
        "The secret is one of another app of the same project.",
        "Give the app the client id and the secret of the same client.",
        log="The secret belongs to another app of the project, {name}.",
        anyone=False,
    )
    SECRET_IS_API_KEY = _secret(
        "The app sends an API key as its client secret. API keys work only in requests to /v1.",
        "Give the app one of its own secrets.",
        log="An API key was sent as the client secret.",
        anyone=False,
    )
    SECRET_MISSING = _secret(
        "The app is a web app, and no secret was sent.",
        "Have the app send its secret in the header or in the body. If you no longer have it, create another one.",
        log="The client secret is missing.",
    )
    SECRET_EXPIRED = _secret(
        "The app still sends a secret that has expired.",
        "Give the app the newest secret.",
        log="The secret that ends in {last_four} has expired.",
    )
    SECRET_UNEXPECTED = _client(
        _CLIENT_FAILED,
        "The client is of a type that has no secret.",
        "Send client_id and no secret. If the app has a server, you can change its type to a web app.",
        _TYPE,
        log="A secret was sent, but clients of this type have none.",
    )
    HEADER_UNREADABLE = _client(
        "The Authorization header is not HTTP Basic with client id and secret, form-encoded.",
        "The Authorization header has another scheme, or can't be decoded.",
        "Form-encode the id and the secret, join them with a colon, and encode the result as base64.",
        _EXCHANGE,
    )
    TWO_CLIENT_IDS = _client(
        "The Authorization header and the body name different clients.",
        "The header and the body have different client ids.",
        "Send the same id, or none in the body.",
        _EXCHANGE,
    )

    # Codes
    CODE_UNKNOWN = _grant(
        "The code is unknown, or was issued to another client.",
        "The code is cut off, invented, deleted, or belongs to another client.",
        "Send the code exactly as you got it, with the client_id of the authorization request.",
        _EXCHANGE,
    )
    CODE_USED = _grant(
        "The code was already used. Its tokens have been revoked.",
        "The code was already exchanged: a page was reloaded, or two processes handled the redirect.",
        "Exchange each code once, then redirect to a URL without it. The tokens have ended. Have the person sign in "
        "again.",
        _EXCHANGE,
    )
    CODE_EXPIRED = _grant(
        "The code has expired. Exchange it as soon as it arrives.",
        "More than a minute passed between the redirect and the exchange.",
        "Exchange the code in the request that brings it. Check clocks and queues in between.",
        _EXCHANGE,
        log="The code is older than {seconds} seconds.",
    )
    VERIFIER_MISSING = _row(
        TOKEN,
        "invalid_request",
        "code_verifier is missing.",
        "PKCE is required of every client, and code_verifier is missing.",
        "Keep the verifier from the start of the sign-in, and turn PKCE on in your library.",
        _QUICK_START,
    )
    VERIFIER_MALFORMED = _grant(
        "The code_verifier must have 43 to 128 characters, of A-Z, a-z, 0-9 and -._~ only.",
        "The code_verifier is too short, too long, or has other characters.",
        "Create a code_verifier of 43 to 128 random letters and digits, and send it with the code.",
        _QUICK_START,
    )
    VERIFIER_WRONG = _grant(
        "The code_verifier does not match the code_challenge.",
        "The code_verifier is of another sign-in: two tabs share one place for it, or the session was lost.",
        "Keep the code_verifier of each sign-in with its state, and send the one that belongs to the code.",
        _QUICK_START,
    )
    REDIRECT_URI_MISSING = _row(
        TOKEN,
        "invalid_request",
        "redirect_uri is missing.",
        "redirect_uri is missing.",
        "Send the redirect_uri of the authorization request.",
        _EXCHANGE,
    )
    REDIRECT_URI_DIFFERS = _grant(
        "redirect_uri differs from the one in the authorization request.",
        "redirect_uri differs from that of the authorization request.",
        "Send exactly the same redirect_uri in both requests.",
        _EXCHANGE,
    )

    # Refresh tokens
    REFRESH_TOKEN_UNKNOWN = _grant(
        "The refresh token is unknown, or was issued to another client.",
        "The refresh token is cut off, invented, deleted, or belongs to another client.",
        "Send the newest refresh token, with the client_id that got it. Otherwise have the person sign in.",
        _REFRESH,
    )
    REFRESH_TOKEN_EXPIRED = _grant(
        "The refresh token has expired.", "The refresh token was not used before it expired.", _SIGN_IN_AGAIN, _REFRESH
    )
    REFRESH_TOKEN_SUPERSEDED = _grant(
        "The refresh token was superseded. Always store the newest one.",
        "The refresh token was replaced by a newer one. If it is used again late, the whole authorization ends.",
        "Store the refresh token of every response before using it, and let one process refresh at a time.",
        _REFRESH,
    )
    REFRESH_TOKEN_REPEATED = _grant(
        "The refresh token was superseded a moment ago. Use the newest one.",
        "The refresh token was replaced by a newer one a moment ago. Either the response was lost, or two processes "
        "refreshed at once. The newer one still works.",
        "Use the newest refresh token. If responses get lost, as on phones, turn on “Forgive a lost response” in the "
        "client’s settings.",
        _LOST_RESPONSES,
    )
    SCOPE_NOT_GRANTED = _row(
        TOKEN,
        "invalid_scope",
        "scope names something that was not granted at sign-in.",
        "The refresh requests a scope that was not granted.",
        "Leave scope out, or request fewer scopes.",
        _REFRESH,
    )
    LOST_RACE = _grant(
        "Another request with the same code or refresh token came first.",
        "Two requests with the same code or refresh token came at the same moment.",
        "Send one request at a time, and share its response.",
        _INVALID_GRANT,
    )

    # The authorization behind a code or token. Reasons that begin with `ended` are also stored with the token family.
    ACCESS_REMOVED = _ended(
        "The person removed your app under Connected apps, or their account is closed.",
        _NOTHING_TO_FIX,
        _INVALID_GRANT,
        log="The person removed the app's access, or their account is closed.",
    )
    ENDED_REFRESH_TOKEN_REUSED = _ended(
        "A replaced refresh token was used again late, as a thief would. All tokens of the sign-in have ended.",
        "Store the newest refresh token of each response. Have the person sign in again.",
        _REFRESH,
        log="The authorization has ended: a superseded refresh token was used again.",
    )
    ENDED_CODE_REPLAYED = _ended(
        "The code of the sign-in was sent twice. All tokens of the sign-in have ended.",
        "Exchange each code once. Have the person sign in again.",
        _EXCHANGE,
        log="The authorization has ended: its code was sent twice.",
    )
    ENDED_CONSENT_SENT_TWICE = _ended(
        "The same request was answered twice before its first code was exchanged, and only the last code counts. "
        "Either the app repeated state and code_challenge, or the person opened its URL again or sent the form twice.",
        "Create a new state and code_verifier for each sign-in, and have the person sign in again.",
        _EXCHANGE,
        log="The authorization has ended: the same request, with the same state and code_challenge, was answered again "
        "before this code was exchanged. Only the last code counts.",
    )
    ENDED_REVOKED_BY_APP = _ended(
        "The app sent a token of the sign-in to the revocation endpoint.",
        _SIGN_IN_AGAIN,
        _REVOCATION,
        log="The authorization has ended: the app revoked it.",
    )
    ENDED_ACCESS_REMOVED = _ended(
        "The person removed your app under Connected apps.",
        _NOTHING_TO_FIX,
        _INVALID_GRANT,
        log="The authorization has ended: the person removed the app's access.",
    )
    ENDED_ACCOUNT_CLOSED = _ended(
        "The person’s account was deactivated or deleted.",
        "There is nothing to fix.",
        _INVALID_GRANT,
        log="The authorization has ended: the person's account was closed.",
    )
    ENDED_CLIENT_TYPE_CHANGED = _ended(
        "The app’s type was changed, so its earlier tokens no longer work.",
        _SIGN_IN_AGAIN,
        _SETTINGS,
        log="The authorization has ended: the type of the app was changed.",
    )
    ENDED_PROJECT_DELETED = _ended(
        "An owner deleted the project. Restoring it does not bring its tokens back.",
        _SIGN_IN_AGAIN,
        _INVALID_GRANT,
        log="The authorization has ended: the project was deleted.",
    )
    ENDED_PLAYGROUND = _ended(
        "The tokens belong to a run of the console’s playground, which has ended.",
        "Start another run.",
        _PLAYGROUND,
        log="The authorization has ended: it belonged to the console's playground.",
    )
    ENDED_BY_OPERATOR = _ended(
        "An operator of the service ended many authorizations at once, after a restore or a leak.",
        _SIGN_IN_AGAIN,
        _INVALID_GRANT,
        log="An operator ended the authorization. The operator’s note: {note}",
    )

    # Access tokens, at userinfo
    ACCESS_TOKEN_INVALID = _access_token(
        "The token is not a live access token of this service.",
        "The token is cut off, is an ID token or refresh token, or belongs to another service.",
        "Send the access token of the newest response.",
        _REFRESH,
    )
    ACCESS_TOKEN_EXPIRED = _access_token(
        "The access token has expired.", "Access tokens are short-lived.", "Refresh once.", _REFRESH
    )
    ACCESS_TOKEN_ENDED = _access_token(
        "The authorization has ended, the app's access was removed, or the app is off.",
        "The person removed your app, the refresh token was revoked or reused, or the app is off.",
        "Refresh once. If this fails, have the person sign in again.",
        _REFRESH,
    )
    ACCESS_TOKEN_OF_OTHER_API = _access_token(
        "The access token is only for the API {audience}. Request one with the resource {resource}.",
        "The app asked for the token with the resource of another API, so it works at that API alone.",
        "Get another token for userinfo: refresh with the identifier of the API at /v1 as resource. If the app leaves "
        "resource out from the start, the token of a single API also works at userinfo.",
        _RESOURCES,
    )
    OPENID_MISSING = _row(
        TOKEN,
        "insufficient_scope",
        "The access token lacks the scope openid.",
        "Userinfo needs the scope openid.",
        "Request openid at the next sign-in.",
        _SCOPES,
        status=403,
    )

    # Sign-out requests. The person is asked to confirm, and the app gets no response.
    SIGN_OUT_HINT_MISSING = _sign_out(
        "post_logout_redirect_uri was sent without id_token_hint, so the person can not return.",
        "The request has post_logout_redirect_uri without id_token_hint, so it does not prove whom your app signs out.",
        "Keep the ID token of the sign-in, and send it as id_token_hint. It may be expired.",
    )
    SIGN_OUT_HINT_INVALID = _sign_out(
        "id_token_hint is not an ID token of this service.",
        "id_token_hint is cut off, is an access token, or belongs to another service.",
        "Send the ID token that your app got at the sign-in. It may be expired.",
    )
    SIGN_OUT_CLIENT_DIFFERS = _sign_out(
        "client_id is not the client that got the ID token in id_token_hint.",
        "client_id and the audience of the ID token are different clients.",
        "Leave client_id out, or send the id of the client that got the ID token.",
    )
    NO_SIGN_OUT_URI_REGISTERED = _sign_out_uri(
        "The client has no sign-out URL, and the request has one.", log="No sign-out URL is registered yet."
    )
    SIGN_OUT_URI_NOT_REGISTERED = _sign_out_uri(
        "post_logout_redirect_uri is not exactly one of the registered sign-out URLs.",
        log="Differs from {registered} at character {position}.",
    )

    # Notes of the log about issued codes. Nothing is rejected, so there is no error and no help.
    ACR_RETURNED = _note(log="Asked for: {asked}. Returned acr: {acr}, amr: {amr}.")
    ACR_RETURNED_OUTSIDE_REVIEW = _note(
        log="Asked for: {asked}. Returned acr: {acr}, amr: {amr}. People see the app as not reviewed, because {host} "
        "was not in its review."
    )
    ACR_RETURNED_HOME_UNPROVEN = _note(
        log="Asked for: {asked}. Returned acr: {acr}, amr: {amr}. People see the app as not reviewed, because the "
        "project no longer proves the domain of its home page, {home}."
    )
    SHOWN_OUTSIDE_REVIEW = _note(log="People see the app as not reviewed, because {host} was not in its review.")
    SHOWN_HOME_UNPROVEN = _note(
        log="People see the app as not reviewed, because the project no longer proves the domain of its home page, "
        "{home}."
    )


# Why a token family ended (`TokenFamily.revocation_reason`).
REVOCATION_REASONS = tuple(reason for reason in Reason if reason.startswith("ended_"))


def reasons_at(table: str) -> list[Reason]:
    """Return the reasons of a table of the errors page."""
    return [reason for reason in Reason if reason.table == table]


def find_reason(code: str) -> Reason | None:
    """Return the reason with a stored code, or None: an entry may be older or newer than the table."""
    try:
        return Reason(code)
    except ValueError:
        return None


def public_text(reason: Reason, parameters: Facts) -> str:
    """Return the `error_description` of a reason."""
    return _fill(reason.description, parameters)


def developer_text(code: str, parameters: Facts) -> str:
    """Return the sign-in log's text for a reason, or the code if the table has no such reason."""
    reason = find_reason(code)
    return code if reason is None else _fill(reason.log or reason.description, parameters)


def _fill(text: str, parameters: Facts) -> str:
    """Return a text with its placeholders filled in. Empty values are shown as "(none)"."""
    try:
        return fill_in(text, {name: "(none)" if value in ("", []) else value for name, value in parameters.items()})
    except KeyError:
        return text
