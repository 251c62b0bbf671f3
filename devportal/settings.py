"""All settings of the service, read from the environment; `docs/settings.md` lists every variable.

With no variables at all this is the embedded environment: SQLite, process-local counters and mail kept as
files, all under DATA_DIR. `ENVIRONMENT=production` reads PostgreSQL, Redis, mail and secrets from the
environment, and the system checks in `oidc/checks.py` refuse to start on a dangerous combination.
"""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django_stubs_ext
from kombu.entity import Queue

from devportal import __version__, admin_lists
from devportal.lib import object_store
from devportal.lib.admin import theme
from devportal.lib.bootstrap import FILE_MODE, FOLDER_MODE, create_private_folder, embedded_secret
from devportal.lib.environment import Env
from devportal.lib.postgres import settings as postgres
from devportal.lib.redis_address import celery_broker

django_stubs_ext.monkeypatch()  # makes ModelAdmin[Account] and its like mean something at run time


env = Env()
# For the checks (devportal/lib/settings_checks.py): each number that is read here, and what could not be read.
NUMBERS, UNREADABLE_SETTINGS = env.numbers, env.problems

PROJECT_DIR = Path(__file__).resolve().parent.parent
ENVIRONMENT: str = env.str("ENVIRONMENT", "embedded")
EMBEDDED = ENVIRONMENT == "embedded"
DEBUG: bool = env.bool("DEBUG", False)
DATA_DIR = Path(env.str("DATA_DIR", str(PROJECT_DIR / ".data"))).resolve()
if EMBEDDED:
    UNREADABLE_SETTINGS.extend(create_private_folder(DATA_DIR))

# --- The service and its public addresses ----------------------------------------------------------------

VERSION = __version__
SERVICE_NAME: str = env.str("SERVICE_NAME", "Openport")
PORT: int = env.int("PORT", 8000)
AUTH_URL: str = env.str("AUTH_URL", f"http://localhost:{PORT}").rstrip("/")
BASE_URL: str = env.str("BASE_URL", f"http://localhost:{PORT}").rstrip("/")
# Of /admin/; empty: AUTH_URL.
ADMIN_URL: str = env.str("ADMIN_URL", "").rstrip("/")
# OpenID Connect Core 2: the issuer is fixed here and never taken from a Host header.
ISSUER = f"{AUTH_URL}/"
CLIENT_ID_PREFIX: str = env.str("CLIENT_ID_PREFIX", "op_client_")
CLIENT_SECRET_PREFIX: str = env.str("CLIENT_SECRET_PREFIX", "op_secret_")
API_KEY_PREFIX: str = env.str("API_KEY_PREFIX", "op_key_")

_HTTPS = AUTH_URL.startswith("https://")
_HOSTS = sorted({urlsplit(AUTH_URL).hostname or "localhost", urlsplit(BASE_URL).hostname or "localhost"})
_ADMIN_HOST = [urlsplit(ADMIN_URL).hostname or "localhost"] if ADMIN_URL else []
ALLOWED_HOSTS: list[str] = env.list(
    "ALLOWED_HOSTS", default=sorted({*_HOSTS, *_ADMIN_HOST}) + (["127.0.0.1"] if EMBEDDED else [])
)

# Where people find help and the service's own terms: links on every page and in mails; none: no link.
SUPPORT_EMAIL: str = env.str("SUPPORT_EMAIL", "")
HELP_URL: str = env.str("HELP_URL", "")
PRIVACY_URL: str = env.str("PRIVACY_URL", "")
TERMS_URL: str = env.str("TERMS_URL", "")
PLANS_URL: str = env.str("PLANS_URL", "")  # where plans are compared and changed

# Where IP addresses are: an .mmdb file of cities or countries (accounts/activity/places.py); none: no places.
GEOIP_DATABASE: str = env.str("GEOIP_DATABASE", "")

# --- Secrets ---------------------------------------------------------------------------------------------

if EMBEDDED:
    SECRET_KEY: str = env.str("SECRET_KEY", "") or embedded_secret(DATA_DIR, "secret_key")
    KEY_ENCRYPTION_KEY: str = env.str("KEY_ENCRYPTION_KEY", "") or embedded_secret(DATA_DIR, "key_encryption_key")
else:
    SECRET_KEY = env.str("SECRET_KEY", "")
    KEY_ENCRYPTION_KEY = env.str("KEY_ENCRYPTION_KEY", "")
# What was signed or encrypted with one of these is still read (docs/operations.md#rotating-secret_key).
SECRET_KEY_FALLBACKS: list[str] = env.secrets("SECRET_KEY_FALLBACKS")
KEY_ENCRYPTION_KEY_FALLBACKS: list[str] = env.secrets("KEY_ENCRYPTION_KEY_FALLBACKS")

# --- Lifetimes and limits, all in one place (seconds unless the name says otherwise) ---------------------

