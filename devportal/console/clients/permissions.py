"""A client's permissions: every API that is on, the state of its scopes, and how they were used."""

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from api import usage_counts
from core import clock
from devportal.console.models import SignInEvent
from devportal.docs.pages import api_address
from oidc.apis.registry import OPENID, ApiSnapshot, Scope, current_registry
from oidc.models import Client, TokenFamily
from oidc.scopes import allowed_scopes, group_by_api, known_scopes, optional_scopes
from oidc.sign_in_steps import Step

DAYS = 30
MOST_SIGN_INS = 1000  # the newest sign-ins that are read
# Statuses of an app's open review (`Client.reviews`), which belongs to the package above this one.
_WITH_DEVELOPERS, _WITH_REVIEWERS = ("draft", "changes_requested"), ("submitted", "in_review")


class State(StrEnum):
    """Whether a client can request a scope."""

    FREE = "free"  # every app can
    APPROVED = "approved"
    DRAFT = "draft"  # it is in a review that the developers have not sent yet
    IN_REVIEW = "in_review"
    NEEDS_REVIEW = "needs_review"


@dataclass(frozen=True)
class ScopeRow:
    """One scope. `asked` is the number of sign-ins that it was granted in."""

    scope: Scope
    state: State
    asked: int
    is_optional: bool

    @property
    def is_available(self) -> bool:
        return self.state in (State.FREE, State.APPROVED)

    @property
    def may_be_optional(self) -> bool:
        return self.is_available and self.scope.name != OPENID


@dataclass(frozen=True)
class ApiSection:
    """An API with its scopes and its successful calls with the client's tokens. `api` is None for identity scopes."""

    api: ApiSnapshot | None
    rows: list[ScopeRow]
    calls: int = 0

    @property
    def docs_url(self) -> str:
        return api_address(self.api) if self.api else ""


@dataclass(frozen=True)
class Permissions:
    """What a client's page *Permissions* shows. The newest `sign_ins` of the last DAYS days were read."""

    sections: list[ApiSection]
    sign_ins: int

    @property
    def is_bounded(self) -> bool:
        """Whether there were more sign-ins than were read."""
        return self.sign_ins >= MOST_SIGN_INS


def permissions_of(client: Client) -> Permissions:
    """Return the permissions of a client, with scopes of APIs that are turned on. Takes four statements."""
    families = _families(client)
    asked = Counter(name for scope in families for name in scope.split())
    states, optional, calls = _states(client), optional_scopes(client), _calls(client)
    sections = [
        ApiSection(
            api,
            [ScopeRow(scope, states[scope.name], asked[scope.name], scope.name in optional) for scope in members],
            calls[api.slug] if api else 0,
        )
        for api, members in group_by_api(scope for scope in known_scopes().values() if scope.enabled)
    ]
    return Permissions(sections, len(families))


def _states(client: Client) -> dict[str, State]:
    allowed = allowed_scopes(client)
    review = client.reviews.filter(status__in=(*_WITH_DEVELOPERS, *_WITH_REVIEWERS)).first()
    in_review = review.snapshot.get("scopes", {}) if review else {}
    pending = State.IN_REVIEW if review and review.status in _WITH_REVIEWERS else State.DRAFT
    return {
        name: (State.APPROVED if scope.needs_approval else State.FREE)
        if name in allowed
        else (pending if name in in_review else State.NEEDS_REVIEW)
        for name, scope in known_scopes().items()
    }


def _families(client: Client) -> list[str]:
    """Return the granted scopes of the newest sign-ins. Takes two statements that read a bounded number of rows."""
    since = clock.now() - timedelta(days=DAYS)
    issued = SignInEvent.objects.filter(client=client, at__gte=since, step=Step.ISSUED).exclude(family=None)
    newest = issued.order_by("-pk").values_list("family", flat=True)[:MOST_SIGN_INS]
    families = [pk for pk in newest if pk is not None]
    return list(TokenFamily.objects.filter(pk__in=families).values_list("scope", flat=True))


def _calls(client: Client) -> Counter[str]:
    """Return the number of successful calls with the client's tokens, by the slug of the API."""
    tomorrow = clock.now().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    since, registry = tomorrow - timedelta(days=DAYS), current_registry()
    counts = usage_counts.series(client.project, since, tomorrow, "endpoint", client=client.client_id, status__lt=400)
    calls = Counter[str]()
    for row in counts:
        # Calls to `/v1` are counted by endpoint, calls to another API by its slug.
        slug = row["endpoint"] if row["endpoint"] in registry.apis else registry.account.slug
        calls[slug] += row["total_count"]
    return calls
