"""The limit of people: a project's apps without a review take at most 100 besides the owners (docs/review.md#people).

More clients, deletion and other hosts: tests/security/test_people_limit.py.
"""

from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from core import clock
from oidc.models import Client, Connection, ProjectMember
from tests.factories import make_account
from tests.relying_party import RelyingParty, answer_of, sign_in

CAP = 3


@pytest.fixture(autouse=True)
def small_cap(settings: Any) -> None:
    settings.UNVERIFIED_APP_PEOPLE = CAP


@pytest.fixture
def full_app(app: RelyingParty) -> RelyingParty:
    fill(app.client, CAP)
    return app


def fill(client: Client, people: int) -> None:
    moments = dict.fromkeys(("first_authorized_at", "last_authorized_at"), clock.now())
    for _ in range(people):
        account = Account.objects.create(email=f"p{Account.objects.count()}@example.com")
        Connection.objects.create(account=account, client=client, scopes="openid", **moments)


def is_full_page(response: Any) -> bool:
    return response.status_code == 403 and "take more people" in response.content.decode()


def test_the_page_of_a_full_app_returns_to_it_and_grants_nothing(full_app: RelyingParty) -> None:
    page = full_app.authorize()
    assert 'name="decision" value="cancel"' in page.content.decode()
    answer = answer_of(full_app.answer_consent(page, "cancel"))
    assert (answer["error"], answer["state"]) == ("access_denied", full_app.state)
    assert is_full_page(full_app.answer_consent(full_app.authorize(), "allow"))
    assert Connection.objects.count() == CAP


def test_a_consent_page_is_rejected_once_the_limit_is_reached(app: RelyingParty) -> None:
    page = app.authorize()
    fill(app.client, CAP)
    assert is_full_page(app.answer_consent(page))
    assert Connection.objects.count() == CAP


def test_existing_users_keep_access(app: RelyingParty) -> None:
    tokens = app.tokens()
    fill(app.client, CAP)
    assert "code" in answer_of(app.authorize())
    assert app.refresh(tokens["refresh_token"]).status_code == 200
    assert "code" in answer_of(app.answer_consent(app.authorize(prompt="consent")))


def test_people_who_removed_the_app_can_return(app: RelyingParty) -> None:
    app.tokens()
    app.browser.post(f"/account/apps/{Connection.objects.get().pk}/remove")
    fill(app.client, CAP - 1)
    assert "code" in answer_of(app.answer_consent(app.authorize()))


@pytest.mark.parametrize("role", [ProjectMember.Role.DEVELOPER, ProjectMember.Role.VIEWER])
def test_other_members_count(full_app: RelyingParty, person: Account, role: str) -> None:
    ProjectMember.objects.create(project=full_app.client.project, account=person, role=role)
    assert is_full_page(full_app.authorize())


def test_first_party_apps_have_no_limit(full_app: RelyingParty) -> None:
    Client.objects.filter(pk=full_app.client.pk).update(first_party=True)
    assert "code" in answer_of(full_app.authorize())


def test_asking_again_counts_nobody_twice(app: RelyingParty) -> None:
    for _ in range(CAP + 1):
        app.tokens(prompt="consent")
    assert Connection.objects.filter(client=app.client).count() == 1


def test_declining_does_not_count(app: RelyingParty) -> None:
    fill(app.client, CAP - 1)
    app.answer_consent(app.authorize(), "cancel")
    other = app.beside(sign_in(Browser(), make_account()))
    assert "code" in answer_of(other.answer_consent(other.authorize()))