AUTHORIZATION_CODE_SECONDS: int = env.int("AUTHORIZATION_CODE_SECONDS", 60)
ACCESS_TOKEN_SECONDS: int = env.int("ACCESS_TOKEN_SECONDS", 15 * 60)
ID_TOKEN_SECONDS: int = env.int("ID_TOKEN_SECONDS", 5 * 60)
REFRESH_TOKEN_SECONDS: int = env.int("REFRESH_TOKEN_SECONDS", 30 * 24 * 3600)
# A superseded refresh token that comes back within this time was sent twice; later, it was stolen.
REFRESH_REUSE_SECONDS: int = env.int("REFRESH_REUSE_SECONDS", 10)
# Within this time a superseded refresh token of any client gets a fresh pair, if nobody has used the pair that took its
# place; 0: never. Clients that forgive lost responses get LOST_RESPONSE_SECONDS, which their settings page names.
REFRESH_GRACE_SECONDS: int = env.int("REFRESH_GRACE_SECONDS", 0)
LOST_RESPONSE_SECONDS = 30
# How long a person may take between the app's request and their answer on the consent page.
PENDING_REQUEST_SECONDS: int = env.int("PENDING_REQUEST_SECONDS", 3600)
# How long the session of a browser lives in which nobody is signed in; a code from a mail is good for 15 minutes.
ANONYMOUS_SESSION_SECONDS = max(PENDING_REQUEST_SECONDS, 3600)
UNVERIFIED_APP_PEOPLE: int = env.int("UNVERIFIED_APP_PEOPLE", 100)  # besides the project's owners
SIGNING_KEY_PUBLISH_AHEAD_SECONDS: int = env.int("SIGNING_KEY_PUBLISH_AHEAD_SECONDS", 2 * 3600)
SIGNING_KEY_LIFETIME_SECONDS: int = env.int("SIGNING_KEY_LIFETIME_SECONDS", 90 * 24 * 3600)
SIGNING_KEY_REFRESH_SECONDS: int = env.int("SIGNING_KEY_REFRESH_SECONDS", 60)
# Of the sign-in endpoints that apps use: requests of one client, failed requests from one address.
CLIENT_REQUESTS_PER_MINUTE: int = env.int("CLIENT_REQUESTS_PER_MINUTE", 600)
FAILURES_PER_MINUTE: int = env.int("FAILURES_PER_MINUTE", 30)
# Of the developer API (docs/api.md#limits): calls of one key or app, of one person within an app; and credentials
# that are nobody's, from one address.
API_CALLS_PER_MINUTE: int = env.int("API_CALLS_PER_MINUTE", 600)
API_CALLS_PER_PERSON_PER_MINUTE: int = env.int("API_CALLS_PER_PERSON_PER_MINUTE", 120)
API_GUESSES_PER_MINUTE: int = env.int("API_GUESSES_PER_MINUTE", 300)
# Of the sign-in pages (docs/limits.md): passwords that are checked for one address, or for one account's own browsers.
SIGN_INS_PER_MINUTE: int = env.int("SIGN_INS_PER_MINUTE", 30)
# Wrong passwords, and apart from them wrong codes of the second step: from one address; from one address for one
# account, in five minutes; for one account from anywhere; and in five minutes from a browser that signed in before.
GUESSES_PER_ADDRESS_PER_MINUTE: int = env.int("GUESSES_PER_ADDRESS_PER_MINUTE", 10)
GUESSES_PER_ACCOUNT_AND_ADDRESS: int = env.int("GUESSES_PER_ACCOUNT_AND_ADDRESS", 5)
GUESSES_PER_ACCOUNT_PER_HOUR: int = env.int("GUESSES_PER_ACCOUNT_PER_HOUR", 100)
GUESSES_PER_KNOWN_BROWSER: int = env.int("GUESSES_PER_KNOWN_BROWSER", 10)
# Wrong codes of the second factor, until a right one: beyond them each browser proves the mailbox first (NIST SP
# 800-63B, 3.2.2: at most 100).
WRONG_CODES_PER_ACCOUNT: int = env.int("WRONG_CODES_PER_ACCOUNT", 100)
# How long a person has to stop the removal of their second factors that an operator started.
ACCOUNT_RECOVERY_HOURS: int = env.int("ACCOUNT_RECOVERY_HOURS", 72)
# Challenges that the sign-in page fetches for passkeys, for one address.
PASSKEY_CHALLENGES_PER_MINUTE: int = env.int("PASSKEY_CHALLENGES_PER_MINUTE", 60)
KNOWN_BROWSER_DAYS: int = env.int("KNOWN_BROWSER_DAYS", 365)
# Mails that anybody can cause, to one mailbox: a few, however many addresses ask for them.
MAILS_PER_RECIPIENT_PER_DAY: int = env.int("MAILS_PER_RECIPIENT_PER_DAY", 6)
# Mails about sign-ins from new browsers, to one person.
NEW_BROWSER_MAILS_PER_DAY: int = env.int("NEW_BROWSER_MAILS_PER_DAY", 20)
# Each form of FORMS_BY_ADDRESS and FORMS_BY_PERSON, and each of FORMS_THAT_MAIL (below).
FORMS_PER_ADDRESS_PER_MINUTE: int = env.int("FORMS_PER_ADDRESS_PER_MINUTE", 20)
FORMS_PER_PERSON_PER_MINUTE: int = env.int("FORMS_PER_PERSON_PER_MINUTE", 60)
MAILING_FORMS_PER_PERSON_PER_DAY: int = env.int("MAILING_FORMS_PER_PERSON_PER_DAY", 50)
# Reports of apps to the reviewers: of one person, and of one address about one app.
REPORTS_PER_PERSON_PER_DAY: int = env.int("REPORTS_PER_PERSON_PER_DAY", 20)
REPORTS_PER_ADDRESS_AND_APP_PER_DAY: int = env.int("REPORTS_PER_ADDRESS_AND_APP_PER_DAY", 20)
USAGE_DAYS: int = env.int("USAGE_DAYS", 90)
# How long each call, and each step of a sign-in, can be looked up in the console (days).
REQUEST_LOG_DAYS: int = env.int("REQUEST_LOG_DAYS", 30)
SIGN_IN_LOG_DAYS: int = env.int("SIGN_IN_LOG_DAYS", 30)
# How long the counts of sign-ins are kept, by hour and by day (days).
SIGN_IN_HOUR_DAYS: int = env.int("SIGN_IN_HOUR_DAYS", 35)
SIGN_IN_COUNT_DAYS: int = env.int("SIGN_IN_COUNT_DAYS", 400)
# At most so many entries a minute go into one client's sign-in log: a flood of refusals must not fill the disk.
SIGN_IN_LOG_PER_MINUTE: int = env.int("SIGN_IN_LOG_PER_MINUTE", 120)
# How long the audit trail, and the ids of billing reports that were applied, are kept (days; 0: for ever).
AUDIT_DAYS: int = env.int("AUDIT_DAYS", 730)
BILLING_EVENT_DAYS: int = env.int("BILLING_EVENT_DAYS", 730)
# How long people can look up what happened to their account (days).
SECURITY_EVENT_DAYS: int = env.int("SECURITY_EVENT_DAYS", 365)
# For how long the old address of an account can take a change of address back (days).
ADDRESS_REVERSAL_DAYS: int = env.int("ADDRESS_REVERSAL_DAYS", 7)
# An export of a person's own data: how long its file is kept (days), and how many one may ask for in 24 hours.
EXPORT_DAYS: int = env.int("EXPORT_DAYS", 7)
EXPORTS_PER_DAY: int = env.int("EXPORTS_PER_DAY", 3)
# How long people can change their mind after they deleted their account (days; 0: it goes at once).
ACCOUNT_DELETION_DAYS: int = env.int("ACCOUNT_DELETION_DAYS", 14)
# How long a deleted project can be restored (days), and how many of each thing one may have.
PROJECT_RESTORE_DAYS: int = env.int("PROJECT_RESTORE_DAYS", 30)
PROJECTS_PER_PERSON: int = env.int("PROJECTS_PER_PERSON", 50)
CLIENTS_PER_PROJECT: int = env.int("CLIENTS_PER_PROJECT", 1000)
KEYS_PER_PROJECT: int = env.int("KEYS_PER_PROJECT", 200)
MEMBERS_PER_PROJECT: int = env.int("MEMBERS_PER_PROJECT", 100)  # those who are invited included
DOMAINS_PER_PROJECT: int = env.int("DOMAINS_PER_PROJECT", 50)
# How long a proven domain counts on while its proof is not found any more (days; docs/domains.md#proofs).
DOMAIN_GRACE_DAYS: int = env.int("DOMAIN_GRACE_DAYS", 7)
# Checks of domains that one person may ask for: each asks a name server and a web server of somebody's choice.
DOMAIN_CHECKS_PER_HOUR: int = env.int("DOMAIN_CHECKS_PER_HOUR", 30)
PROJECT_INVITATION_DAYS: int = env.int("PROJECT_INVITATION_DAYS", 7)
# App reviews: an app takes two reviewers for account.read if its project has more people than this (0: any app; people
# are counted to 10,000); for how long a rejection can be appealed against; after how long an app is looked at again
# (days; 0: never).
REVIEW_SECOND_KEY_PEOPLE: int = env.int("REVIEW_SECOND_KEY_PEOPLE", 1000)
APPEAL_DAYS: int = env.int("APPEAL_DAYS", 30)
RE_REVIEW_DAYS: int = env.int("RE_REVIEW_DAYS", 365)
OUTBOX_DAYS: int = env.int("OUTBOX_DAYS", 30)
INVITATION_DAYS: int = env.int("INVITATION_DAYS", 7)
# Within how many days reviewers mean to answer; what waits for longer is late (docs/review.md#the-queue).
REVIEW_TARGET_DAYS: int = env.int("REVIEW_TARGET_DAYS", 5)
# The same for cases, such as reports and lost domains (docs/review.md#cases).
CASE_TARGET_DAYS: int = env.int("CASE_TARGET_DAYS", 3)
INVITATIONS_PER_HOUR: int = env.int("INVITATIONS_PER_HOUR", 20)  # of one family or project
FAMILY_MEMBERS: int = env.int("FAMILY_MEMBERS", 6)  # its owner included
LOGO_MAX_BYTES: int = env.int("LOGO_MAX_BYTES", 1024 * 1024)  # of an app's logo, as uploaded
PICTURE_MAX_BYTES: int = env.int("PICTURE_MAX_BYTES", 5 * 1024 * 1024)
# Of `manage.py serve`: how long a request waits for one of the few slots.
SLOT_WAIT_SECONDS: float = env.float("SLOT_WAIT_SECONDS", 1.5)
# Of each process: threads that hash passwords, and how long somebody waits for their turn.
PASSWORD_THREADS: int = env.int("PASSWORD_THREADS", 1)
PASSWORD_WAIT_SECONDS: float = env.float("PASSWORD_WAIT_SECONDS", 50)

