"""Deletion ends every credential of what is deleted, and no identifier comes back (docs/security.md#deletion)."""

from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account, PairwiseSubject
from oidc.models import AccessToken, Client, Connection, RefreshToken, TokenFamily
from tests.factories import make_project, make_web_client
from tests.relying_party import RelyingParty, sign_in


def is_dead(app: RelyingParty, code: str, tokens: dict[str, Any]) -> bool:
    return (
        app.exchange(code).status_code in (400, 401)
        and app.refresh(tokens["refresh_token"]).status_code in (400, 401)
        and app.call("/connect/userinfo", tokens["access_token"]).status_code == 401
        and app.call("/v1/me", tokens["access_token"]).status_code == 401
    )


# --- People ---


@pytest.mark.parametrize("by_queryset", [False, True])
def test_a_deleted_persons_credentials_and_sessions_end(app: RelyingParty, person: Account, by_queryset: bool) -> None:
    code, tokens = app.code(), app.tokens()
    if by_queryset:
        Account.objects.filter(pk=person.pk).delete()
    else:
        person.delete()
    assert is_dead(app, code, tokens)
    assert app.browser.get("/account/")["Location"].startswith("/account/login/")
    assert app.authorize().status_code == 302
    left = Connection.objects.get()
    assert (left.account, left.scopes) == (None, ""), "only an anonymous count is left"
    assert left.removed_at is not None
    assert not PairwiseSubject.objects.exists()


def test_a_deactivated_persons_credentials_and_sessions_end_for_good(app: RelyingParty, person: Account) -> None:
    code, tokens = app.code(), app.tokens()
    for active in (False, True):
        person.is_active = active
        person.save()
        assert is_dead(app, code, tokens)
        assert app.browser.get("/account/")["Location"].startswith("/account/login/")
        assert not TokenFamily.objects.filter(revoked_at=None).exists()


def test_saving_an_active_account_ends_no_tokens(app: RelyingParty, person: Account) -> None:
    tokens = app.tokens()
    person.given_name = "Augusta"
    person.save()
    assert app.refresh(tokens["refresh_token"]).status_code == 200


# --- Clients and projects ---


@pytest.mark.parametrize("what", ["client", "project"])
def test_credentials_of_a_deleted_client_or_project_end_and_its_subs_are_never_reused(
    app: RelyingParty, web_app: RelyingParty, what: str
) -> None:
    code, tokens, others = app.code(), app.tokens(), web_app.tokens()
    subjects = list(PairwiseSubject.objects.order_by("pk").values())
    row = app.client.project if what == "project" else Client.objects.get(pk=app.client.pk)
    row.delete()
    assert is_dead(app, code, tokens)
    assert app.authorize().status_code == 400
    assert AccessToken.objects.count() == RefreshToken.objects.count() == 1
    assert web_app.refresh(others["refresh_token"]).status_code == 200
    assert list(PairwiseSubject.objects.order_by("pk").values()) == subjects


@pytest.mark.django_db
def test_identifiers_are_random_and_never_reused() -> None:
    client_ids, sectors, secrets = set(), set(), set()
    for _ in range(5):
        project = make_project()
        client, secret = make_web_client(project)
        client_ids.add(client.client_id)
        sectors.add(project.public_id)
        secrets.add(secret)
        project.delete()
    assert len(client_ids) == len(sectors) == len(secrets) == 5
    assert all(name.startswith("op_client_") and len(name) >= 32 for name in client_ids)


def test_a_pending_request_of_a_deleted_client_is_handled(spa: Client, person: Account) -> None:
    app = RelyingParty(spa, Browser())
    app.authorize()
    spa.delete()
    assert app.browser.get("/account/login/").status_code == 200
    sign_in(app.browser, person)
    resumed = app.browser.get("/connect/resume")
    assert app.browser.get(resumed["Location"]).status_code == 400


def test_a_consent_page_of_a_deleted_client_is_handled(app: RelyingParty) -> None:
    page = app.authorize()
    Client.objects.get(pk=app.client.pk).delete()
    assert app.answer_consent(page).status_code == 400
