"""Many at once, on PostgreSQL with separate connections: exactly one wins, and nothing is left half done."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models import Model
from django.db.models.signals import post_delete
from django.test import Client as Browser

from accounts.deletion.deleting import delete_account
from accounts.models import Account, PairwiseSubject
from core import clock
from oidc.authorization import consent
from oidc.clients.registration import delete_client
from oidc.clients.secrets import change_type
from oidc.models import AccessToken, AuthorizationCode, Client, Connection, Project, RefreshToken, TokenFamily
from oidc.projects.lifecycle import purge_project
from oidc.tokens import signing_keys
from tests.at_once import at_once, meanwhile
from tests.factories import make_account, make_client, make_project, make_web_client
from tests.relying_party import RelyingParty, answer_of, claims_of, sign_in

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def party() -> RelyingParty:
    """A web app and a signed-in person, in the database for all connections to see."""
    web, secret = make_web_client(make_project())
    signing_keys.current_keyring()  # like a worker that starts: a request that waits for another one gets 503
    return RelyingParty(web, sign_in(Browser(), make_account("ada@example.com")), secret)


def counted(responses: list[Any]) -> dict[int, int]:
    statuses = [response.status_code for response in responses]
    return {status: statuses.count(status) for status in set(statuses)}


def test_twenty_exchanges_of_one_code_give_one_answer_and_one_row(party: RelyingParty) -> None:
    code = party.code()
    responses = at_once(20, lambda number: party.exchange(code))
    assert counted(responses) == {200: 1, 400: 19}
    refused = [response.json()["error"] for response in responses if response.status_code == 400]
    assert set(refused) == {"invalid_grant"}
    assert AccessToken.objects.count() == 1
    assert RefreshToken.objects.count() == 1


def test_ten_refreshes_at_once_give_one_pair_and_the_session_lives(party: RelyingParty) -> None:
    token = party.tokens()["refresh_token"]
    responses = at_once(10, lambda number: party.refresh(token))
    assert counted(responses) == {200: 1, 400: 9}
    assert {r.json()["error"] for r in responses if r.status_code == 400} == {"invalid_grant"}
    (winner,) = [response.json() for response in responses if response.status_code == 200]
    assert RefreshToken.objects.filter(revoked=None).count() == 1
    assert AccessToken.objects.count() == 2
    assert party.call("/connect/userinfo", winner["access_token"]).status_code == 200
    assert party.refresh(winner["refresh_token"]).status_code == 200


@pytest.mark.parametrize("attempt", range(2))
@pytest.mark.parametrize("is_lost", [False, True], ids=["first response", "lost response"])
def test_with_a_grace_many_refreshes_at_once_leave_one_pair(
    party: RelyingParty, settings: Any, attempt: int, is_lost: bool
) -> None:
    settings.REFRESH_GRACE_SECONDS = 30
    token = party.tokens()["refresh_token"]
    if is_lost:
        party.refresh(token)
    responses = at_once(8, lambda number: party.refresh(token))
    assert set(counted(responses)) <= {200, 400}
    won = [response.json() for response in responses if response.status_code == 200]
    alive = [one for one in won if party.call("/v1/me", one["access_token"]).status_code == 200]
    assert len(alive) == 1
    assert RefreshToken.objects.filter(revoked=None).count() == 1
    assert not TokenFamily.objects.exclude(revoked_at=None).exists()
    assert party.refresh(alive[0]["refresh_token"]).status_code == 200


@pytest.mark.parametrize("attempt", range(3))
def test_using_and_replacing_a_new_refresh_token_at_once_has_one_winner(
    party: RelyingParty, settings: Any, attempt: int
) -> None:
    settings.REFRESH_GRACE_SECONDS = 30
    superseded = party.tokens()["refresh_token"]
    following = party.refresh(superseded).json()["refresh_token"]
    responses = at_once(2, lambda number: party.refresh((superseded, following)[number]))
    assert counted(responses) == {200: 1, 400: 1}
    assert RefreshToken.objects.filter(revoked=None).count() == 1


def test_the_last_free_place_is_given_once_over_http(party: RelyingParty, settings: Any) -> None:
    settings.UNVERIFIED_APP_PEOPLE = 1
    parties = [party.beside(sign_in(Browser(), make_account(f"p{n}@example.com"))) for n in range(6)]
    pages = [one.authorize() for one in parties]
    assert all(page.status_code == 200 for page in pages)
    responses = at_once(6, lambda number: parties[number].answer_consent(pages[number]))
    assert counted(responses) == {200: 1, 403: 5}
    assert AuthorizationCode.objects.count() == 1


def test_one_person_in_two_tabs_is_one_connection(party: RelyingParty) -> None:
    pages = [party.authorize() for _ in range(2)] + [party.authorize(state="other", scope="openid")]
    responses = at_once(3, lambda number: party.answer_consent(pages[number]))
    assert counted(responses) == {200: 3}
    assert Connection.objects.count() == 1
    # Whatever the order, nothing that was allowed is lost.
    assert set(Connection.objects.get().scopes.split()) == {"openid", "email", "profile", "offline_access"}


def test_a_form_sent_many_times_at_once_leaves_one_live_code(party: RelyingParty) -> None:
    page = party.authorize()
    responses = at_once(5, lambda number: party.answer_consent(page))
    codes = [answer_of(response)["code"] for response in responses]
    results = [party.exchange(code).status_code for code in codes]
    assert results.count(200) == 1


def test_a_new_person_has_one_sub_when_two_clients_of_a_project_ask_at_once() -> None:
    project = make_project()
    account = make_account("ada@example.com")
    parties = [RelyingParty(make_client(project, name=f"App {n}"), sign_in(Browser(), account)) for n in range(4)]
    pages = [one.authorize() for one in parties]
    codes = at_once(4, lambda n: answer_of(parties[n].answer_consent(pages[n]))["code"])
    subs = {claims_of(parties[n].exchange(codes[n]).json()["id_token"])["sub"] for n in range(4)}
    assert len(subs) == 1
    assert PairwiseSubject.objects.count() == 1


def deactivate(party: RelyingParty, token: str) -> None:
    account = Account.objects.get(email="ada@example.com")
    account.is_active = False
    account.save()


def revoke(party: RelyingParty, token: str) -> None:
    assert party.post("/connect/revoke", {"token": token} | party.credentials()).status_code == 200


def remove_access(party: RelyingParty, token: str) -> None:
    consent.remove_consent(Connection.objects.get())


@pytest.mark.parametrize("attempt", range(2))
@pytest.mark.parametrize(
    ("end", "during"),
    [(remove_access, "refreshes"), (deactivate, "refreshes"), (revoke, "refreshes"), (remove_access, "exchanges")],
)
def test_ending_access_during_refreshes_or_exchanges_ends_all_tokens(
    party: RelyingParty, end: Callable[[RelyingParty, str], None], during: str, attempt: int
) -> None:
    code = party.code()
    token = party.exchange(code).json()["refresh_token"] if during == "refreshes" else ""

    def act(number: int) -> Any:
        if number == 1:
            return end(party, token)
        return party.exchange(code) if during == "exchanges" else party.refresh(token)

    responses = [response for response in at_once(4, act) if response is not None]
    assert set(counted(responses)) <= {200, 400}
    assert_nothing_alive(party, responses)


@pytest.mark.parametrize("attempt", range(3))
def test_removing_access_during_an_authorization_leaves_only_consented_tokens(
    party: RelyingParty, attempt: int
) -> None:
    party.tokens()
    connection = Connection.objects.get()

    def act(number: int) -> Any:
        if number == 0:
            consent.remove_consent(Connection.objects.get(pk=connection.pk))
            return None
        return party.authorize()

    response = next(one for one in at_once(2, act) if one is not None)
    assert Connection.objects.get().removed_at is not None
    if response.status_code == 302:  # it came first, and ended with the rest
        assert party.exchange(answer_of(response)["code"]).json()["error"] == "invalid_grant"
    else:
        assert response.status_code == 200  # it came second, and asks


def test_reactivation_revives_no_tokens_that_were_issued_during_the_deactivation(party: RelyingParty) -> None:
    party.tokens()
    account = Account.objects.get(email="ada@example.com")
    with transaction.atomic():
        account.is_active = False
        account.save()
        (tokens,) = at_once(1, lambda number: party.tokens(prompt="none"))  # does not see the deactivation yet
    assert party.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    account.is_active = True
    account.save()
    assert party.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert party.call("/v1/me", tokens["access_token"]).status_code == 401


def test_no_tokens_survive_a_change_of_type_at_the_same_moment(party: RelyingParty) -> None:
    party.tokens()
    tokens: list[dict[str, Any]] = []

    def get_tokens() -> None:
        code = party.code(prompt="none")
        response = party.exchange(code)  # with the secret that the change ends
        tokens.extend([response.json()] if response.status_code == 200 else [])

    with meanwhile(get_tokens) as begin, transaction.atomic():
        change_type(Client.objects.get(pk=party.client.pk), Client.Type.SPA)
        begin()
    public = RelyingParty(party.client, party.browser)
    for each in tokens:
        assert public.refresh(each["refresh_token"]).json().get("error") == "invalid_grant"
        assert party.call("/v1/me", each["access_token"]).status_code == 401


def test_removing_access_while_the_account_is_deleted_is_no_deadlock(party: RelyingParty) -> None:
    party.tokens()
    account, connection = Account.objects.get(email="ada@example.com"), Connection.objects.get()
    with meanwhile(lambda: consent.remove_consent(connection)) as begin, transaction.atomic():
        Account.objects.select_for_update().get(pk=account.pk)  # as `delete_account` begins
        begin()
        delete_account(account)
    assert not Account.objects.filter(pk=account.pk).exists()


@contextmanager
def when_deleted(model: type[Model], act: Callable[[], Any]) -> Iterator[None]:
    """Call `act` on another connection as soon as a row of the model is deleted."""
    with meanwhile(act) as begin:
        post_delete.connect(begin, sender=model)
        try:
            yield
        finally:
            post_delete.disconnect(begin, sender=model)


@pytest.mark.parametrize("what", ["app", "project"])
def test_deleting_an_app_while_the_account_of_a_user_is_deleted_is_no_deadlock(party: RelyingParty, what: str) -> None:
    """The app's deletion begins after the person's connections have changed."""
    party.tokens()
    account, owner, project = Account.objects.get(email="ada@example.com"), make_account(), party.client.project
    Project.objects.filter(pk=project.pk).update(deleted_at=clock.now() - timedelta(days=400))
    with when_deleted(Account, lambda: delete_client(party.client, owner) if what == "app" else purge_project(project)):
        delete_account(account)
    assert not Account.objects.filter(pk=account.pk).exists()
    assert not Client.objects.filter(pk=party.client.pk).exists()


def test_removing_access_while_a_deleted_project_is_removed_is_no_deadlock(party: RelyingParty) -> None:
    """The person begins after the project's connections are deleted, and before its clients are."""
    party.tokens()
    connection, project = Connection.objects.get(), party.client.project
    Project.objects.filter(pk=project.pk).update(deleted_at=clock.now() - timedelta(days=400))
    with when_deleted(Connection, lambda: consent.remove_consent(connection)):
        assert purge_project(project)
    assert not Connection.objects.exists()