# --- Apps and middleware ---------------------------------------------------------------------------------

INSTALLED_APPS = [
    "devportal.console",
    "api",
    "oidc",
    "accounts",
    "unfold.apps.BasicAppConfig",
    "devportal.lib.admin.apps.ServiceAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "accounts.apps.UserSessionsConfig",
    "oauth2_provider",
    "rest_framework",
    "drf_spectacular",
]

# Endpoints that programs call: their requests skip the middleware for pages (devportal/lib/direct_dispatch.py).
DIRECT_DISPATCH_PATHS = (
    "/connect/token", "/connect/userinfo", "/connect/revoke", "/.well-known/", "//.well-known/", "/v1/",
)  # fmt: skip
# Endpoints that answer malformed input themselves, each in its own error shape.
MALFORMED_INPUT_PATHS = ("/connect/", "/v1/")
# What is the same for everybody until what it is made of changes: the function that returns that (None: not now), or ""
# for the settings alone (devportal/lib/server/documents.py).
DOCUMENTS = {
    "/.well-known/openid-configuration": "",
    "//.well-known/openid-configuration": "",
    "/.well-known/oauth-authorization-server": "",
    "/.well-known/oauth-protected-resource": "",
    "/.well-known/jwks": "oidc.views.discovery.published_keys",
}
# How these are told what the server refuses before Django sees it (devportal/lib/server/errors.py).
SERVER_REFUSALS = {
    "/v1": "api.errors.refused_by_server",
    "/v1/": "api.errors.refused_by_server",
    **dict.fromkeys(("/connect/token", "/connect/userinfo", "/connect/revoke"), "oidc.views.token.refused_by_server"),
}
# The developer API, whose errors have an envelope.
API_PATH = "/v1"
# The docs' page of errors, to which answers link.
ERRORS_PATH = "/docs/errors"
# Where AUTH_URL, BASE_URL and ADMIN_URL have hosts of their own (devportal/lib/split_hosts.py): what belongs on those
# of the latter two, by whole path and by prefix; all else belongs on AUTH_URL's.
API_PATHS = frozenset({"/v1", "/.well-known/oauth-protected-resource", "/hooks/billing"})
API_PREFIXES = ("/v1/", "/.well-known/oauth-protected-resource/")
ADMIN_PATHS = frozenset({"/admin"})
ADMIN_PREFIXES = ("/admin/",)
# What signing in to the admin takes, on its own host; by URL name.
ADMIN_SIGN_IN = frozenset(
    {
        "account_choose",
        "account_choose_photo",
        "account_closed",
        "account_email_verification_sent",
        "account_inactive",
        "account_login",
        "account_logout",
        "account_mailbox_proof",
        "account_reauthenticate",
        "account_sign_in_again",
        "mfa_activate_totp",
        "mfa_add_webauthn",
        "mfa_authenticate",
        "mfa_login_webauthn",
        "mfa_reauthenticate",
        "mfa_reauthenticate_webauthn",
        "mfa_view_recovery_codes",
        "signed_out",
        "staff_second_factor",
    }
)
# Besides static files and health checks.
EVERY_HOST_PATHS = frozenset({"/favicon.ico", "/robots.txt", "/.well-known/security.txt"})
# The one address of the service itself that a client may register as redirect URI.
PLAYGROUND_PATH = "/console/playground/callback"

