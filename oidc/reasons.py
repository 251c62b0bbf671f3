"""Why the sign-in service refuses a request, and why a token family ended.

Exceptions, the sign-in log, metrics and analytics all carry a `Reason` and its parameters. The text is chosen where it
is shown: oidc/reason_texts.py has the descriptions, and devportal/console/reason_help.py the cause and fix of each
reason.
"""

from enum import StrEnum

# The parameters of a reason: the values for the placeholders of its texts.
Facts = dict[str, str | int | list[str]]


class Reason(StrEnum):
    """A reason code, as used in the sign-in log, the metrics and the documentation."""

    # Any request
    PARAMETER_UNCLEAR = "parameter_unclear"
    REQUEST_TOO_LONG = "request_too_long"
    TOO_MANY_PARAMETERS = "too_many_parameters"
    MALFORMED = "malformed"
    BODY_TYPE = "body_type"
    BODY_TOO_LARGE = "body_too_large"
    BODY_BROKEN = "body_broken"
    BODY_NOT_ENCODED = "body_not_encoded"
    SERVER_ERROR = "server_error"
    TOO_MANY_REQUESTS = "too_many_requests"
    UNAVAILABLE = "unavailable"
    # The client of any request
    CLIENT_OFF = "client_off"
    PROJECT_SUSPENDED = "project_suspended"
    PROJECT_DELETED = "project_deleted"
    # Authorization requests: client and redirect URL
    CLIENT_ID_UNCLEAR = "client_id_unclear"
    CLIENT_ID_UNKNOWN = "client_id_unknown"
    REDIRECT_URI_UNCLEAR = "redirect_uri_unclear"
    NO_REDIRECT_URI_REGISTERED = "no_redirect_uri_registered"
    REDIRECT_URI_SLASH = "redirect_uri_slash"
    REDIRECT_URI_SCHEME = "redirect_uri_scheme"
    REDIRECT_URI_HOST = "redirect_uri_host"
    REDIRECT_URI_PORT = "redirect_uri_port"
    REDIRECT_URI_PATH = "redirect_uri_path"
    REDIRECT_URI_QUERY = "redirect_uri_query"
    REDIRECT_URI_FRAGMENT = "redirect_uri_fragment"
    REDIRECT_URI_SPELLING = "redirect_uri_spelling"
    # Authorization requests: parameters
    REQUEST_NOT_SUPPORTED = "request_not_supported"
    REQUEST_URI_NOT_SUPPORTED = "request_uri_not_supported"
    REGISTRATION_NOT_SUPPORTED = "registration_not_supported"
    STATE_MISSING = "state_missing"
    PARAMETER_TOO_LONG = "parameter_too_long"
    RESPONSE_TYPE_MISSING = "response_type_missing"
    RESPONSE_TYPE_UNSUPPORTED = "response_type_unsupported"
    RESPONSE_MODE_UNSUPPORTED = "response_mode_unsupported"
    CODE_CHALLENGE_MISSING = "code_challenge_missing"
    CODE_CHALLENGE_METHOD_UNSUPPORTED = "code_challenge_method_unsupported"
    CODE_CHALLENGE_MALFORMED = "code_challenge_malformed"
    PROMPT_UNSUPPORTED = "prompt_unsupported"
    MAX_AGE_MALFORMED = "max_age_malformed"
    ID_TOKEN_HINT_INVALID = "id_token_hint_invalid"
    CLAIMS_TOO_LONG = "claims_too_long"
    CLAIMS_UNREADABLE = "claims_unreadable"
    CLAIMS_NOT_AN_OBJECT = "claims_not_an_object"
    CLAIMS_TOO_DEEP = "claims_too_deep"
    CLAIMS_ID_TOKEN_NOT_AN_OBJECT = "claims_id_token_not_an_object"
    ACR_CLAIM_MALFORMED = "acr_claim_malformed"
    ACR_ESSENTIAL_MALFORMED = "acr_essential_malformed"
    ACR_VALUE_AND_VALUES = "acr_value_and_values"
    ACR_VALUES_MALFORMED = "acr_values_malformed"
    ACR_VALUES_EMPTY = "acr_values_empty"
    ACR_NEVER_GIVEN = "acr_never_given"
    # Authorization requests: scopes
    SCOPE_WITHOUT_OPENID = "scope_without_openid"
    SCOPE_UNKNOWN = "scope_unknown"
    SCOPE_NOT_APPROVED = "scope_not_approved"
    SCOPE_KEPT = "scope_kept"
    SCOPE_OUTSIDE_REVIEW = "scope_outside_review"
    SCOPE_HOME_UNPROVEN = "scope_home_unproven"
    # Resource indicators
    RESOURCE_UNKNOWN = "resource_unknown"
    RESOURCE_OFF = "resource_off"
    RESOURCE_WITHOUT_SCOPE = "resource_without_scope"
    RESOURCE_NOT_GRANTED = "resource_not_granted"
    SEVERAL_RESOURCES = "several_resources"
    SCOPE_OF_OTHER_API = "scope_of_other_api"
    SCOPE_API_OFF = "scope_api_off"
    # Authorization requests: the person
    NOT_SIGNED_IN = "not_signed_in"
    OTHER_PERSON_SIGNED_IN = "other_person_signed_in"
    SIGN_IN_TOO_OLD = "sign_in_too_old"
    STRONG_SIGN_IN_TOO_OLD = "strong_sign_in_too_old"
    LEVEL_NOT_REACHED = "level_not_reached"
    LEVEL_DECLINED = "level_declined"
    CONSENT_MISSING = "consent_missing"
    CONSENT_OUTSIDE_REVIEW = "consent_outside_review"
    CONSENT_HOME_UNPROVEN = "consent_home_unproven"
    CANCELLED = "cancelled"
    PEOPLE_LIMIT = "people_limit"
    PEOPLE_LIMIT_OUTSIDE_REVIEW = "people_limit_outside_review"
    PEOPLE_LIMIT_HOME_UNPROVEN = "people_limit_home_unproven"
    # Token, revocation and userinfo requests
    POST_ONLY = "post_only"
    GET_OR_POST_ONLY = "get_or_post_only"
    QUERY_SENT = "query_sent"
    GRANT_TYPE_MISSING = "grant_type_missing"
    GRANT_TYPE_UNSUPPORTED = "grant_type_unsupported"
    GRANT_TYPE_NOT_ALLOWED = "grant_type_not_allowed"
    CODE_MISSING = "code_missing"
    REFRESH_TOKEN_MISSING = "refresh_token_missing"
    TOKEN_MISSING = "token_missing"
    TOKEN_TYPE_UNSUPPORTED = "token_type_unsupported"
    # Client authentication
    TWO_WAYS = "two_ways"
    CLIENT_UNNAMED = "client_unnamed"
    CLIENT_FAILED = "client_failed"
    SECRET_WRONG = "secret_wrong"
    SECRET_WHITE_SPACE = "secret_white_space"
    SECRET_OF_OTHER_CLIENT = "secret_of_other_client"
    SECRET_IS_API_KEY = "secret_is_api_key"
    SECRET_MISSING = "secret_missing"
    SECRET_EXPIRED = "secret_expired"
    SECRET_UNEXPECTED = "secret_unexpected"
    HEADER_UNREADABLE = "header_unreadable"
    TWO_CLIENT_IDS = "two_client_ids"
    # Codes
    CODE_UNKNOWN = "code_unknown"
    CODE_USED = "code_used"
    CODE_EXPIRED = "code_expired"
    VERIFIER_MISSING = "verifier_missing"
    VERIFIER_MALFORMED = "verifier_malformed"
    VERIFIER_WRONG = "verifier_wrong"
    REDIRECT_URI_MISSING = "redirect_uri_missing"
    REDIRECT_URI_DIFFERS = "redirect_uri_differs"
    # Refresh tokens
    REFRESH_TOKEN_UNKNOWN = "refresh_token_unknown"
    REFRESH_TOKEN_EXPIRED = "refresh_token_expired"
    REFRESH_TOKEN_SUPERSEDED = "refresh_token_superseded"
    REFRESH_TOKEN_REPEATED = "refresh_token_repeated"
    SCOPE_NOT_GRANTED = "scope_not_granted"
    LOST_RACE = "lost_race"
    # The authorization behind a code or token. Reasons that begin with `ended` are also stored with the token family.
    ACCESS_REMOVED = "access_removed"
    ENDED_REFRESH_TOKEN_REUSED = "ended_refresh_token_reused"
    ENDED_CODE_REPLAYED = "ended_code_replayed"
    ENDED_CONSENT_SENT_TWICE = "ended_consent_sent_twice"
    ENDED_REVOKED_BY_APP = "ended_revoked_by_app"
    ENDED_ACCESS_REMOVED = "ended_access_removed"
    ENDED_ACCOUNT_CLOSED = "ended_account_closed"
    ENDED_CLIENT_TYPE_CHANGED = "ended_client_type_changed"
    ENDED_PROJECT_DELETED = "ended_project_deleted"
    ENDED_PLAYGROUND = "ended_playground"
    ENDED_BY_OPERATOR = "ended_by_operator"
    # Access tokens, at userinfo
    ACCESS_TOKEN_INVALID = "access_token_invalid"
    ACCESS_TOKEN_EXPIRED = "access_token_expired"
    ACCESS_TOKEN_ENDED = "access_token_ended"
    ACCESS_TOKEN_OF_OTHER_API = "access_token_of_other_api"
    OPENID_MISSING = "openid_missing"
    # Sign-out requests
    SIGN_OUT_HINT_MISSING = "sign_out_hint_missing"
    SIGN_OUT_HINT_INVALID = "sign_out_hint_invalid"
    SIGN_OUT_CLIENT_DIFFERS = "sign_out_client_differs"
    NO_SIGN_OUT_URI_REGISTERED = "no_sign_out_uri_registered"
    SIGN_OUT_URI_NOT_REGISTERED = "sign_out_uri_not_registered"
    # Notes of the log about issued codes
    ACR_RETURNED = "acr_returned"
    ACR_RETURNED_OUTSIDE_REVIEW = "acr_returned_outside_review"
    ACR_RETURNED_HOME_UNPROVEN = "acr_returned_home_unproven"
    SHOWN_OUTSIDE_REVIEW = "shown_outside_review"
    SHOWN_HOME_UNPROVEN = "shown_home_unproven"


