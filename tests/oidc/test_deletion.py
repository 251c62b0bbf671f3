"""Deletion ends every credential of what is deleted, and no identifier comes back (docs/security.md#deletion)."""

from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account, PairwiseSubject
from oidc.models import AccessToken, Client, Connection, RefreshToken, TokenFamily
from tests.factories import make_client, make_project, make_web_client
from tests.relying_party import RelyingParty


def is_dead(app: RelyingParty, code: str, tokens: dict[str, Any]) -> bool:
    return (
        app.exchange(code).status_code in (400, 401)
        and app.refresh(tokens["refresh_token"]).status_code in (400, 401)
        and app.call("/connect/userinfo", tokens["access_token"]).status_code == 401
        and app.call("/v1/me", tokens["access_token"]).status_code == 401
    )


# --- People ---


def test_a_deleted_persons_credentials_and_sessions_end(app: RelyingParty, person: Account) -> None:
    code, tokens = app.code(), app.tokens()
    person.delete()
    assert is_dead(app, code, tokens)
    assert app.browser.get("/account/")["Location"].startswith("/account/login/")
    assert app.authorize().status_code == 302


def test_a_deleted_person_leaves_only_an_anonymous_count(app: RelyingParty, person: Account) -> None:
    app.tokens()
    person.delete()
    left = Connection.objects.get()
    assert left.account is None
    assert left.scopes == ""
    assert left.removed_at is not None
    assert not PairwiseSubject.objects.exists()


def test_deletion_by_a_queryset_counts_too(app: RelyingParty, person: Account) -> None:
    code, tokens = app.code(), app.tokens()
    Account.objects.filter(pk=person.pk).delete()
    assert is_dead(app, code, tokens)
    assert Connection.objects.count() == 1


def test_a_deactivated_persons_credentials_and_sessions_end(app: RelyingParty, person: Account) -> None:
    code, tokens = app.code(), app.tokens()
    person.is_active = False
    person.save()
    assert is_dead(app, code, tokens)
    assert app.browser.get("/account/")["Location"].startswith("/account/login/")


def test_reactivation_revives_no_token(app: RelyingParty, person: Account) -> None:
    code, tokens = app.code(), app.tokens()
    person.is_active = False
    person.save()
    person.is_active = True
    person.save()
    assert is_dead(app, code, tokens)
    assert TokenFamily.objects.filter(revoked_at=None).count() == 0


def test_saving_an_active_account_ends_no_tokens(app: RelyingParty, person: Account) -> None:
    tokens = app.tokens()
    person.given_name = "Augusta"
    person.save()
    assert app.refresh(tokens["refresh_token"]).status_code == 200


# --- Clients and projects ---


def test_a_deleted_clients_credentials_end(web_app: RelyingParty) -> None:
    code, tokens = web_app.code(), web_app.tokens()
    Client.objects.get(pk=web_app.client.pk).delete()
    assert is_dead(web_app, code, tokens)
    assert web_app.authorize().status_code == 400
    assert b"Web Notes</h2>" not in web_app.browser.get("/account/apps/").content


def test_a_deleted_projects_credentials_end(app: RelyingParty) -> None:
    code, tokens = app.code(), app.tokens()
    app.client.project.delete()
    assert is_dead(app, code, tokens)
    assert not AccessToken.objects.exists()
    assert not RefreshToken.objects.exists()


def test_others_are_not_touched(app: RelyingParty, web_app: RelyingParty) -> None:
    tokens = web_app.tokens()
    app.tokens()
    app.client.project.delete()
    assert web_app.refresh(tokens["refresh_token"]).status_code == 200


def test_a_sub_is_kept_after_its_project_so_that_it_is_never_reused(app: RelyingParty) -> None:
    app.tokens()
    sub = PairwiseSubject.objects.get().sub
    app.client.project.delete()
    assert PairwiseSubject.objects.get().sub == sub


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
    from tests.relying_party import sign_in

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
    make_client()