MIDDLEWARE = [
    "devportal.lib.telemetry.middleware.MetricsMiddleware",
    "devportal.lib.request_id.RequestIdMiddleware",
    "devportal.lib.host_header.HostMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "oidc.cors.CorsMiddleware",
    "devportal.lib.direct_dispatch.DirectDispatchMiddleware",
    "devportal.lib.headers.PageHeadersMiddleware",
    "devportal.lib.static_files.StaticFilesMiddleware",
    "devportal.lib.compression.PageCompressionMiddleware",
    "devportal.lib.caching.PersonalPagesMiddleware",
    "devportal.lib.malformed_input.MalformedInputMiddleware",
    "devportal.lib.sessions.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "accounts.known_browsers.KnownBrowserMiddleware",
    "accounts.accounts_cookie.AccountsCookieMiddleware",
    "devportal.lib.ratelimit.middleware.RateLimitMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "accounts.session_list.LastSeenMiddleware",
    "devportal.lib.wrong_method.WrongMethodMiddleware",
]

ROOT_URLCONF = "devportal.urls"
WSGI_APPLICATION = "devportal.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = True
FORMAT_MODULE_PATH = "devportal.lib.formats"
USE_TZ = True

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [PROJECT_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["devportal.lib.url_tag", "devportal.lib.icons", "devportal.lib.breakable"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "devportal.lib.context_processors.service",
                "devportal.lib.context_processors.this_host",
                "accounts.context_processors.other_accounts",
                "oidc.context_processors.pending_client",
                "accounts.mail.resending.resending",
            ],
        },
    }
]

# --- Database --------------------------------------------------------------------------------------------

_DATABASE_URL: str = env.str("DATABASE_URL", "")
if _DATABASE_URL:
    DATABASES: dict[str, dict[str, Any]] = {"default": env.db_url_config(_DATABASE_URL)}
else:
    DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(DATA_DIR / "db.sqlite3")}}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = {
        # A transaction takes its write lock at once: one that reads first and writes later can't fail halfway.
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        # FULL: what was acknowledged survives a power cut as well as a kill.
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-20000;",
    }
# How long to wait for PostgreSQL (docs/operations.md#time-outs); 0: for ever. A request waits for a slot, and then for
# statements, their locks included; together that has to stay below 5 seconds.
DATABASE_CONNECT_TIMEOUT_SECONDS: int = env.int("DATABASE_CONNECT_TIMEOUT_SECONDS", 2)
DATABASE_STATEMENT_TIMEOUT_SECONDS: float = env.float("DATABASE_STATEMENT_TIMEOUT_SECONDS", 2.5)
DATABASE_LOCK_TIMEOUT_SECONDS: float = env.float("DATABASE_LOCK_TIMEOUT_SECONDS", 1)
DATABASE_IDLE_TRANSACTION_TIMEOUT_SECONDS: float = env.float("DATABASE_IDLE_TRANSACTION_TIMEOUT_SECONDS", 30)
DATABASE_TASK_STATEMENT_TIMEOUT_SECONDS: float = env.float("DATABASE_TASK_STATEMENT_TIMEOUT_SECONDS", 60)
DATABASE_POOLING: str = env.str("DATABASE_POOLING", "none")  # or "transaction" (docs/operations.md#pgbouncer)
postgres.configure(
    DATABASES["default"],
    pooling=DATABASE_POOLING,
    connect_seconds=DATABASE_CONNECT_TIMEOUT_SECONDS,
)
# Pages of logs and usage may be read from a replica (devportal/lib/postgres/replica.py); none: from the database.
REPLICA_DATABASE_URL: str = env.str("REPLICA_DATABASE_URL", "")
REPLICA_MAX_LAG_SECONDS: int = env.int("REPLICA_MAX_LAG_SECONDS", 30)
REPLICA_MODELS = frozenset(
    {"api.requestlog", "api.usagebucket", "api.usagehour", "api.usageday", "api.usagetotal"}
    | {"console.auditevent", "console.signinevent"}
)
REPLICA_PAGES = frozenset(
    {"console:activity", "console:requests", "console:sign_ins", "console:usage"}
    | {"console:request_detail", "console:sign_in_detail"}
    | {f"admin:{name}_changelist" for name in ("api_requestlog", "console_auditevent", "console_signinevent")}
)
if REPLICA_DATABASE_URL:
    DATABASES["replica"] = env.db_url_config(REPLICA_DATABASE_URL) | {"TEST": {"MIRROR": "default"}}
    postgres.configure(
        DATABASES["replica"],
        pooling=DATABASE_POOLING,
        connect_seconds=DATABASE_CONNECT_TIMEOUT_SECONDS,
    )
    DATABASE_ROUTERS = ["devportal.lib.postgres.replica.ReplicaRouter"]
    MIDDLEWARE.append("devportal.lib.postgres.replica.ReplicaMiddleware")

