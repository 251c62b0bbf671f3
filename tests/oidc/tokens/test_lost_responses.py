"""Forgiven lost responses: of one client, or of all with REFRESH_GRACE_SECONDS (docs/sign-in.md#lost-responses)."""

from collections.abc import Callable
from typing import Any

import pytest

from oidc.models import AccessToken, Client, RefreshToken, TokenFamily
from oidc.values.reasons import Reason
from tests.oidc.test_budgets import Counted
from tests.relying_party import RelyingParty

INVALID_GRANT = (400, "invalid_grant")
GRACE = 30

Later = Callable[[float], None]


@pytest.fixture(autouse=True)
def forgive(request: pytest.FixtureRequest, settings: Any, spa: Client) -> Callable[[bool], None]:
    """Have lost responses forgiven by the client's switch or the setting; return what turns that off and on."""

    def turn(on: bool) -> None:
        if getattr(request, "param", "client") == "setting":
            settings.REFRESH_GRACE_SECONDS = GRACE if on else 0
        else:
            Client.objects.filter(pk=spa.pk).update(forgive_lost_responses=on)

    turn(True)
    return turn


either = pytest.mark.parametrize("forgive", ["setting", "client"], indirect=True)


def refused(response: Any) -> bool:
    return (response.status_code, response.json().get("error")) == INVALID_GRANT


def is_alive(app: RelyingParty, tokens: dict[str, Any]) -> bool:
    """Tell whether both tokens of an answer are good; the refresh token is used by that."""
    return app.call("/v1/me", tokens["access_token"]).status_code == 200 and not refused(
        app.refresh(tokens["refresh_token"])
    )


def family_has_ended() -> bool:
    return TokenFamily.objects.get().revocation_reason == Reason.ENDED_REFRESH_TOKEN_REUSED


@either
def test_a_lost_response_is_given_again(app: RelyingParty, later: Later) -> None:
    first = app.tokens()
    lost = app.refresh(first["refresh_token"]).json()
    later(20)
    again = app.refresh(first["refresh_token"])
    assert again.status_code == 200
    assert again.json()["refresh_token"] != lost["refresh_token"]
    assert is_alive(app, again.json())
    assert TokenFamily.objects.count() == 1


def test_the_replaced_response_ends_and_its_reuse_is_noticed(app: RelyingParty, later: Later) -> None:
    first = app.tokens()
    lost = app.refresh(first["refresh_token"]).json()
    again = app.refresh(first["refresh_token"]).json()
    for path in ("/v1/me", "/connect/userinfo"):
        assert app.call(path, lost["access_token"]).status_code == 401
    assert refused(app.refresh(lost["refresh_token"]))  # late on its way: nothing more happens
    assert is_alive(app, again)
    later(11)
    assert refused(app.refresh(lost["refresh_token"]))
    assert family_has_ended()


def test_several_responses_may_be_lost_within_the_time(app: RelyingParty, later: Later) -> None:
    first = app.tokens()
    app.refresh(first["refresh_token"])
    for _ in range(4):
        later(7)
        again = app.refresh(first["refresh_token"])
        assert again.status_code == 200
    assert RefreshToken.objects.filter(revoked=None).count() == 1
    assert is_alive(app, again.json())


def test_another_response_does_not_make_the_time_longer(app: RelyingParty, later: Later) -> None:
    first = app.tokens()
    app.refresh(first["refresh_token"])
    later(20)
    newest = app.refresh(first["refresh_token"]).json()
    later(11)
    assert refused(app.refresh(first["refresh_token"]))
    assert family_has_ended()
    assert refused(app.refresh(newest["refresh_token"]))


@either
def test_after_the_time_reuse_ends_the_family(app: RelyingParty, later: Later) -> None:
    first = app.tokens()
    second = app.refresh(first["refresh_token"]).json()
    later(GRACE + 1)
    assert refused(app.refresh(first["refresh_token"]))
    assert refused(app.refresh(second["refresh_token"]))
    assert family_has_ended()


@pytest.mark.parametrize("use", ["refresh", "/v1/me", "/connect/userinfo"])
def test_once_the_successor_was_used_reuse_is_theft(app: RelyingParty, later: Later, use: str) -> None:
    first = app.tokens()
    second = app.refresh(first["refresh_token"]).json()
    if use == "refresh":
        second = app.refresh(second["refresh_token"]).json()
    else:
        assert app.call(use, second["access_token"]).status_code == 200
    later(11)
    assert refused(app.refresh(first["refresh_token"]))
    assert family_has_ended()
    assert not is_alive(app, second)


