"""Django's own settings, and settings of this project's packages."""

from typing import Any

import django_stubs_ext

from core.database.postgres import connection as postgres
from core.environment import FILE_MODE, FOLDER_MODE
from core.storage import object_store
from devportal.settings.environment import (
    ADMIN_URL,
    AUTH_URL,
    BASE_URL,
    DATA_DIR,
    DATABASE_CONNECT_TIMEOUT_SECONDS,
    DATABASE_POOLING,
    DEFAULT_FROM_EMAIL,
    EMBEDDED,
    PROJECT_DIR,
    REDIS_URL,
    REPLICA_DATABASE_URL,
    TRUSTED_PROXIES,
    database_url,
    email_url,
    env,
    is_https,
    media_storage_url,
)  # fmt: skip

django_stubs_ext.monkeypatch()  # lets ModelAdmin[Account] and similar classes be subscripted at run time

# --- Apps and middleware ---------------------------------------------------------------------------------

INSTALLED_APPS = [
    "devportal.operations",
    "devportal.review",
    "devportal.docs",
    "devportal.console",
    "api",
    "oidc",
    "accounts",
    "unfold.apps.BasicAppConfig",
    "core.admin.apps.ServiceAdminConfig",
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

# Endpoints that programs call. Their requests skip the middleware for pages (core/http/direct_dispatch.py).
DIRECT_DISPATCH_PATHS = (
    "/connect/token", "/connect/userinfo", "/connect/revoke", "/connect/introspect",
    "/connect/forward-auth/", "/.well-known/", "//.well-known/", "/v1/",
)  # fmt: skip
# Proxies may ask with the Host of the API that they protect, and over http within a network.
ANY_HOST_PREFIXES = ("/connect/forward-auth/",)
# Endpoints that handle malformed input themselves, each in its own error format.
MALFORMED_INPUT_PATHS = ("/connect/", "/v1/")
# Where apps send people, maybe in a popup (core/http/headers.py).
POPUP_PREFIXES = ("/connect/",)
# Images that apps show on their own pages. They are the same without cookies, so unreadable ones don't matter.
PATHS_WITHOUT_COOKIES = ("/pictures/", "/logos/")
# The developer API, whose errors have an envelope.
API_PATH = "/v1"
# The docs' page of errors, to which responses link.
ERRORS_PATH = "/docs/errors"
# If AUTH_URL, BASE_URL and ADMIN_URL have separate hosts (core/http/split_hosts.py): the paths and prefixes that
# belong on the hosts of BASE_URL and ADMIN_URL. Everything else belongs on AUTH_URL's host.
API_PATHS = frozenset({"/v1", "/.well-known/oauth-protected-resource", "/hooks/billing", "/hooks/leaked-credentials"})
API_PREFIXES = ("/v1/", "/.well-known/oauth-protected-resource/")
ADMIN_PATHS = frozenset({"/admin"})
ADMIN_PREFIXES = ("/admin/",)
# The documents about APIs (RFC 9728), which may be on AUTH_URL's host too.
PEOPLE_AND_API_PREFIXES = ("/.well-known/oauth-protected-resource/",)
# In addition to static files and health checks.
EVERY_HOST_PATHS = frozenset({"/favicon.ico", "/robots.txt", "/.well-known/security.txt"})
# The only URL of the service itself that a client may register as a redirect URI.
PLAYGROUND_PATH = "/console/playground/callback"
# The only one that may receive a client's events. Nothing is mounted there: deliveries stay within the process.
PLAYGROUND_EVENTS_PATH = "/console/playground/events"

MIDDLEWARE = [
    "core.http.request_id.RequestIdMiddleware",
    "core.http.host_header.HostMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "oidc.protocol.cors.CorsMiddleware",
    "core.http.direct_dispatch.DirectDispatchMiddleware",
    "core.http.headers.PageHeadersMiddleware",
    "core.storage.static_files.StaticFilesMiddleware",
    "core.http.error_pages.MalformedInputMiddleware",
    "core.http.sessions.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "accounts.sessions.browser_sessions.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "core.limits.middleware.RateLimitMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "accounts.entrance.middleware.PeopleMiddleware",
    "core.http.wrong_method.WrongMethodMiddleware",
]

ROOT_URLCONF = "devportal.urls"
WSGI_APPLICATION = "devportal.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = True
FORMAT_MODULE_PATH = "core.formats"
USE_TZ = True

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        # The second folder contains the templates whose names django-allauth sets.
        "DIRS": [PROJECT_DIR / "templates", PROJECT_DIR / "templates" / "accounts"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["core.http.template_tags"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "core.http.context_processors.service",
                "core.http.context_processors.this_host",
                "accounts.sessions.browser_accounts.other_accounts_context",
                "oidc.views.context_processors.pending_client",
                "accounts.mail.recipient_limit.resending",
            ],
        },
    }
]

# --- Database --------------------------------------------------------------------------------------------

DATABASES: dict[str, dict[str, Any]] = {
    "default": (env.database("DATABASE_URL", database_url) if database_url else {})
    or {"ENGINE": "django.db.backends.sqlite3", "NAME": str(DATA_DIR / "db.sqlite3")}
}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = {
        # A transaction takes its write lock at the start, so that one that reads before it writes can't fail halfway.
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        # FULL: committed data survives a power cut as well as a killed process.
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-20000;",
    }