# --- Cache, sessions, background work --------------------------------------------------------------------

REDIS_URL: str = env.str("REDIS_URL", "")
# A slow store must not make everything slow: what takes longer counts as lost, and is counted in the process.
REDIS_TIMEOUT_SECONDS: float = env.float("REDIS_TIMEOUT_SECONDS", 0.05)
CACHES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "devportal.lib.ratelimit.store.FailoverCache", "LOCATION": REDIS_URL}
    if REDIS_URL
    else {"BACKEND": "devportal.lib.ratelimit.store.MemoryCache"}
}

SESSION_ENGINE = "devportal.lib.sessions"  # the database holds hashes of the keys that cookies hold
# Names of our own: browsers share cookies between the ports of a host, and an app under test on localhost
# would overwrite `sessionid`.
# With the prefix only this host can set them (docs/security.md#cookies).
_COOKIE_PREFIX = "__Host-" if _HTTPS else ""
SESSION_COOKIE_NAME = f"{_COOKIE_PREFIX}openport_session"
CSRF_COOKIE_NAME = f"{_COOKIE_PREFIX}openport_csrf"
SESSION_COOKIE_AGE = env.int("SESSION_SECONDS", 14 * 24 * 3600)
# After how long without any request a session ends; and one in which the admin was opened.
SESSION_IDLE_SECONDS: int = env.int("SESSION_IDLE_SECONDS", 14 * 24 * 3600)
ADMIN_IDLE_SECONDS: int = env.int("ADMIN_IDLE_SECONDS", 12 * 3600)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"

BROKER_URL: str = env.str("BROKER_URL", "")
_BROKER = celery_broker(BROKER_URL or REDIS_URL)
CELERY_BROKER_URL: str = _BROKER.url or "memory://localhost/"
# A request that queues a task waits at most this long for a broker that is gone (default: for ever).
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 1.0, "socket_timeout": 3.0, "max_retries": 0,
    # After this time a task whose worker was killed comes to another: longer than those that acknowledge late may run.
    "visibility_timeout": 600.0,
    **_BROKER.transport_options,
}  # fmt: skip
CELERY_BROKER_USE_SSL = _BROKER.use_ssl or False
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # a worker outlives any outage of the broker
CELERY_TASK_ALWAYS_EAGER = EMBEDDED
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False  # LOGGING counts in Celery's processes too (devportal/celery.py)
# Mail has a queue of its own, so that it can have workers of its own; a worker that is not told otherwise reads both.
CELERY_TASK_QUEUES = [Queue(name, routing_key=name) for name in ("celery", "mail")]  # type: ignore[no-untyped-call]
CELERY_TASK_ROUTES = {f"accounts.tasks.{name}": {"queue": "mail"} for name in ("send_mail", "send_waiting_mail")}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1  # no worker keeps a mail waiting that another one could send
# A task that takes longer is stopped; what it has not done is done at its next time.
CELERY_TASK_SOFT_TIME_LIMIT, CELERY_TASK_TIME_LIMIT = 540, 600


def _every(seconds: float, task: str) -> dict[str, Any]:
    # A task that no worker has taken before the next one is due is dropped: an outage leaves no heap of them.
    return {"task": task, "schedule": seconds, "options": {"expires": 0.9 * seconds}}


CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "clear-expired": _every(600, "oidc.tasks.clear_expired"),
    "clear-outbox": _every(3600, "accounts.tasks.clear_outbox"),
    "delete-files": _every(60, "accounts.tasks.delete_files"),
    "clear-billing-events": _every(3600, "accounts.tasks.clear_billing_events"),
    "clear-security-events": _every(3600, "accounts.tasks.clear_security_events"),
    "clear-address-changes": _every(3600, "accounts.tasks.clear_address_changes"),
    "advance-recoveries": _every(60, "accounts.factors.tasks.advance_recoveries"),
    "clear-exports": _every(3600, "accounts.leaving.tasks.clear_exports"),
    "make-waiting-exports": _every(60, "accounts.leaving.tasks.make_waiting_exports"),
    "delete-closed-accounts": _every(600, "accounts.leaving.tasks.delete_closed_accounts"),
    "clear-audit-events": _every(3600, "devportal.console.tasks.clear_audit_events"),
    "clear-sessions": _every(3600, "accounts.tasks.clear_sessions"),
    "flush-usage": _every(10, "api.tasks.flush_usage"),
    "clear-usage": _every(3600, "api.tasks.clear_usage"),
    "clear-request-log": _every(3600, "api.tasks.clear_request_log"),
    "clear-sign-in-log": _every(3600, "devportal.console.tasks.clear_sign_in_log"),
    "clear-sign-in-counts": _every(3600, "devportal.console.tasks.clear_sign_in_counts"),
    "open-re-reviews": _every(3600, "devportal.console.tasks.open_re_reviews"),
    "open-second-approvals": _every(3600, "devportal.console.tasks.open_second_approvals"),
    "check-waiting-pages": _every(600, "devportal.console.reviews.evidence.tasks.check_waiting_pages"),
    "fill-logo-hashes": _every(3600, "devportal.console.reviews.evidence.tasks.fill_logo_hashes"),
    "forget-sent-forms": _every(3600, "devportal.console.tasks.forget_sent_forms"),
    "announce-submissions": _every(600, "devportal.console.tasks.announce_submissions"),
    "announce-late-reviews": _every(3600, "devportal.console.tasks.announce_late_reviews"),
    "announce-cases": _every(600, "devportal.console.tasks.announce_cases"),
    "announce-late-cases": _every(3600, "devportal.console.tasks.announce_late_cases"),
    "clear-project-invitations": _every(3600, "oidc.tasks.clear_invitations"),
    "check-domains": _every(300, "oidc.domains.tasks.check_domains"),
    "remove-deleted-projects": _every(3600, "oidc.tasks.remove_deleted_projects"),
    "advance-subscriptions": _every(60, "accounts.tasks.advance_subscriptions"),
    "send-waiting-mail": _every(10, "accounts.tasks.send_waiting_mail"),
    "rotate-keys": _every(3600, "oidc.tasks.rotate_keys"),
}

