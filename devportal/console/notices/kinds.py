"""The kinds of notices, and the topics into which the switches of a member group them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import TextChoices

from oidc.projects.roles import Role


class NoticeKind(StrEnum):
    """The kind of a notice. notices/table.py has its text."""

    SECRET_EXPIRES = "secret_expires"
    KEY_EXPIRES = "key_expires"
    SECRET_UNUSED = "secret_unused"
    KEY_UNUSED = "key_unused"
    SIGN_IN_ERRORS = "sign_in_errors"
    CALL_ERRORS = "call_errors"
    PEOPLE_NEAR_LIMIT = "people_near_limit"
    PEOPLE_AT_LIMIT = "people_at_limit"
    OWNER_ADDED = "owner_added"
    PROJECT_TRANSFERRED = "project_transferred"
    SECRET_CREATED = "secret_created"
    KEY_CREATED = "key_created"
    SECRET_LEAKED = "secret_leaked"
    SECRET_LEAKED_AND_REVOKED = "secret_leaked_and_revoked"
    KEY_LEAKED = "key_leaked"
    KEY_LEAKED_AND_REVOKED = "key_leaked_and_revoked"
    DOMAIN_MISSING = "domain_missing"
    DOMAIN_LOST = "domain_lost"
    DOMAIN_FOUND = "domain_found"
    DOMAIN_REGAINED = "domain_regained"
    DOMAIN_NARROWED = "domain_narrowed"
    DELIVERIES_PAUSED = "deliveries_paused"
    CLIENT_TURNED_OFF = "client_turned_off"
    # The steps of a review. All but REVIEW_SCOPES_WITHDRAWN have a kind of ReviewEntry after `review_`.
    REVIEW_SUBMITTED = "review_submitted"
    REVIEW_RESUBMITTED = "review_resubmitted"
    REVIEW_WITHDRAWN = "review_withdrawn"
    REVIEW_STARTED = "review_started"
    REVIEW_APPEALED = "review_appealed"
    REVIEW_RENEWED = "review_renewed"
    REVIEW_COMMENT = "review_comment"
    REVIEW_CHANGES_REQUESTED = "review_changes_requested"
    REVIEW_REJECTED = "review_rejected"
    REVIEW_APPROVED = "review_approved"
    REVIEW_APPROVAL_WITHDRAWN = "review_approval_withdrawn"
    REVIEW_SCOPES_WITHDRAWN = "review_scopes_withdrawn"
    REVIEW_SUSPENDED = "review_suspended"
    REVIEW_SUSPENSION_LIFTED = "review_suspension_lifted"
    APPEAL_ANSWERED = "appeal_answered"
    SUSPENSION_APPEAL_ANSWERED = "suspension_appeal_answered"
    RE_REVIEW_DUE = "re_review_due"
    SCOPE_REVIEW_DUE = "scope_review_due"


class Topic(TextChoices):
    """A group of kinds with one pair of switches. The value is stored, the label is on the page."""

    AVAILABILITY = "availability", "Project suspended, or app turned off by the service"
    LEAKS = "leaks", "Leaked secrets and API keys"
    DECISIONS = "decisions", "Review: decisions and messages from reviewers"
    PROGRESS = "progress", "Review: submissions and progress"
    EXPIRY = "expiry", "Secrets and API keys that expire in 14 and in 3 days"
    UNUSED = "unused", "Secrets and API keys that nobody has used for 90 days"
    CREDENTIALS = "credentials", "New secrets and API keys"
    OWNERS = "owners", "New owners and transfers"
    ERRORS = "errors", "Errors well above the usual rate"
    PEOPLE = "people", "The limit of people of apps without a review"
    DOMAINS = "domains", "Domains whose proof is missing, lost or found again"
    DELIVERIES = "deliveries", "Events that can’t be delivered to your app"


@dataclass(frozen=True)
class Wish:
    """Whether a member wants the notices of a topic in the console, and by mail."""

    console: bool
    mail: bool


BOTH, CONSOLE, NEITHER = Wish(console=True, mail=True), Wish(console=True, mail=False), Wish(console=False, mail=False)

# The defaults of each role. Viewers can't act on most notices, so they get few.
DEFAULTS: Mapping[Topic, Mapping[str, Wish]] = {
    topic: {Role.OWNER: owner, Role.DEVELOPER: developer, Role.VIEWER: viewer}
    for topic, owner, developer, viewer in (
        (Topic.AVAILABILITY, BOTH, BOTH, CONSOLE),
        (Topic.LEAKS, BOTH, BOTH, CONSOLE),
        (Topic.DECISIONS, BOTH, BOTH, CONSOLE),
        (Topic.PROGRESS, BOTH, BOTH, NEITHER),
        (Topic.EXPIRY, BOTH, BOTH, NEITHER),
        (Topic.UNUSED, BOTH, CONSOLE, NEITHER),
        (Topic.CREDENTIALS, BOTH, CONSOLE, NEITHER),
        (Topic.OWNERS, BOTH, CONSOLE, NEITHER),
        (Topic.ERRORS, BOTH, BOTH, NEITHER),
        (Topic.PEOPLE, BOTH, BOTH, NEITHER),
        (Topic.DOMAINS, BOTH, BOTH, NEITHER),
        (Topic.DELIVERIES, BOTH, BOTH, NEITHER),
    )
}