# Why the token or revocation endpoint refuses a request before the client is authenticated. Anyone can cause them.
BEFORE_AUTHENTICATION = frozenset(
    {
        Reason.PARAMETER_UNCLEAR,
        Reason.TOO_MANY_PARAMETERS,
        Reason.MALFORMED,
        Reason.BODY_TYPE,
        Reason.BODY_TOO_LARGE,
        Reason.BODY_BROKEN,
        Reason.BODY_NOT_ENCODED,
        Reason.QUERY_SENT,
        Reason.GRANT_TYPE_MISSING,
        Reason.GRANT_TYPE_UNSUPPORTED,
        Reason.CODE_MISSING,
        Reason.REFRESH_TOKEN_MISSING,
        Reason.TOKEN_MISSING,
        Reason.TWO_WAYS,
        Reason.SECRET_WRONG,
        Reason.SECRET_WHITE_SPACE,
        Reason.SECRET_MISSING,
        Reason.SECRET_EXPIRED,
        Reason.SECRET_UNEXPECTED,
        Reason.HEADER_UNREADABLE,
        Reason.TWO_CLIENT_IDS,
    }
)


# Why a token family ended (`TokenFamily.revocation_reason`).
REVOCATION_REASONS = tuple(reason for reason in Reason if reason.startswith("ended_"))


