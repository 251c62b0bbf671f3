"""Every variable that the service reads from the environment, with its default and its bounds.

`docs/settings.md` lists them for operators. With no variables at all this is the embedded environment: SQLite,
process-local counters and mail kept as files, all under DATA_DIR. `ENVIRONMENT=production` reads PostgreSQL, Redis,
mail and secrets from the environment. The system checks in `core/settings_checks.py` and `oidc/checks.py` prevent a
start with a dangerous combination.
"""

from email.utils import quote
from pathlib import Path

from core.database.postgres.connection import POOLINGS
from core.environment import Env, create_private_folder, embedded_secret, host_of
from devportal import __version__

env = Env()
# For the checks (core/settings_checks.py): the numbers, their bounds, and the variables that could not be read.
NUMBERS, NUMBER_BOUNDS, UNREADABLE_SETTINGS = env.numbers, env.bounds, env.problems

PROJECT_DIR = Path(__file__).resolve().parents[2]
ENVIRONMENT: str = env.str("ENVIRONMENT", "embedded")
EMBEDDED = ENVIRONMENT == "embedded"
DEBUG: bool = env.bool("DEBUG", False)
DATA_DIR = Path(env.str("DATA_DIR", str(PROJECT_DIR / ".data"))).resolve()
if EMBEDDED:
    UNREADABLE_SETTINGS.extend(create_private_folder(DATA_DIR))

# --- The service and its public addresses ----------------------------------------------------------------

VERSION = __version__
SERVICE_NAME: str = env.str("SERVICE_NAME", "Openport")
if not SERVICE_NAME.isprintable():
    UNREADABLE_SETTINGS.append("SERVICE_NAME must be a name in one line.")
    SERVICE_NAME = "Openport"
PORT = env.int("PORT", 8000, between=(1, 65_535))
AUTH_URL: str = env.str("AUTH_URL", f"http://localhost:{PORT}").rstrip("/")
BASE_URL: str = env.str("BASE_URL", f"http://localhost:{PORT}").rstrip("/")
# The URL of /admin/. Empty: AUTH_URL.
ADMIN_URL: str = env.str("ADMIN_URL", "").rstrip("/")
# OpenID Connect Core 2: the issuer is fixed here and never taken from a Host header.
ISSUER = f"{AUTH_URL}/"
CLIENT_ID_PREFIX: str = env.str("CLIENT_ID_PREFIX", "op_client_")
CLIENT_SECRET_PREFIX: str = env.str("CLIENT_SECRET_PREFIX", "op_secret_")
API_KEY_PREFIX: str = env.str("API_KEY_PREFIX", "op_key_")

is_https = AUTH_URL.startswith("https://")
hosts = sorted({host_of(AUTH_URL), host_of(BASE_URL)})
admin_host = [host_of(ADMIN_URL)] if ADMIN_URL else []
ALLOWED_HOSTS: list[str] = env.list(
    "ALLOWED_HOSTS", default=sorted({*hosts, *admin_host}) + (["127.0.0.1"] if EMBEDDED else [])
)

# Links on every page and in emails: help and the service's own terms. Empty: no link.
SUPPORT_EMAIL: str = env.str("SUPPORT_EMAIL", "")
HELP_URL: str = env.str("HELP_URL", "")
PRIVACY_URL: str = env.str("PRIVACY_URL", "")
TERMS_URL: str = env.str("TERMS_URL", "")
PLANS_URL: str = env.str("PLANS_URL", "")  # the page where people compare and change plans

# An .mmdb file with the places of IP addresses (core/http/places.py). Empty: no places are shown.
GEOIP_DATABASE: str = env.str("GEOIP_DATABASE", "")

# --- Secrets ---------------------------------------------------------------------------------------------

if EMBEDDED:
    SECRET_KEY: str = env.str("SECRET_KEY", "") or embedded_secret(DATA_DIR, "secret_key")
    KEY_ENCRYPTION_KEY: str = env.str("KEY_ENCRYPTION_KEY", "") or embedded_secret(DATA_DIR, "key_encryption_key")
else:
    SECRET_KEY = env.str("SECRET_KEY", "")
    KEY_ENCRYPTION_KEY = env.str("KEY_ENCRYPTION_KEY", "")
# Former keys: values signed or encrypted with them are still accepted (docs/secrets.md#rotating-secret_key).
SECRET_KEY_FALLBACKS: list[str] = env.secrets("SECRET_KEY_FALLBACKS")
KEY_ENCRYPTION_KEY_FALLBACKS: list[str] = env.secrets("KEY_ENCRYPTION_KEY_FALLBACKS")