def test_a_second_tab_that_repeats_a_token_whose_response_arrived_ends_nothing(app: RelyingParty) -> None:
    first = app.tokens()
    second = app.refresh(first["refresh_token"]).json()
    assert app.call("/v1/me", second["access_token"]).status_code == 200
    assert refused(app.refresh(first["refresh_token"]))
    assert is_alive(app, second)


def test_another_client_can_not_repeat_a_lost_refresh(app: RelyingParty, web_app: RelyingParty, later: Later) -> None:
    first = app.tokens()
    second = app.refresh(first["refresh_token"]).json()
    later(11)
    assert refused(web_app.refresh(first["refresh_token"]))
    assert is_alive(app, second)


def test_an_ended_family_stays_ended(app: RelyingParty) -> None:
    first = app.tokens()
    app.refresh(first["refresh_token"])
    app.post("/connect/revoke", {"token": first["refresh_token"]} | app.credentials())
    assert refused(app.refresh(first["refresh_token"]))


def test_a_clock_that_runs_behind_forgives_nothing(app: RelyingParty, later: Later) -> None:
    first = app.tokens()
    app.refresh(first["refresh_token"])
    later(-5)
    assert refused(app.refresh(first["refresh_token"]))


@either
def test_a_token_superseded_before_the_switch_was_on_is_not_forgiven(
    app: RelyingParty, forgive: Callable[[bool], None]
) -> None:
    forgive(False)
    first = app.tokens()
    second = app.refresh(first["refresh_token"]).json()
    assert RefreshToken.objects.exclude(next_checksum=None).count() == 0
    forgive(True)
    assert refused(app.refresh(first["refresh_token"]))
    assert is_alive(app, second)


@either
def test_a_switch_that_is_turned_off_forgives_no_earlier_response(
    app: RelyingParty, forgive: Callable[[bool], None]
) -> None:
    first = app.tokens()
    second = app.refresh(first["refresh_token"]).json()
    forgive(False)
    assert refused(app.refresh(first["refresh_token"]))
    assert is_alive(app, second)


def test_the_switch_applies_to_one_client(app: RelyingParty, web_app: RelyingParty) -> None:
    for party, is_forgiven in ((app, True), (web_app, False)):
        first = party.tokens()["refresh_token"]
        party.refresh(first)
        assert refused(party.refresh(first)) is not is_forgiven


def test_the_longer_time_of_setting_and_switch_counts(app: RelyingParty, settings: Any, later: Later) -> None:
    settings.REFRESH_GRACE_SECONDS = 60
    first = app.tokens()["refresh_token"]
    app.refresh(first)
    later(50)
    assert app.refresh(first).status_code == 200


def test_the_scope_may_be_narrowed_in_the_second_response_too(app: RelyingParty) -> None:
    first = app.tokens()
    second = app.refresh(first["refresh_token"]).json()
    widened = app.refresh(first["refresh_token"], scope="openid account.read")
    assert widened.json()["error"] == "invalid_scope"
    assert app.call("/v1/me", second["access_token"]).status_code == 200, "the first response stays valid"
    first = app.tokens()
    app.refresh(first["refresh_token"])
    assert app.refresh(first["refresh_token"], scope="openid email").json()["scope"] == "openid email"
    assert not TokenFamily.objects.exclude(revocation_reason="").exists()


# --- What it costs ---


def test_a_refresh_costs_no_statement_more(app: RelyingParty) -> None:
    token = app.refresh(app.tokens()["refresh_token"]).json()["refresh_token"]
    with Counted() as counted:
        assert app.refresh(token).status_code == 200
    assert len(counted.statements) <= 4, "\n".join(counted.statements)


def test_the_first_use_of_an_access_token_is_noted_and_no_other(app: RelyingParty) -> None:
    token = app.refresh(app.tokens()["refresh_token"]).json()["access_token"]
    for most in (2, 1):
        with Counted() as counted:
            assert app.call("/v1/me", token).status_code == 200
        assert len(counted.statements) == most, "\n".join(counted.statements)
    assert list(AccessToken.objects.order_by("pk").values_list("used", flat=True)) == [None, True]


def test_another_response_takes_seven_statements(app: RelyingParty) -> None:
    token = app.refresh(app.tokens()["refresh_token"]).json()["refresh_token"]
    app.refresh(token)
    with Counted() as counted:
        assert app.refresh(token).status_code == 200
    assert len(counted.statements) <= 7, "\n".join(counted.statements)
