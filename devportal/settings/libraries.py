"""Settings of the libraries: Celery, django-allauth, django-oauth-toolkit, REST framework and the admin's theme."""

from typing import Any

from kombu.entity import Queue

from core import tasks
from core.admin import theme
from core.redis_address import celery_broker
from devportal import admin_lists
from devportal.settings.environment import (
    ACCESS_TOKEN_SECONDS,
    AUTHORIZATION_CODE_SECONDS,
    BASE_URL,
    BROKER_URL,
    EMBEDDED,
    ID_TOKEN_SECONDS,
    ISSUER,
    REDIS_URL,
    REFRESH_TOKEN_SECONDS,
    SERVICE_NAME,
    is_https,
)  # fmt: skip

# --- Background work (Celery) ----------------------------------------------------------------------------

broker = celery_broker(BROKER_URL or REDIS_URL)
CELERY_BROKER_URL: str = broker.url or "memory://localhost/"
# How long a request that queues a task waits for an unavailable broker (the default is forever).
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 1.0, "socket_timeout": 3.0, "max_retries": 0,
    # After this time another worker gets the task of a killed worker. Tasks that acknowledge late must finish before.
    "visibility_timeout": 600.0,
    **broker.transport_options,
}  # fmt: skip
CELERY_BROKER_USE_SSL = broker.use_ssl or False
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # a worker survives any outage of the broker
CELERY_TASK_ALWAYS_EAGER = EMBEDDED
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False  # Celery's processes use LOGGING as well (devportal/celery.py)
# Mail and events to apps have separate queues, so that they can have separate workers: apps that answer slowly must not
# delay other tasks. By default, a worker reads all queues.
CELERY_TASK_QUEUES = [Queue(name, routing_key=name) for name in ("celery", "mail", "events")]  # type: ignore[no-untyped-call]
CELERY_TASK_ROUTES = {f"accounts.tasks.{name}": {"queue": "mail"} for name in ("send_mail", "send_waiting_mail")}
CELERY_TASK_ROUTES["oidc.events.tasks.send_deliveries"] = {"queue": "events"}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1  # no worker reserves an email that another one could send
# A task that takes longer is stopped. Its next run does the rest.
CELERY_TASK_SOFT_TIME_LIMIT, CELERY_TASK_TIME_LIMIT = 540, 600
CELERY_BEAT_SCHEDULE = tasks.SCHEDULE  # the modules that declare tasks fill it

# --- People (django-allauth) -----------------------------------------------------------------------------

ACCOUNT_ADAPTER = "accounts.adapter.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_SIGNUP_FORM_CLASS = "accounts.entrance.sign_up.NamesForm"
ACCOUNT_FORMS = {
    "add_email": "accounts.views.forms.AddEmailForm",
    "change_password": "accounts.views.forms.ChangePasswordForm",
    "confirm_email_verification_code": "accounts.views.forms.ConfirmEmailForm",
    "confirm_password_reset_code": "accounts.views.forms.ConfirmResetForm",
    "login": "accounts.views.forms.LoginForm",
    "reauthenticate": "accounts.views.forms.ReauthenticateForm",
    "signup": "accounts.views.forms.SignupForm",
    "reset_password": "accounts.recovery.closing.ResetPasswordForm",
}
# allauth keys some of its limits by the Host header. Ours are in accounts/entrance/guesses.py and core/limits/.
ACCOUNT_RATE_LIMITS = MFA_RATE_LIMITS = False
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_VERIFICATION_BY_CODE_ENABLED = True
# Practically unlimited further codes: MAILS_PER_RECIPIENT_PER_DAY and a pause limit them.
ACCOUNT_EMAIL_VERIFICATION_SUPPORTS_RESEND = 1000
# Only a new email address could be changed, which would reveal that it is new. "Cancel" starts over.
ACCOUNT_EMAIL_VERIFICATION_SUPPORTS_CHANGE = False
ACCOUNT_PASSWORD_RESET_BY_CODE_ENABLED = True
ACCOUNT_EMAIL_VERIFICATION_BY_CODE_TIMEOUT = ACCOUNT_PASSWORD_RESET_BY_CODE_TIMEOUT = 15 * 60
# Wrong attempts per mailed code. Each further code is an email, and the emails per day are limited.
ACCOUNT_EMAIL_VERIFICATION_BY_CODE_MAX_ATTEMPTS = ACCOUNT_PASSWORD_RESET_BY_CODE_MAX_ATTEMPTS = 3
ACCOUNT_LOGIN_ON_PASSWORD_RESET = True
ACCOUNT_CHANGE_EMAIL = True
# Off, because accounts/activity/ sends one notice for each change.
ACCOUNT_EMAIL_NOTIFICATIONS = False
ACCOUNT_EMAIL_SUBJECT_PREFIX = f"[{SERVICE_NAME}] "
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True
# "mailed_code" is this service's (accounts/entrance/reauthentication.py). The library's "code" would do for everyone.
ACCOUNT_REAUTHENTICATION_METHODS = ["password", "mfa", "mailed_code"]
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if is_https else "http"
ACCOUNT_USER_DISPLAY = "accounts.profile.claims.display_name"
MFA_ADAPTER = "accounts.adapter.MfaAdapter"
MFA_FORMS = {
    "activate_totp": "accounts.views.forms.ActivateTOTPForm",
    "add_webauthn": "accounts.factors.forms.AddWebAuthnForm",
    "authenticate": "accounts.views.forms.MFAAuthenticateForm",
    "reauthenticate": "accounts.views.forms.MFAReauthenticateForm",
    "authenticate_webauthn": "accounts.factors.forms.AuthenticateKeyForm",
    "edit_webauthn": "accounts.factors.forms.RenameKeyForm",
    "login_webauthn": "accounts.factors.forms.LoginKeyForm",
    "reauthenticate_webauthn": "accounts.factors.forms.ReauthenticateKeyForm",
    "signup_webauthn": "accounts.factors.forms.SignupWebAuthnForm",
}
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_PASSKEY_SIGNUP_ENABLED = True
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_TOTP_ISSUER = SERVICE_NAME
MFA_TOTP_TOLERANCE = 1
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not is_https

