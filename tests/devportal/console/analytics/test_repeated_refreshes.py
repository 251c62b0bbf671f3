"""Refreshes that are repeated within seconds: counted separately, with the switch of the client as the next step."""

from collections.abc import Callable

import pytest
from django.test import Client as Browser

from accounts.models import Account
from api import usage_counts
from devportal.console.models import SignInDay, SignInEvent
from oidc.models import Client, ProjectMember
from oidc.projects.roles import Role
from tests.devportal.console.forms import at
from tests.factories import make_account
from tests.relying_party import RelyingParty, sign_in

REPEATED = "The refresh token was superseded a moment ago"
SUPERSEDED = "The refresh token was superseded. "


@pytest.fixture
def party(spa: Client, signed_in: Browser) -> RelyingParty:
    return RelyingParty(spa, signed_in)


@pytest.fixture
def team(party: RelyingParty) -> Browser:
    account: Account = make_account("dev@example.com")
    ProjectMember.objects.create(project=party.client.project, account=account, role=Role.DEVELOPER)
    return sign_in(Browser(), account)


def repeat(party: RelyingParty, wait: Callable[[], None] = lambda: None) -> None:
    """Refresh twice with the same token."""
    token = party.tokens()["refresh_token"]
    assert party.refresh(token).status_code == 200
    wait()
    assert party.refresh(token).json()["error"] == "invalid_grant"
    usage_counts.flush_usage()


def counted(client: Client) -> dict[str, int]:
    rows = SignInDay.objects.filter(client=client, step__in=["repeated", "not_refreshed"])
    return {f"{row.step}:{row.error}": row.count for row in rows}


def test_a_repeated_refresh_has_its_own_reason_and_count(party: RelyingParty) -> None:
    repeat(party)
    assert counted(party.client) == {"repeated:invalid_grant": 1}
    assert SignInEvent.objects.get(outcome="refused").reason_text.startswith(REPEATED)


def test_a_late_superseded_token_counts_as_reuse(party: RelyingParty, later: Callable[[float], None]) -> None:
    repeat(party, lambda: later(11))
    assert counted(party.client) == {"not_refreshed:invalid_grant": 1}
    assert SignInEvent.objects.get(outcome="refused").reason_text.startswith(SUPERSEDED)


def test_a_forgiven_refresh_is_not_counted_as_an_error(party: RelyingParty) -> None:
    Client.objects.update(forgive_lost_responses=True)
    token = party.tokens()["refresh_token"]
    assert [party.refresh(token).status_code for _ in range(3)] == [200, 200, 200]
    usage_counts.flush_usage()
    assert counted(party.client) == {}
    assert not SignInEvent.objects.filter(outcome="refused").exists()


def test_analytics_name_them_and_lead_to_the_switch(party: RelyingParty, team: Browser) -> None:
    repeat(party)
    page = team.get(at("client_analytics", party.client.project, party.client)).content.decode()
    settings_page = at("client_settings", party.client.project, party.client)
    assert "refreshes repeated" in page
    assert f'href="{settings_page}#lost-responses">Forgive lost responses</a>' in page
    assert 'id="lost-responses"' in team.get(settings_page).content.decode()
    assert "refreshes repeated" in team.get(at("project_analytics", party.client.project)).content.decode()


def test_with_the_switch_on_analytics_advise_something_else(party: RelyingParty, team: Browser) -> None:
    repeat(party)
    Client.objects.update(forgive_lost_responses=True)
    page = team.get(at("client_analytics", party.client.project, party.client)).content.decode()
    assert "This app forgives lost responses" in page
    assert "#lost-responses" not in page


@pytest.mark.parametrize(("is_on", "label"), [(False, "Forgive lost responses"), (True, "How to refresh")])
def test_the_entry_of_the_log_says_what_to_do(party: RelyingParty, team: Browser, is_on: bool, label: str) -> None:
    repeat(party)
    Client.objects.update(forgive_lost_responses=is_on)
    event = SignInEvent.objects.get(outcome="refused")
    page = team.get(at("sign_in_detail", party.client.project, party.client, entry_id=event.pk)).content.decode()
    assert REPEATED in page
    assert label in page
