"""Access tokens at /v1, while everything behind them lives. Forged tokens: tests/security/test_tokens.py."""

from collections.abc import Callable

import pytest

from accounts.models import Account
from core import clock
from oidc.authorization import consent
from oidc.models import Client, Connection, Project, TokenFamily
from oidc.tokens import signing_keys
from tests.api.calls import ME, PLAN, call, refusal
from tests.factories import make_access_token
from tests.relying_party import RelyingParty, header_of

INVALID = (401, "invalid_token")


def deactivate(person: Account) -> None:
    person.is_active = False
    person.save()


ENDS: dict[str, Callable[[Account], object]] = {
    "consent": lambda person: consent.remove_consent(Connection.objects.get()),
    "the app is turned off": lambda person: Client.objects.update(enabled=False),
    "the app is deleted": lambda person: Client.objects.get().delete(),
    "the project is deleted": lambda person: Project.objects.get().delete(),
    "the family of tokens": lambda person: TokenFamily.objects.update(revoked_at=clock.now()),
    "the person is deactivated": deactivate,
    "the person is deleted": lambda person: person.delete(),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_token_ends_with_what_it_depends_on(token: str, person: Account, end: str) -> None:
    assert call(ME, token).status_code == 200
    ENDS[end](person)
    assert refusal(call(ME, token)) == INVALID


def test_a_token_of_a_superseded_refresh_lives_to_its_end(app: RelyingParty, later: Callable[[float], None]) -> None:
    tokens = app.tokens()
    later(60)
    newer = app.refresh(tokens["refresh_token"]).json()
    assert call(ME, tokens["access_token"]).status_code == 200
    later(840)
    assert refusal(call(ME, tokens["access_token"])) == INVALID
    assert call(ME, newer["access_token"]).status_code == 200


def test_a_token_still_holds_after_its_key_was_retired(token: str) -> None:
    signing_keys.rotate(now=True)
    signing_keys.rotate(now=True)
    signing_keys.reload_keyring()
    assert signing_keys.signing_key().kid != header_of(token)["kid"]
    assert call(ME, token).status_code == 200


def test_scopes_that_were_withdrawn_are_gone(approved: Client, person: Account) -> None:
    token = make_access_token(approved, person, ["openid", "email", "account.read"])
    assert call(PLAN, token).status_code == 200
    Client.objects.filter(pk=approved.pk).update(approved_scopes="")
    assert refusal(call(PLAN, token)) == (403, "insufficient_scope")
    assert call(ME, token).status_code == 200