# --- OpenID Connect (django-oauth-toolkit) ---------------------------------------------------------------

OAUTH2_PROVIDER_APPLICATION_MODEL = "oidc.Client"
OAUTH2_PROVIDER_GRANT_MODEL = "oidc.AuthorizationCode"
OAUTH2_PROVIDER_ACCESS_TOKEN_MODEL = "oidc.AccessToken"
OAUTH2_PROVIDER_REFRESH_TOKEN_MODEL = "oidc.RefreshToken"
OAUTH2_PROVIDER_ID_TOKEN_MODEL = "oidc.IDToken"
OAUTH2_PROVIDER: dict[str, Any] = {
    "OAUTH2_BACKEND_CLASS": "oidc.protocol.server.Backend",
    "OIDC_SERVER_CLASS": "oidc.protocol.server.Server",
    "OAUTH2_VALIDATOR_CLASS": "oidc.protocol.server.Validator",
    "SCOPES_BACKEND_CLASS": "oidc.apis.scopes.ScopesBackend",
    "APPLICATION_ADMIN_CLASS": "oidc.admin.ClientAdmin",
    "GRANT_ADMIN_CLASS": "oidc.admin.HiddenModelAdmin",
    "ACCESS_TOKEN_ADMIN_CLASS": "oidc.admin.TokenAdmin",
    "REFRESH_TOKEN_ADMIN_CLASS": "oidc.admin.TokenAdmin",
    "ID_TOKEN_ADMIN_CLASS": "oidc.admin.HiddenModelAdmin",
    "OIDC_ENABLED": True,
    "OIDC_ISS_ENDPOINT": ISSUER,
    # The library only checks that there is a key here. The keys are in the database (oidc/tokens/signing_keys.py).
    "OIDC_RSA_PRIVATE_KEY": "",
    "OIDC_RP_INITIATED_LOGOUT_ENABLED": True,
    "OIDC_RP_INITIATED_LOGOUT_DELETE_TOKENS": False,
    "ACCESS_TOKEN_GENERATOR": "oidc.tokens.access_tokens.generate_access_token",
    "REFRESH_TOKEN_GENERATOR": "oidc.tokens.refresh_tokens.generate_refresh_token",
    "AUTHORIZATION_CODE_EXPIRE_SECONDS": AUTHORIZATION_CODE_SECONDS,
    "ACCESS_TOKEN_EXPIRE_SECONDS": ACCESS_TOKEN_SECONDS,
    "ID_TOKEN_EXPIRE_SECONDS": ID_TOKEN_SECONDS,
    "REFRESH_TOKEN_EXPIRE_SECONDS": REFRESH_TOKEN_SECONDS,
    "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": 0,  # REFRESH_GRACE_SECONDS replaces it
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "ROTATE_REFRESH_TOKEN": True,
    "ALLOWED_REDIRECT_URI_SCHEMES": ["https"],
    "PKCE_REQUIRED": True,
    "COMPLIANT_BCP_RFC9700_IMPLICIT_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PASSWORD_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PKCE_METHOD": True,
    "COMPLIANT_BCP_RFC9700_ACCESS_TOKEN_TRANSPORT": True,
    "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
    "COMPLIANT_BCP_RFC9700_TOKEN_STORAGE": True,
    "COMPLIANT_BCP_RFC9700_REFRESH_TOKEN": True,
    "COMPLIANT_BCP_RFC9700_REDIRECT_URI_SCHEME": True,
    "COMPLIANT_BCP_RFC9700_REDIRECT_URI_MATCHING": True,
    "COMPLIANT_BCP_RFC9700_PKCE_REQUIRED": True,
}

# --- The developer API (Django REST framework, drf-spectacular) ------------------------------------------

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "api.errors.exception_handler",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "OAS_VERSION": "3.1.0",
    "TITLE": f"{SERVICE_NAME} developer API",
    "DESCRIPTION": "Read the profile and the plan of one account, with an API key or an access token. Any other path "
    "under /v1 answers 404 with the code `not_found`.",
    "VERSION": "1",
    "SERVERS": [{"url": BASE_URL}],
    "SCHEMA_PATH_PREFIX": "/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PUBLIC": True,
}
# The page that describes the API, in its metadata (RFC 9728).
API_DOCUMENTATION_PATH = "/docs/api/"
APIS_DOCUMENTATION_PATH = "/docs/apis/"
API_DEPRECATION_PATH = "/docs/deprecation"

# --- The admin (django-unfold) ---------------------------------------------------------------------------

UNFOLD = theme.unfold_settings(SERVICE_NAME, admin_lists.SIDEBAR)
UNFOLD["DASHBOARD_CALLBACK"] = "devportal.operations.overview.add_overview"
ADMIN_RELATED_LISTS = admin_lists.RELATED
ADMIN_HISTORY_LIST = admin_lists.HISTORY