# --- Lifetimes and limits, all in one place (seconds unless the name says otherwise) ---------------------
# `between` are the accepted values: 0 would lock people out, and a very high limit has no effect.

# RFC 6749 §4.1.2: at most ten minutes.
AUTHORIZATION_CODE_SECONDS = env.int("AUTHORIZATION_CODE_SECONDS", 60, between=(10, 10 * 60))
ACCESS_TOKEN_SECONDS = env.int("ACCESS_TOKEN_SECONDS", 15 * 60, between=(60, 24 * 3600))
ID_TOKEN_SECONDS = env.int("ID_TOKEN_SECONDS", 5 * 60, between=(60, 24 * 3600))
REFRESH_TOKEN_SECONDS = env.int("REFRESH_TOKEN_SECONDS", 30 * 24 * 3600, between=(3600, 365 * 24 * 3600))
# A superseded refresh token that is used again within this time counts as sent twice; later, as stolen.
REFRESH_REUSE_SECONDS = env.int("REFRESH_REUSE_SECONDS", 10, between=(0, 5 * 60))
# Within this time, a superseded refresh token of any client gets a new pair, if nobody has used the pair that replaced
# it. 0: never. Clients that forgive lost responses get LOST_RESPONSE_SECONDS, which their settings page names.
REFRESH_GRACE_SECONDS = env.int("REFRESH_GRACE_SECONDS", 0, between=(0, 5 * 60))
LOST_RESPONSE_SECONDS = 30
# How long a person may take from the app's request to their answer on the consent page.
PENDING_REQUEST_SECONDS = env.int("PENDING_REQUEST_SECONDS", 3600, between=(5 * 60, 24 * 3600))
# How long the session of a browser lasts if nobody is signed in. A code from an email is valid for 15 minutes.
ANONYMOUS_SESSION_SECONDS = max(PENDING_REQUEST_SECONDS, 3600)
UNVERIFIED_APP_PEOPLE = env.int(
    "UNVERIFIED_APP_PEOPLE", 100, between=(1, 1_000_000)
)  # not counting the project's owners
# Clients may cache the published keys for ten minutes (oidc/views/discovery.py).
SIGNING_KEY_PUBLISH_AHEAD_SECONDS = env.int(
    "SIGNING_KEY_PUBLISH_AHEAD_SECONDS", 2 * 3600, between=(15 * 60, 30 * 24 * 3600)
)
SIGNING_KEY_LIFETIME_SECONDS = env.int(
    "SIGNING_KEY_LIFETIME_SECONDS", 90 * 24 * 3600, between=(24 * 3600, 2 * 365 * 24 * 3600)
)
SIGNING_KEY_REFRESH_SECONDS = env.int("SIGNING_KEY_REFRESH_SECONDS", 60, between=(1, 10 * 60))
# Sign-in endpoints that apps call, per minute: requests of one client, and failed requests from one IP address.
CLIENT_REQUESTS_PER_MINUTE = env.int("CLIENT_REQUESTS_PER_MINUTE", 600, between=(1, 10_000_000))
FAILURES_PER_MINUTE = env.int("FAILURES_PER_MINUTE", 30, between=(1, 100_000))
# Developer API (docs/api.md#limits): calls of one key or app, calls for one person within an app (and, separately,
# requests for one person to the sign-in endpoints that apps call), and invalid credentials from one IP address.
API_CALLS_PER_MINUTE = env.int("API_CALLS_PER_MINUTE", 600, between=(1, 10_000_000))
API_CALLS_PER_PERSON_PER_MINUTE = env.int("API_CALLS_PER_PERSON_PER_MINUTE", 120, between=(1, 10_000_000))
API_GUESSES_PER_MINUTE = env.int("API_GUESSES_PER_MINUTE", 300, between=(1, 100_000))
# Sign-in pages (docs/limits.md): passwords checked for one account, from one IP address or from known browsers.
SIGN_INS_PER_MINUTE = env.int("SIGN_INS_PER_MINUTE", 30, between=(1, 10_000))
# Wrong passwords, and separately wrong codes of two-step verification: from one IP address; from one IP address for one
# account, in five minutes; for one account from anywhere; and in five minutes from a browser that signed in before.
GUESSES_PER_ADDRESS_PER_MINUTE = env.int("GUESSES_PER_ADDRESS_PER_MINUTE", 10, between=(1, 10_000))
GUESSES_PER_ACCOUNT_AND_ADDRESS = env.int("GUESSES_PER_ACCOUNT_AND_ADDRESS", 5, between=(1, 1000))
GUESSES_PER_ACCOUNT_PER_HOUR = env.int("GUESSES_PER_ACCOUNT_PER_HOUR", 100, between=(1, 10_000))
GUESSES_PER_KNOWN_BROWSER = env.int("GUESSES_PER_KNOWN_BROWSER", 10, between=(1, 1000))
# Wrong codes of two-step verification without a right one. Then each browser has to verify the mailbox first (NIST SP
# 800-63B, 3.2.2: at most 100).
WRONG_CODES_PER_ACCOUNT = env.int("WRONG_CODES_PER_ACCOUNT", 100, between=(5, 100))
# How long a person can stop the removal of their two-step verification, and how long after the end of a recovery they
# can't start another one themselves.
ACCOUNT_RECOVERY_HOURS = env.int("ACCOUNT_RECOVERY_HOURS", 72, between=(1, 720))
ACCOUNT_RECOVERY_BY_MAIL_HOURS = env.int("ACCOUNT_RECOVERY_BY_MAIL_HOURS", 168, between=(1, 720))
ACCOUNT_RECOVERY_PAUSE_DAYS = env.int("ACCOUNT_RECOVERY_PAUSE_DAYS", 30, between=(1, 365))
# Passkey challenges for sign-in pages, and sign-ins with a passkey, from one IP address.
PASSKEY_CHALLENGES_PER_MINUTE = env.int("PASSKEY_CHALLENGES_PER_MINUTE", 120, between=(1, 10_000))
# Searches of the docs from one IP address.
DOCS_SEARCHES_PER_MINUTE = env.int("DOCS_SEARCHES_PER_MINUTE", 120, between=(1, 10_000))
KNOWN_BROWSER_DAYS = env.int("KNOWN_BROWSER_DAYS", 365, between=(1, 3650))
# Emails to one mailbox that anyone can trigger, however many IP addresses request them.
MAILS_PER_RECIPIENT_PER_DAY = env.int("MAILS_PER_RECIPIENT_PER_DAY", 6, between=(1, 1000))
# Emails to one person about sign-ins from new browsers.
NEW_BROWSER_MAILS_PER_DAY = env.int("NEW_BROWSER_MAILS_PER_DAY", 20, between=(1, 1000))
# Submissions of each form whose view is marked as limited (core/limits/middleware.py).
FORMS_PER_ADDRESS_PER_MINUTE = env.int("FORMS_PER_ADDRESS_PER_MINUTE", 20, between=(1, 10_000))
FORMS_PER_PERSON_PER_MINUTE = env.int("FORMS_PER_PERSON_PER_MINUTE", 60, between=(1, 10_000))
MAILING_FORMS_PER_PERSON_PER_DAY = env.int("MAILING_FORMS_PER_PERSON_PER_DAY", 50, between=(1, 10_000))
# Reports of apps to the reviewers: by one person, and from one IP address about one app.
REPORTS_PER_PERSON_PER_DAY = env.int("REPORTS_PER_PERSON_PER_DAY", 20, between=(1, 10_000))
REPORTS_PER_ADDRESS_AND_APP_PER_DAY = env.int("REPORTS_PER_ADDRESS_AND_APP_PER_DAY", 20, between=(1, 10_000))
USAGE_DAYS = env.int("USAGE_DAYS", 90, between=(1, 3650))
# How long the console lists each call and each step of a sign-in (days).
REQUEST_LOG_DAYS = env.int("REQUEST_LOG_DAYS", 30, between=(1, 3650))
SIGN_IN_LOG_DAYS = env.int("SIGN_IN_LOG_DAYS", 30, between=(1, 3650))
# How long the counts of sign-ins are kept, by hour and by day (days).
SIGN_IN_HOUR_DAYS = env.int("SIGN_IN_HOUR_DAYS", 35, between=(8, 3650))
SIGN_IN_COUNT_DAYS = env.int("SIGN_IN_COUNT_DAYS", 400, between=(90, 3650))
# Entries per minute in one client's sign-in log, so that a flood of rejected requests can't fill the disk.
SIGN_IN_LOG_PER_MINUTE = env.int("SIGN_IN_LOG_PER_MINUTE", 120, between=(1, 100_000))
# How long the audit trail and the ids of applied billing reports are kept (days; 0: forever).
AUDIT_DAYS = env.int("AUDIT_DAYS", 730, between=(0, 36_500))
BILLING_EVENT_DAYS = env.int("BILLING_EVENT_DAYS", 730, between=(0, 36_500))
# How long people can see the activity of their account (days).
SECURITY_EVENT_DAYS = env.int("SECURITY_EVENT_DAYS", 365, between=(0, 36_500))
# How long a change of email address can be undone from the old email address (days).
ADDRESS_REVERSAL_DAYS = env.int("ADDRESS_REVERSAL_DAYS", 7, between=(0, 365))
# Data export: how long its file is kept (days), and how many exports a person may request in 24 hours.
EXPORT_DAYS = env.int("EXPORT_DAYS", 7, between=(1, 365))
EXPORTS_PER_DAY = env.int("EXPORTS_PER_DAY", 3, between=(1, 1000))
# How long people can restore their deleted account (days; 0: it is removed immediately).
ACCOUNT_DELETION_DAYS = env.int("ACCOUNT_DELETION_DAYS", 14, between=(0, 365))
# How long a deleted project can be restored (days), and the maximum number of various objects.
PROJECT_RESTORE_DAYS = env.int("PROJECT_RESTORE_DAYS", 30, between=(1, 3650))
PROJECTS_PER_PERSON = env.int("PROJECTS_PER_PERSON", 50, between=(1, 100_000))
CLIENTS_PER_PROJECT = env.int("CLIENTS_PER_PROJECT", 1000, between=(1, 100_000))
KEYS_PER_PROJECT = env.int("KEYS_PER_PROJECT", 200, between=(1, 100_000))
MEMBERS_PER_PROJECT = env.int("MEMBERS_PER_PROJECT", 100, between=(1, 100_000))  # including invited people
DOMAINS_PER_PROJECT = env.int("DOMAINS_PER_PROJECT", 50, between=(1, 1000))
# How long a proven domain still counts after its proof went missing (days; docs/domains.md#proofs).
DOMAIN_GRACE_DAYS = env.int("DOMAIN_GRACE_DAYS", 7, between=(1, 90))
# Domain checks that one person may request: each queries a name server and a web server that they choose.
DOMAIN_CHECKS_PER_HOUR = env.int("DOMAIN_CHECKS_PER_HOUR", 30, between=(1, 10_000))
PROJECT_INVITATION_DAYS = env.int("PROJECT_INVITATION_DAYS", 7, between=(1, 365))
# App reviews: a sensitive scope needs a second approval if the project has more people than this (0: always; people
# are counted up to 10,000); how long a rejection can be appealed; after how long an app is reviewed again
# (days; 0: never).
REVIEW_SECOND_KEY_PEOPLE = env.int("REVIEW_SECOND_KEY_PEOPLE", 1000, between=(0, 10_000))
APPEAL_DAYS = env.int("APPEAL_DAYS", 30, between=(1, 365))
RE_REVIEW_DAYS = env.int("RE_REVIEW_DAYS", 365, between=(0, 3650))
# Receivers of events that are slow or new, to which workers send at the same time (docs/operations.md#events-to-apps).
SLOW_RECEIVERS_AT_ONCE = env.int("SLOW_RECEIVERS_AT_ONCE", 1, between=(1, 1000))
# Deliveries that may wait for the receivers of one project, and about one person for one receiver.
DELIVERIES_PER_PROJECT = env.int("DELIVERIES_PER_PROJECT", 100_000, between=(100, 10_000_000))
DELIVERIES_PER_PERSON = env.int("DELIVERIES_PER_PERSON", 200, between=(10, 100_000))
# How long events to apps are kept, delivered or not (days; docs/events.md#deliveries).
DELIVERY_DAYS = env.int("DELIVERY_DAYS", 30, between=(2, 365))
OUTBOX_DAYS = env.int("OUTBOX_DAYS", 30, between=(1, 3650))
INVITATION_DAYS = env.int("INVITATION_DAYS", 7, between=(1, 365))
# Within how many days reviewers intend to respond. Older submissions are late (docs/review.md#the-queue).
REVIEW_TARGET_DAYS = env.int("REVIEW_TARGET_DAYS", 5, between=(1, 365))
# The same for cases, such as reports and lost domains (docs/review.md#cases).
CASE_TARGET_DAYS = env.int("CASE_TARGET_DAYS", 3, between=(1, 365))
INVITATIONS_PER_HOUR = env.int("INVITATIONS_PER_HOUR", 20, between=(1, 10_000))  # per family or project
FAMILY_MEMBERS = env.int("FAMILY_MEMBERS", 6, between=(1, 1000))  # including its owner
# Maximum size of an uploaded logo, and of a person's picture.
LOGO_MAX_BYTES = env.int("LOGO_MAX_BYTES", 1024 * 1024, between=(1024, 100 * 1024 * 1024))
PICTURE_MAX_BYTES = env.int("PICTURE_MAX_BYTES", 5 * 1024 * 1024, between=(1024, 100 * 1024 * 1024))
# `manage.py serve`: how long a request waits for one of the few slots.
SLOT_WAIT_SECONDS = env.float("SLOT_WAIT_SECONDS", 1.5, between=(1, 5 * 60))
# For each process: threads that hash passwords, and how long a request waits for one of them.
PASSWORD_THREADS = env.int("PASSWORD_THREADS", 1, between=(1, 64))
PASSWORD_WAIT_SECONDS = env.float("PASSWORD_WAIT_SECONDS", 50, between=(1, 600))

