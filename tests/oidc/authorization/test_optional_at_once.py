"""Consent forms with other choices at the same moment, on PostgreSQL: one of them counts, whole."""

import pytest
from django.test import Client as Browser

from accounts.models import Account
from oidc.authorization import consent
from oidc.models import Client, Connection
from oidc.tokens import signing_keys
from tests.at_once import at_once
from tests.factories import make_account, make_client
from tests.relying_party import RelyingParty, answer_of, sign_in

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

CHOICES: tuple[list[str], ...] = ([], ["email"], ["profile"], ["email", "profile"])


@pytest.fixture
def parties() -> list[RelyingParty]:
    """One app in front of the four browsers of one person."""
    client = make_client(optional_scopes="email profile")
    signing_keys.current_keyring()
    person = make_account("ada@example.com")
    return [RelyingParty(client, sign_in(Browser(), person)) for _ in CHOICES]


def remembered() -> tuple[set[str], set[str]]:
    row = Connection.objects.get()
    return set(row.scopes.split()), set(row.left_out.split())


@pytest.mark.parametrize("known", [False, True], ids=["first time", "known"])
def test_four_concurrent_forms_leave_the_result_of_one(parties: list[RelyingParty], known: bool) -> None:
    if known:
        consent.record_consent(
            Account.objects.get(email="ada@example.com"), parties[0].client, ["openid", "email"], left_out={"profile"}
        )
    pages = [party.authorize(prompt="consent", scope="openid email profile") for party in parties]
    answers = at_once(4, lambda n: answer_of(parties[n].answer_consent(pages[n], optional=CHOICES[n])))
    granted, left_out = remembered()
    assert not granted & left_out
    assert granted | left_out == {"openid", "email", "profile"}
    assert granted - {"openid"} in [set(choice) for choice in CHOICES]
    for party, answer in zip(parties, answers, strict=True):
        tokens = party.exchange(answer["code"]).json()
        assert set(tokens["scope"].split()) <= granted, "no token has what the row does not grant"


def test_withdrawing_during_a_silent_sign_in_grants_only_the_stored_scopes(parties: list[RelyingParty]) -> None:
    chooser, silent = parties[:2]
    for _ in range(5):
        page = chooser.authorize(prompt="consent", scope="openid email profile")
        chooser.answer_consent(page, optional=["email", "profile"])
        page = chooser.authorize(prompt="consent", scope="openid email profile")

        def act(number: int, page: object = page) -> str:
            if number == 0:
                return answer_of(chooser.answer_consent(page))["code"]
            return answer_of(silent.authorize(prompt="none", scope="openid email profile"))["code"]

        codes = at_once(2, act)
        assert remembered() == ({"openid"}, {"email", "profile"})
        for party, code in zip((chooser, silent), codes, strict=True):
            assert party.exchange(code).json()["scope"] == "openid"


def test_asking_again_during_a_form_grants_nothing(parties: list[RelyingParty]) -> None:
    party = parties[0]
    page = party.authorize(scope="openid email profile")
    party.answer_consent(page)
    row = Connection.objects.get()
    page = party.authorize(prompt="consent", scope="openid email profile")

    def act(number: int) -> None:
        if number == 0:
            party.answer_consent(page, optional=["email"])
        else:
            consent.ask_again(row)

    at_once(2, act)
    granted, left_out = remembered()
    assert granted == {"openid", "email"}
    assert left_out in (set(), {"profile"})
    assert Client.objects.get().optional_scopes == "email profile"