# --- Limits of forms, by URL name (devportal/lib/ratelimit/; docs/limits.md lists every path) ----------------

# What anybody can send: sign-up, codes, new passwords, passkeys.
FORMS_BY_ADDRESS = frozenset(
    {
        "account_address_take_back",
        "account_complete_password_reset",
        "account_confirm_login_code",
        "account_confirm_password_reset_code",
        "account_email_verification_sent",
        "account_mailbox_proof",
        "account_recovery",
        "account_reset_password",
        "account_signup",
        "account_signup_by_passkey",
        "account_undo",
        "api_try_it",
        "mfa_login_webauthn",
        "mfa_signup_webauthn",
    }
)
# What a GET stores for anybody: a challenge for a passkey, in a session.
CHALLENGES_BY_ADDRESS = frozenset({"mfa_login_webauthn"})
# What a person who is signed in makes, uploads or has computed.
FORMS_BY_PERSON = frozenset(
    {
        "account_change_password",
        "account_delete",
        "account_email",
        "account_export",
        "account_plan_invite",
        "account_profile",
        "account_set_password",
        "app_report",
        "console:app_page",
        "console:check_addresses",
        "console:check_name",
        "console:client_new",
        "console:client_secret_expiry",
        "console:client_secret_new",
        "console:client_secret_rotate",
        "console:client_settings",
        "console:client_tester",
        "console:domains",
        "console:invitation_renew",
        "console:key_expiry",
        "console:key_new",
        "console:key_rotate",
        "console:members",
        "console:playground_begin",
        "console:playground_exchange",
        "console:project_new",
        "console:project_settings",
        "console:project_transfer",
        "console:review",
        "mfa_activate_totp",
        "mfa_add_webauthn",
        "mfa_generate_recovery_codes",
        "step_up",
    }
)
# What mails others each time, reviewers and colleagues; invitations are counted by their recipient as well.
FORMS_THAT_MAIL = frozenset({"console:project_appeal", "console:review", "console:review_appeal"})

# --- Mail ------------------------------------------------------------------------------------------------

DEFAULT_FROM_EMAIL: str = env.str("DEFAULT_FROM_EMAIL", f"{SERVICE_NAME} <no-reply@{_HOSTS[0]}>")
SERVER_EMAIL = DEFAULT_FROM_EMAIL
_EMAIL_URL: str = env.str("EMAIL_URL", "")
if _EMAIL_URL:
    vars().update(env.email_url_config(_EMAIL_URL))
else:
    EMAIL_BACKEND: str = "devportal.lib.mail.DemoBackend"
MAIL_DIR = DATA_DIR / "mail"
if EMAIL_BACKEND == "django.core.mail.backends.smtp.EmailBackend":
    EMAIL_BACKEND = "devportal.lib.smtp.BoundedEmailBackend"
# A mail server is waited for: at each of its answers; altogether until it has answered the sign-in, and once more until
# it has taken a mail.
EMAIL_TIMEOUT = 10
MAIL_DELIVERY_SECONDS = 20

# --- Static and uploaded files ---------------------------------------------------------------------------

