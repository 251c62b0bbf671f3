"""The scopes of a client: those of every API that is on, whether the client can request them, and their use."""

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta

from core import clock
from devportal.console.analytics.apis import calls_by_api, granted_scopes
from devportal.console.clients.scope_states import State, scope_states
from devportal.docs.pages import api_address
from oidc.apis.registry import OPENID, ApiSnapshot, Scope
from oidc.apis.scopes import group_by_api, known_scopes, optional_scopes
from oidc.models import Client

DAYS = 30


@dataclass(frozen=True)
class ScopeRow:
    """One scope. `sign_ins` is the number of sign-ins that it was granted in."""

    scope: Scope
    state: State
    sign_ins: int
    is_optional: bool

    @property
    def is_available(self) -> bool:
        return self.state in (State.FREE, State.APPROVED, State.KEPT)

    @property
    def may_be_optional(self) -> bool:
        return self.is_available and self.scope.name != OPENID


@dataclass(frozen=True)
class ApiSection:
    """An API with its scopes and its successful requests by the client. `api` is None for identity scopes."""

    api: ApiSnapshot | None
    rows: list[ScopeRow]
    requests: int = 0

    @property
    def docs_url(self) -> str:
        return api_address(self.api) if self.api else ""


@dataclass(frozen=True)
class ScopeReport:
    """The scopes of a client by API. The newest `sign_ins` of the last DAYS days were read.

    `is_bounded`: there may be more sign-ins than were read.
    """

    sections: list[ApiSection]
    sign_ins: int
    is_bounded: bool


def scope_report(client: Client) -> ScopeReport:
    """Return the scopes of the APIs that are turned on. Takes four statements."""
    now = clock.now()
    granted = granted_scopes([client.pk], now - timedelta(days=DAYS), now + timedelta(days=1))
    sign_ins = Counter(name for scopes in granted.of_sign_ins for name in scopes.split())
    states, optional, requests = scope_states(client), optional_scopes(client), _requests(client)
    sections = [
        ApiSection(
            api,
            [ScopeRow(scope, states[scope.name], sign_ins[scope.name], scope.name in optional) for scope in members],
            requests[api.slug] if api else 0,
        )
        for api, members in group_by_api(scope for scope in known_scopes().values() if scope.enabled)
    ]
    return ScopeReport(sections, len(granted), granted.is_bounded)


def _requests(client: Client) -> Counter[str]:
    """Return the number of successful requests with the client's tokens, by the slug of the API."""
    tomorrow = clock.now().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    since = tomorrow - timedelta(days=DAYS)
    return calls_by_api(client.project, since, tomorrow, client=client.client_id, status__lt=400)