# --- Database, Redis, sessions ---------------------------------------------------------------------------

# Empty: an SQLite file in DATA_DIR.
database_url: str = env.str("DATABASE_URL", "")
# How long to wait for PostgreSQL (docs/operations.md#time-outs); 0: forever. A request waits for a slot, and then for
# statements including their locks. The total has to stay below 5 seconds.
DATABASE_CONNECT_TIMEOUT_SECONDS = env.int("DATABASE_CONNECT_TIMEOUT_SECONDS", 2, between=(0, 3600))
DATABASE_STATEMENT_TIMEOUT_SECONDS = env.float("DATABASE_STATEMENT_TIMEOUT_SECONDS", 2.5, between=(0, 86_400))
DATABASE_LOCK_TIMEOUT_SECONDS = env.float("DATABASE_LOCK_TIMEOUT_SECONDS", 1, between=(0, 86_400))
DATABASE_IDLE_TRANSACTION_TIMEOUT_SECONDS = env.float(
    "DATABASE_IDLE_TRANSACTION_TIMEOUT_SECONDS", 30, between=(0, 86_400)
)
DATABASE_TASK_STATEMENT_TIMEOUT_SECONDS = env.float("DATABASE_TASK_STATEMENT_TIMEOUT_SECONDS", 60, between=(0, 86_400))
DATABASE_POOLING = env.choice("DATABASE_POOLING", "none", POOLINGS)  # docs/operations.md#pgbouncer
# A replica for pages of logs and usage (core/database/postgres/replica.py). Empty: they use the main database.
REPLICA_DATABASE_URL: str = env.str("REPLICA_DATABASE_URL", "")
REPLICA_MAX_LAG_SECONDS = env.int("REPLICA_MAX_LAG_SECONDS", 30, between=(0, 86_400))