STATIC_URL = "/static/"
STATIC_ROOT = None if EMBEDDED else PROJECT_DIR / ".static"
STATICFILES_DIRS = [PROJECT_DIR / "static"]
WHITENOISE_USE_FINDERS = EMBEDDED
WHITENOISE_MAX_AGE = 0 if EMBEDDED else 3600  # of names without a hash
MEDIA_ROOT = DATA_DIR / "media"
# An object store for several machines, with its key (docs/operations.md#static-and-uploaded-files); none: MEDIA_ROOT.
_MEDIA_STORAGE_URL: str = env.str("MEDIA_STORAGE_URL", "")
MEDIA_URL = "/uploads/"  # never mounted: pictures are served by views that know who may see them
STORAGES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": object_store.BACKEND, "OPTIONS": object_store.storage_options(_MEDIA_STORAGE_URL)}
    if _MEDIA_STORAGE_URL
    else {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"file_permissions_mode": FILE_MODE, "directory_permissions_mode": FOLDER_MODE},
    },
    "staticfiles": {
        "BACKEND": "devportal.lib.static_files.HashedNamesStorage"
        if EMBEDDED
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 256 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 200
FILE_UPLOAD_HANDLERS = [
    "devportal.lib.uploads.SizeLimitUploadHandler",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

# --- Security headers ------------------------------------------------------------------------------------

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if _HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS: bool = env.bool("HSTS_INCLUDE_SUBDOMAINS", _HTTPS)
SECURE_HSTS_PRELOAD: bool = env.bool("HSTS_PRELOAD", _HTTPS)
SECURE_SSL_REDIRECT: bool = env.bool("SSL_REDIRECT", _HTTPS)
SECURE_REDIRECT_EXEMPT = [r"^health/"]
TRUSTED_PROXIES: list[str] = env.list("TRUSTED_PROXIES", default=[])
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXIES else None
X_FRAME_OPTIONS = "DENY"
CSRF_TRUSTED_ORIGINS = sorted({AUTH_URL, BASE_URL, ADMIN_URL or AUTH_URL})
CSRF_FAILURE_VIEW = "accounts.views.stale_forms.csrf_failure"

# --- People (django-allauth) -----------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.Account"
AUTHENTICATION_BACKENDS = [
    "allauth.account.auth_backends.AuthenticationBackend",
    "devportal.console.permissions.RoleBackend",  # what operators and reviewers may do in the admin; signs nobody in
]
PASSWORD_HASHERS = ["devportal.lib.passwords.BoundedPBKDF2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "resume"  # back to the app whose request is pending, else to the profile
LOGOUT_REDIRECT_URL = "signed_out"
ACCOUNT_ADAPTER = "accounts.adapter.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_SIGNUP_FORM_CLASS = "accounts.signup.NamesForm"
ACCOUNT_FORMS = {
    "change_password": "accounts.forms.ChangePasswordForm",
    "login": "accounts.forms.LoginForm",
    "reauthenticate": "accounts.forms.ReauthenticateForm",
    "signup": "accounts.forms.SignupForm",
    "reset_password": "accounts.leaving.forms.ResetPasswordForm",
}
# allauth keys some of its limits with the Host header; ours are in accounts/guesses.py and devportal/lib/ratelimit/.
ACCOUNT_RATE_LIMITS = MFA_RATE_LIMITS = False
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_VERIFICATION_BY_CODE_ENABLED = True
# How many further codes, as good as any number: what bounds them is MAILS_PER_RECIPIENT_PER_DAY, and a pause.
ACCOUNT_EMAIL_VERIFICATION_SUPPORTS_RESEND = 1000
# Only a new address could be changed, which would tell it from a known one; "Cancel" starts over.
ACCOUNT_EMAIL_VERIFICATION_SUPPORTS_CHANGE = False
ACCOUNT_PASSWORD_RESET_BY_CODE_ENABLED = True
ACCOUNT_EMAIL_VERIFICATION_BY_CODE_TIMEOUT = ACCOUNT_PASSWORD_RESET_BY_CODE_TIMEOUT = 15 * 60
# Wrong codes, of one mail. Each further code is a mail, of which there are a few a day.
ACCOUNT_EMAIL_VERIFICATION_BY_CODE_MAX_ATTEMPTS = ACCOUNT_PASSWORD_RESET_BY_CODE_MAX_ATTEMPTS = 3
ACCOUNT_LOGIN_ON_PASSWORD_RESET = True
ACCOUNT_CHANGE_EMAIL = True
# Each change has one notice, ours (accounts/activity/).
ACCOUNT_EMAIL_NOTIFICATIONS = False
ACCOUNT_EMAIL_SUBJECT_PREFIX = f"[{SERVICE_NAME}] "
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if _HTTPS else "http"
ACCOUNT_USER_DISPLAY = "accounts.profile.display_name"
MFA_ADAPTER = "accounts.adapter.MfaAdapter"
MFA_FORMS = {
    "add_webauthn": "accounts.factors.forms.AddWebAuthnForm",
    "authenticate": "accounts.forms.MFAAuthenticateForm",
    "reauthenticate": "accounts.forms.MFAReauthenticateForm",
    "authenticate_webauthn": "accounts.key_forms.AuthenticateKeyForm",
    "login_webauthn": "accounts.key_forms.LoginKeyForm",
    "reauthenticate_webauthn": "accounts.key_forms.ReauthenticateKeyForm",
    "signup_webauthn": "accounts.factors.forms.SignupWebAuthnForm",
}
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_PASSKEY_SIGNUP_ENABLED = True
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_TOTP_ISSUER = SERVICE_NAME
MFA_TOTP_TOLERANCE = 1
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not _HTTPS

# --- OpenID Connect (django-oauth-toolkit) ---------------------------------------------------------------

OAUTH2_PROVIDER_APPLICATION_MODEL = "oidc.Client"
OAUTH2_PROVIDER_GRANT_MODEL = "oidc.AuthorizationCode"
OAUTH2_PROVIDER_ACCESS_TOKEN_MODEL = "oidc.AccessToken"
OAUTH2_PROVIDER_REFRESH_TOKEN_MODEL = "oidc.RefreshToken"
OAUTH2_PROVIDER_ID_TOKEN_MODEL = "oidc.IDToken"
OAUTH2_PROVIDER: dict[str, Any] = {
    "OAUTH2_BACKEND_CLASS": "oidc.server.Backend",
    "OIDC_SERVER_CLASS": "oidc.server.Server",
    "OAUTH2_VALIDATOR_CLASS": "oidc.validator.Validator",
    "SCOPES_BACKEND_CLASS": "oidc.scopes.ScopesBackend",
    "APPLICATION_ADMIN_CLASS": "oidc.admin.ClientAdmin",
    "GRANT_ADMIN_CLASS": "oidc.admin.HiddenModelAdmin",
    "ACCESS_TOKEN_ADMIN_CLASS": "oidc.admin.TokenAdmin",
    "REFRESH_TOKEN_ADMIN_CLASS": "oidc.admin.TokenAdmin",
    "ID_TOKEN_ADMIN_CLASS": "oidc.admin.HiddenModelAdmin",
    "OIDC_ENABLED": True,
    "OIDC_ISS_ENDPOINT": ISSUER,
    # The library asks only whether there is a key here; the keys themselves are rows (oidc/signing_keys/keyring.py).
    "OIDC_RSA_PRIVATE_KEY": "",
    "OIDC_RP_INITIATED_LOGOUT_ENABLED": True,
    "OIDC_RP_INITIATED_LOGOUT_DELETE_TOKENS": False,
    "ACCESS_TOKEN_GENERATOR": "oidc.tokens.access_tokens.generate_access_token",
    "REFRESH_TOKEN_GENERATOR": "oidc.tokens.refresh_tokens.generate_refresh_token",
    "AUTHORIZATION_CODE_EXPIRE_SECONDS": AUTHORIZATION_CODE_SECONDS,
    "ACCESS_TOKEN_EXPIRE_SECONDS": ACCESS_TOKEN_SECONDS,
    "ID_TOKEN_EXPIRE_SECONDS": ID_TOKEN_SECONDS,
    "REFRESH_TOKEN_EXPIRE_SECONDS": REFRESH_TOKEN_SECONDS,
    "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": 0,  # ours is REFRESH_GRACE_SECONDS
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

# Where profiles and plans live, if not here (docs/sources.md, docs/plans.md).
PROFILE_SOURCE_URL: str = env.str("PROFILE_SOURCE_URL", "")
PLAN_SOURCE_URL: str = env.str("PLAN_SOURCE_URL", "")
SOURCE_TOKEN: str = env.str("SOURCE_TOKEN", "")

# Whom to tell of a vulnerability, in /.well-known/security.txt (RFC 9116): addresses and URLs; none: 404.
SECURITY_CONTACT: list[str] = env.list("SECURITY_CONTACT", default=[])
# An https:// URL: how reports of vulnerabilities are handled; none: the file has no Policy.
SECURITY_POLICY: str = env.str("SECURITY_POLICY", "")

# With this secret a billing system signs what it reports to /hooks/billing (docs/plans.md); none: nobody reports.
BILLING_SECRET: str = env.str("BILLING_SECRET", "")

# What each worker process sets up for itself (devportal/wsgi.py).
WORKER_STARTS = [
    "devportal.lib.postgres.limits.apply_to_requests",
    "api.usage.recording.flush_at_exit",
    "api.usage.recording.send_when_idle",
    "devportal.lib.connection_health.look_after_slots",
    "oidc.signing_keys.keyring.preload_keyring",  # parsing a private key takes longer than answering a request
    "devportal.console.search.sections.preload",  # rendering every page takes longer than anybody waits
    "devportal.lib.garbage.freeze_loaded_objects",
]

# --- Requests that leave the service (docs/domains.md) -----------------------------------------------------

# Name servers, `address:port`; none: the system's.
DNS_SERVERS: list[str] = env.list("DNS_SERVERS", default=[])
# For trying reviews on one machine: a name that is loopback is asked at this port, by plain http; 0: refused.
OUTBOUND_LOOPBACK_PORT: int = env.int("OUTBOUND_LOOPBACK_PORT", 0)

# --- Seen from outside (docs/monitoring.md) ---------------------------------------------------------------

# Ports of the metrics of `manage.py serve`, Celery's worker and beat; 0: none.
METRICS_ADDRESS: str = env.str("METRICS_ADDRESS", "127.0.0.1")
METRICS_PORT: int = env.int("METRICS_PORT", 0)
WORKER_METRICS_PORT: int = env.int("WORKER_METRICS_PORT", 0)
BEAT_METRICS_PORT: int = env.int("BEAT_METRICS_PORT", 0)
# The OpenTelemetry SDK reads it, and its other variables, by itself.
OTEL_EXPORTER_OTLP_ENDPOINT: str = env.str("OTEL_EXPORTER_OTLP_ENDPOINT", "")

# --- The admin (django-unfold) ---------------------------------------------------------------------------

# Whether who may enter has to have a second factor, and to have used it in this session; by a callable that returns
# whether it is missing, and the page that leads to it.
ADMIN_SECOND_FACTOR: bool = env.bool("ADMIN_SECOND_FACTOR", not EMBEDDED)
ADMIN_SECOND_FACTOR_MISSING = "accounts.factors.staff.is_second_factor_missing"
ADMIN_SECOND_FACTOR_PAGE = "staff_second_factor"
UNFOLD = theme.unfold_settings(SERVICE_NAME, admin_lists.SIDEBAR)
UNFOLD["DASHBOARD_CALLBACK"] = "devportal.console.operations.overview.add_overview"
ADMIN_RELATED_LISTS = admin_lists.RELATED
ADMIN_HISTORY_LIST = admin_lists.HISTORY

# --- Checks and logs -------------------------------------------------------------------------------------

SILENCED_SYSTEM_CHECKS = [
    # Widely used clients build `//.well-known/…` from an issuer that ends in a slash; that path answers too.
    "urls.W002",
]

# Lines that one process writes about refused requests (4xx) in a minute: strangers must not fill the disk.
REFUSALS_LOGGED_PER_MINUTE: int = env.int("REFUSALS_LOGGED_PER_MINUTE", 300)
LOG_LEVEL: str = env.str("LOG_LEVEL", "INFO")
LOG_FORMAT: str = env.str("LOG_FORMAT", "line")  # or json
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "no_secrets": {"()": "devportal.lib.logs.RedactingFilter"},
        "request": {"()": "devportal.lib.logs.RequestIdFilter"},
        "refusals": {"()": "devportal.lib.logs.RefusalFilter", "per_minute": REFUSALS_LOGGED_PER_MINUTE},
        "outages": {"()": "devportal.lib.outages.OutageFilter"},
    },
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"},
        "json": {"()": "devportal.lib.json_logs.RedactingJsonFormatter"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "filters": ["refusals", "request", "outages", "no_secrets"],
            "formatter": "json" if LOG_FORMAT == "json" else "line",
        }
    },
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        "django": {"handlers": ["stderr"], "level": LOG_LEVEL, "propagate": False},
        # Below INFO these two print codes, tokens and secrets.
        "oauthlib": {"level": "INFO"},
        "oauth2_provider": {"level": "INFO"},
        # Below INFO it prints the whole context of a page whose template names what is not there.
        "django.template": {"level": "INFO"},
        # It would print the signatures of calls to the object store.
        "botocore": {"level": "INFO"},
        # A line for each task that went well, twice every ten seconds; what fails is an error.
        "celery.app.trace": {"level": "WARNING"},
    },
}