# Requests that oauthlib itself rejects, by its error code and text. For any other text, the error code decides.
_OF_LIBRARY = {
    ("invalid_request", "Missing code parameter."): Reason.CODE_MISSING,
    ("invalid_request", "Missing refresh token parameter."): Reason.REFRESH_TOKEN_MISSING,
    ("invalid_request", "Missing token parameter."): Reason.TOKEN_MISSING,
    ("invalid_request", "Code verifier required."): Reason.VERIFIER_MISSING,
    ("invalid_request", "Missing redirect URI."): Reason.REDIRECT_URI_MISSING,
}
_OF_LIBRARY_BY_CODE = {
    "invalid_scope": Reason.SCOPE_NOT_GRANTED,
    "invalid_client": Reason.CLIENT_FAILED,
    "invalid_grant": Reason.ACCESS_REMOVED,
    "unauthorized_client": Reason.GRANT_TYPE_NOT_ALLOWED,
    "unsupported_grant_type": Reason.GRANT_TYPE_UNSUPPORTED,
    "invalid_token": Reason.ACCESS_TOKEN_INVALID,
    # Raised for a stored challenge that S256 can't check. This service stores no such challenge.
    "server_error": Reason.VERIFIER_WRONG,
    "unsupported_token_type": Reason.TOKEN_TYPE_UNSUPPORTED,
    "insufficient_scope": Reason.OPENID_MISSING,
}


def reason_of_library(error: str, description: str) -> Reason:
    """Return the reason for an error of oauthlib, by its code and text."""
    return _OF_LIBRARY.get((error, description)) or _OF_LIBRARY_BY_CODE.get(error, Reason.MALFORMED)