REDIS_URL: str = env.str("REDIS_URL", "")
# A slow store must not slow down everything: a slower call counts as failed, and the process counts on its own.
REDIS_TIMEOUT_SECONDS = env.float("REDIS_TIMEOUT_SECONDS", 0.05)
BROKER_URL: str = env.str("BROKER_URL", "")  # for Celery; empty: REDIS_URL

SESSION_COOKIE_AGE = env.int("SESSION_SECONDS", 14 * 24 * 3600, between=(5 * 60, 365 * 24 * 3600))
# After how long without a request a session ends, and a session that opened the admin. Activity is stored once in
# ten minutes, so less than an hour could end sessions that are in use.
SESSION_IDLE_SECONDS = env.int("SESSION_IDLE_SECONDS", 14 * 24 * 3600, between=(3600, 365 * 24 * 3600))
ADMIN_IDLE_SECONDS = env.int("ADMIN_IDLE_SECONDS", 12 * 3600, between=(3600, 30 * 24 * 3600))

# --- Mail and uploaded files -----------------------------------------------------------------------------

# In quotes, a name may contain every character, such as a comma. An IPv6 address is no host of an email address.
sender_host = next((host for host in hosts if ":" not in host), "localhost")
DEFAULT_FROM_EMAIL: str = env.str("DEFAULT_FROM_EMAIL", f'"{quote(SERVICE_NAME)}" <no-reply@{sender_host}>')
email_url: str = env.str("EMAIL_URL", "")
# An object store for several machines, with its key (docs/operations.md#static-and-uploaded-files). Empty: MEDIA_ROOT.
media_storage_url: str = env.str("MEDIA_STORAGE_URL", "")