@pytest.mark.parametrize("what", ["client", "account"])
def test_a_deletion_during_refreshes_and_authorizations_succeeds(party: RelyingParty, what: str, settings: Any) -> None:
    """In another order of locks, PostgreSQL would end the deletion as a deadlock, and the tokens would stay valid."""
    settings.CLIENT_REQUESTS_PER_MINUTE = settings.API_CALLS_PER_PERSON_PER_MINUTE = 100_000
    token, other, code = party.tokens()["refresh_token"], party.tokens()["refresh_token"], party.code()
    owner, account = make_account(), Account.objects.get(email="ada@example.com")
    until = time.monotonic() + 20

    def keep_refreshing(newest: str) -> int:
        while (response := party.refresh(newest)).status_code == 200 and time.monotonic() < until:
            newest = response.json()["refresh_token"]
        status: int = response.status_code
        return status

    def delete() -> None:
        time.sleep(0.05)
        delete_client(party.client, owner) if what == "client" else delete_account(account)

    acts: list[Callable[[], int | None]] = [
        lambda: keep_refreshing(token),
        lambda: keep_refreshing(other),
        lambda: party.exchange(code).status_code,
        lambda: party.authorize().status_code,
        delete,
    ]
    *refreshed, exchanged, authorized, _ = at_once(len(acts), lambda number: acts[number]())
    assert set(refreshed) <= {400, 401}
    assert exchanged in (200, 400, 401)
    assert authorized in (302, 400)
    assert not RefreshToken.objects.exists()


def assert_nothing_alive(party: RelyingParty, responses: list[Any]) -> None:
    for response in responses:
        if response.status_code == 200:
            tokens = response.json()
            assert party.call("/connect/userinfo", tokens["access_token"]).status_code == 401
            assert party.call("/v1/me", tokens["access_token"]).status_code == 401
            assert party.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert not TokenFamily.objects.filter(revoked_at=None).exists()
