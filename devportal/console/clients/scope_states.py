"""Whether a client can request a scope, or waits for its review."""

from enum import StrEnum

from oidc.apis.scopes import allowed_scopes, known_scopes
from oidc.models import Client

# Statuses of an app's open review (`Client.reviews`), which belongs to the package above this one.
_WITH_DEVELOPERS, _WITH_REVIEWERS = ("draft", "changes_requested"), ("submitted", "in_review")


class State(StrEnum):
    """Whether a client can request a scope."""

    FREE = "free"  # every app can
    APPROVED = "approved"
    KEPT = "kept"  # only from people who granted it before it needed a review
    DRAFT = "draft"  # it is in a review that the developers have not sent yet
    IN_REVIEW = "in_review"
    NEEDS_REVIEW = "needs_review"


def scope_states(client: Client) -> dict[str, State]:
    """Return the state of each scope for a client. Takes one statement."""
    allowed = allowed_scopes(client)
    review = client.reviews.filter(status__in=(*_WITH_DEVELOPERS, *_WITH_REVIEWERS)).first()
    in_review = review.snapshot.get("scopes", {}) if review else {}
    pending = State.IN_REVIEW if review and review.status in _WITH_REVIEWERS else State.DRAFT
    kept = () if client.first_party else client.kept_scopes.split()
    return {
        name: ((State.KEPT if name in kept else State.APPROVED) if scope.needs_approval else State.FREE)
        if name in allowed
        else (pending if name in in_review else State.NEEDS_REVIEW)
        for name, scope in known_scopes().items()
    }