# --- Security --------------------------------------------------------------------------------------------

SECURE_HSTS_INCLUDE_SUBDOMAINS: bool = env.bool("HSTS_INCLUDE_SUBDOMAINS", is_https)
SECURE_HSTS_PRELOAD: bool = env.bool("HSTS_PRELOAD", is_https)
SECURE_SSL_REDIRECT: bool = env.bool("SSL_REDIRECT", is_https)
TRUSTED_PROXIES: list[str] = env.list("TRUSTED_PROXIES", default=[])
# Whether people need two-step verification in their current session to enter the admin.
ADMIN_SECOND_FACTOR: bool = env.bool("ADMIN_SECOND_FACTOR", not EMBEDDED)
# Contacts for vulnerabilities in /.well-known/security.txt (RFC 9116): email addresses and URLs. Empty: 404.
SECURITY_CONTACT: list[str] = env.list("SECURITY_CONTACT", default=[])
# An https:// URL that says how reports of vulnerabilities are handled. Empty: the file has no Policy.
SECURITY_POLICY: str = env.str("SECURITY_POLICY", "")

# What happens to an API key or a client secret that someone reports as leaked: "revoke" or "flag".
LEAKED_CREDENTIALS: str = env.str("LEAKED_CREDENTIALS", "revoke")
# The public keys of secret scanners, as GitHub publishes them: the URL of the document, or the document itself
# (api/leak_report_keys.py). Empty: no reports from scanners.
LEAK_REPORT_KEYS: str = env.str("LEAK_REPORT_KEYS", "")

