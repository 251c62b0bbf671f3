"""Between which bounds each number of the settings makes sense (docs/settings.md, from and to)."""

MINUTE, HOUR, DAY = 60, 3600, 24 * 3600
YEAR = 365 * DAY
MB = 1024 * 1024

# The least and the most, by variable. A number that is not here must not be negative.
BOUNDS: dict[str, tuple[float, float]] = {
    "PORT": (1, 65_535),
    "OUTBOUND_LOOPBACK_PORT": (0, 65_535),
    # Lifetimes, in seconds.
    "AUTHORIZATION_CODE_SECONDS": (10, 10 * MINUTE),  # RFC 6749 §4.1.2
    "ACCESS_TOKEN_SECONDS": (MINUTE, DAY),
    "ID_TOKEN_SECONDS": (MINUTE, DAY),
    "REFRESH_TOKEN_SECONDS": (HOUR, YEAR),
    "REFRESH_REUSE_SECONDS": (0, 5 * MINUTE),
    "REFRESH_GRACE_SECONDS": (0, 5 * MINUTE),
    "PENDING_REQUEST_SECONDS": (5 * MINUTE, DAY),
    "SESSION_SECONDS": (5 * MINUTE, YEAR),
    # Activity is stored once in ten minutes, so less would end sessions that are used.
    "SESSION_IDLE_SECONDS": (HOUR, YEAR),
    "ADMIN_IDLE_SECONDS": (HOUR, 30 * DAY),
    # Signing keys. A client may keep the published keys for ten minutes (oidc/views/discovery.py).
    "SIGNING_KEY_LIFETIME_SECONDS": (DAY, 2 * YEAR),
    "SIGNING_KEY_PUBLISH_AHEAD_SECONDS": (15 * MINUTE, 30 * DAY),
    "SIGNING_KEY_REFRESH_SECONDS": (1, 10 * MINUTE),
    # How long `manage.py serve` waits, in seconds.
    "SLOT_WAIT_SECONDS": (1, 5 * MINUTE),
    # How long people have to stop a recovery, in hours.
    "ACCOUNT_RECOVERY_HOURS": (1, 720),
    # Within how many days a review should be answered.
    "REVIEW_TARGET_DAYS": (1, 365),
    "CASE_TARGET_DAYS": (1, 365),
    # What is kept, in days.
    "DOMAIN_GRACE_DAYS": (1, 90),
    "APPEAL_DAYS": (1, 365),
    "INVITATION_DAYS": (1, 365),
    "KNOWN_BROWSER_DAYS": (1, 3650),
    "OUTBOX_DAYS": (1, 3650),
    "PROJECT_INVITATION_DAYS": (1, 365),
    "PROJECT_RESTORE_DAYS": (1, 3650),
    "REQUEST_LOG_DAYS": (1, 3650),
    "SIGN_IN_LOG_DAYS": (1, 3650),
    "SIGN_IN_HOUR_DAYS": (8, 3650),
    "SIGN_IN_COUNT_DAYS": (90, 3650),
    "USAGE_DAYS": (1, 3650),
    # Sizes, in bytes.
    "LOGO_MAX_BYTES": (1024, 100 * MB),
    "PICTURE_MAX_BYTES": (1024, 100 * MB),
    # How many. 0 would shut people out, and a limit without an end is none.
    "API_CALLS_PER_MINUTE": (1, 10_000_000),
    "API_CALLS_PER_PERSON_PER_MINUTE": (1, 10_000_000),
    "API_GUESSES_PER_MINUTE": (1, 100_000),
    "CLIENTS_PER_PROJECT": (1, 100_000),
    "CLIENT_REQUESTS_PER_MINUTE": (1, 10_000_000),
    "DOMAINS_PER_PROJECT": (1, 1000),
    "DOMAIN_CHECKS_PER_HOUR": (1, 10_000),
    "FAILURES_PER_MINUTE": (1, 100_000),
    "FAMILY_MEMBERS": (1, 1000),
    "FORMS_PER_ADDRESS_PER_MINUTE": (1, 10_000),
    "FORMS_PER_PERSON_PER_MINUTE": (1, 10_000),
    "GUESSES_PER_ACCOUNT_AND_ADDRESS": (1, 1000),
    "GUESSES_PER_ACCOUNT_PER_HOUR": (1, 10_000),
    "GUESSES_PER_ADDRESS_PER_MINUTE": (1, 10_000),
    "GUESSES_PER_KNOWN_BROWSER": (1, 1000),
    "INVITATIONS_PER_HOUR": (1, 10_000),
    "KEYS_PER_PROJECT": (1, 100_000),
    "MAILING_FORMS_PER_PERSON_PER_DAY": (1, 10_000),
    "MAILS_PER_RECIPIENT_PER_DAY": (1, 1000),
    "NEW_BROWSER_MAILS_PER_DAY": (1, 1000),
    "MEMBERS_PER_PROJECT": (1, 100_000),
    "PASSKEY_CHALLENGES_PER_MINUTE": (1, 10_000),
    "PROJECTS_PER_PERSON": (1, 100_000),
    "REVIEW_SECOND_KEY_PEOPLE": (0, 10_000),
    "RE_REVIEW_DAYS": (0, 3650),
    "REFUSALS_LOGGED_PER_MINUTE": (1, 1_000_000),
    "REPORTS_PER_ADDRESS_AND_APP_PER_DAY": (1, 10_000),
    "REPORTS_PER_PERSON_PER_DAY": (1, 10_000),
    "SIGN_INS_PER_MINUTE": (1, 10_000),
    "SIGN_IN_LOG_PER_MINUTE": (1, 100_000),
    "WRONG_CODES_PER_ACCOUNT": (5, 100),  # NIST SP 800-63B, 3.2.2
    "UNVERIFIED_APP_PEOPLE": (1, 1_000_000),
}