postgres.configure(
    DATABASES["default"],
    pooling=DATABASE_POOLING,
    connect_seconds=DATABASE_CONNECT_TIMEOUT_SECONDS,
)
if REPLICA_DATABASE_URL and (replica := env.database("REPLICA_DATABASE_URL", REPLICA_DATABASE_URL)):
    if replica["ENGINE"].endswith("sqlite3") or DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        env.problems.append("REPLICA_DATABASE_URL must name a replica of DATABASE_URL, and both have to be PostgreSQL.")
    DATABASES["replica"] = replica | {"TEST": {"MIRROR": "default"}}
    postgres.configure(
        DATABASES["replica"],
        pooling=DATABASE_POOLING,
        connect_seconds=DATABASE_CONNECT_TIMEOUT_SECONDS,
    )
    DATABASE_ROUTERS = ["core.database.postgres.replica.ReplicaRouter"]
    MIDDLEWARE.append("core.database.postgres.replica.ReplicaMiddleware")

# --- Cache, sessions -------------------------------------------------------------------------------------
CACHES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "core.limits.store.FailoverCache", "LOCATION": REDIS_URL}
    if REDIS_URL
    else {"BACKEND": "core.limits.store.MemoryCache"}
}

SESSION_ENGINE = "core.http.sessions"  # the database holds hashes of the keys that cookies hold
# Custom names: browsers share cookies between the ports of a host, and an app under test on localhost
# would overwrite `sessionid`.
# With the prefix only this host can set them (docs/security.md#cookies).
cookie_prefix = "__Host-" if is_https else ""
SESSION_COOKIE_NAME = f"{cookie_prefix}openport_session"
CSRF_COOKIE_NAME = f"{cookie_prefix}openport_csrf"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = is_https
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"

# --- Mail ------------------------------------------------------------------------------------------------

SERVER_EMAIL = DEFAULT_FROM_EMAIL
EMAIL_BACKEND: str = "core.mail.DemoBackend"
if email_url:
    vars().update(env.mail_server("EMAIL_URL", email_url))
MAIL_DIR = DATA_DIR / "mail"
if EMAIL_BACKEND == "django.core.mail.backends.smtp.EmailBackend":
    EMAIL_BACKEND = "core.mail.BoundedEmailBackend"
# Seconds to wait for a mail server: for each response; in total until it has accepted the sign-in, and again until
# it has accepted an email.
EMAIL_TIMEOUT = 10
MAIL_DELIVERY_SECONDS = 20

# --- Static and uploaded files ---------------------------------------------------------------------------

STATIC_URL = "/static/"
STATIC_ROOT = None if EMBEDDED else PROJECT_DIR / ".static"
STATICFILES_DIRS = [PROJECT_DIR / "static"]
WHITENOISE_USE_FINDERS = EMBEDDED
WHITENOISE_MAX_AGE = 0 if EMBEDDED else 3600  # for files without a hash in their name
MEDIA_ROOT = DATA_DIR / "media"
MEDIA_URL = "/uploads/"  # never mounted: views serve pictures, because they check who may see them
media_storage = env.object_store(media_storage_url) if media_storage_url else {}
STORAGES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": object_store.BACKEND, "OPTIONS": media_storage}
    if media_storage
    else {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"file_permissions_mode": FILE_MODE, "directory_permissions_mode": FOLDER_MODE},
    },
    "staticfiles": {
        "BACKEND": "core.storage.static_files.HashedNamesStorage"
        if EMBEDDED
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 256 * 1024
FILE_UPLOAD_HANDLERS = [
    "core.http.uploads.SizeLimitUploadHandler",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

# --- Security headers ------------------------------------------------------------------------------------

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = None  # core/http/headers.py sends it, but not on pages that apps open in popups
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if is_https else 0
SECURE_REDIRECT_EXEMPT = [r"^health/", r"^connect/forward-auth/"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXIES else None
X_FRAME_OPTIONS = "DENY"
CSRF_TRUSTED_ORIGINS = sorted({AUTH_URL, BASE_URL, ADMIN_URL or AUTH_URL})
CSRF_FAILURE_VIEW = "oidc.views.authorize.csrf_failure"

# --- People ----------------------------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.Account"
AUTHENTICATION_BACKENDS = [
    "allauth.account.auth_backends.AuthenticationBackend",
    "devportal.operations.permissions.RoleBackend",  # permissions in the admin; signs nobody in
]
PASSWORD_HASHERS = ["core.passwords.BoundedPBKDF2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "resume"  # to the app whose request is pending, otherwise to the account
LOGOUT_REDIRECT_URL = "signed_out"

# --- The admin and the checks -------------------------------------------------------------------------------

# The function that finds out whether a person still needs the two-step verification that ADMIN_SECOND_FACTOR
# requires for the admin, and the page where they set it up or use it.
ADMIN_SECOND_FACTOR_MISSING = "accounts.entrance.staff.is_second_factor_missing"
ADMIN_SECOND_FACTOR_PAGE = "staff_second_factor"

SILENCED_SYSTEM_CHECKS = [
    # Widely used clients build `//.well-known/…` from an issuer that ends in a slash, so this path works as well.
    "urls.W002",
]