# --- Other services --------------------------------------------------------------------------------------

# External sources of profiles and plans (docs/sources.md, docs/plans.md).
PROFILE_SOURCE_URL: str = env.str("PROFILE_SOURCE_URL", "")
PLAN_SOURCE_URL: str = env.str("PLAN_SOURCE_URL", "")
SOURCE_TOKEN: str = env.str("SOURCE_TOKEN", "")

# The secret with which a billing system signs its reports to /hooks/billing (docs/plans.md). Empty: no reports.
BILLING_SECRET: str = env.str("BILLING_SECRET", "")

# --- Requests that leave the service (docs/domains.md) -----------------------------------------------------

# Name servers as `IP address:port`. Empty: the system's.
DNS_SERVERS: list[str] = env.list("DNS_SERVERS", default=[])
# For trying reviews on one machine: loopback names are requested at this port over plain http. 0: rejected.
OUTBOUND_LOOPBACK_PORT = env.int("OUTBOUND_LOOPBACK_PORT", 0, between=(0, 65_535))

# --- Seen from outside (docs/monitoring.md) ---------------------------------------------------------------

# Ports for the metrics of `manage.py serve`, Celery's worker and beat. 0: no metrics.
METRICS_ADDRESS: str = env.str("METRICS_ADDRESS", "127.0.0.1")
METRICS_PORT = env.int("METRICS_PORT", 0)
WORKER_METRICS_PORT = env.int("WORKER_METRICS_PORT", 0)
BEAT_METRICS_PORT = env.int("BEAT_METRICS_PORT", 0)
# The OpenTelemetry SDK reads it and its other variables directly.
OTEL_EXPORTER_OTLP_ENDPOINT: str = env.str("OTEL_EXPORTER_OTLP_ENDPOINT", "")

# --- Logs ------------------------------------------------------------------------------------------------

# Log lines per minute and process about rejected requests (4xx), so that strangers can't fill the disk.
REFUSALS_LOGGED_PER_MINUTE = env.int("REFUSALS_LOGGED_PER_MINUTE", 300, between=(1, 1_000_000))
LOG_LEVEL: str = env.str("LOG_LEVEL", "INFO").upper()
if LOG_LEVEL not in (levels := ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")):
    UNREADABLE_SETTINGS.append(f"LOG_LEVEL must be one of {', '.join(levels)}.")
    LOG_LEVEL = "INFO"
LOG_FORMAT: str = env.str("LOG_FORMAT", "line")  # or json
# Where security events are written as JSON lines (docs/audit-log.md): stdout or the path of a file. Empty: nowhere.
AUDIT_LOG: str = env.str("AUDIT_LOG", "")
# Whether these lines contain email addresses, names and texts that people entered.
AUDIT_LOG_PERSONAL: bool = env.bool("AUDIT_LOG_PERSONAL", False)
