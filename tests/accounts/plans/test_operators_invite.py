"""Operators invite to organizations, and take invitations back, in the admin."""

import pytest
from django.test import Client as Browser

from accounts.models import Account, Invitation, Organization, Outbox
from accounts.plans import invitations
from tests.accounts.plans.factories import make_operator, organization_of
from tests.factories import make_account

pytestmark = pytest.mark.django_db


@pytest.fixture
def acme(person: Account) -> Organization:
    return organization_of(person)


@pytest.fixture
def operator(client: Browser) -> Browser:
    account = make_account("op@example.com", is_staff=True, is_superuser=True)
    client.force_login(account, backend="allauth.account.auth_backends.AuthenticationBackend")
    client.raise_request_exception = False
    return client


def invite(browser: Browser, organization: Organization, address: str) -> str:
    path = f"/admin/accounts/organization/{organization.pk}/do/invite/"
    response = browser.post(path, {"email": address}, follow=True)
    assert response.status_code == 200
    return response.content.decode()


def test_an_operator_invites_and_withdraws(operator: Browser, acme: Organization) -> None:
    assert "new@example.com is invited" in invite(operator, acme, "New@Example.com")
    row = Invitation.objects.get()
    assert (row.organization, row.email) == (acme, "new@example.com")
    mail = Outbox.objects.get()
    assert mail.to == "new@example.com"
    assert "op@example.com" not in mail.body
    assert "new@example.com" in operator.get("/admin/accounts/invitation/").content.decode()
    withdrawn = operator.post(f"/admin/accounts/invitation/{row.pk}/do/withdraw/", follow=True)
    assert withdrawn.status_code == 200
    assert not Invitation.objects.open().exists()


def test_a_member_is_not_invited_again(operator: Browser, acme: Organization, person: Account) -> None:
    assert f"{person.email} is already a member" in invite(operator, acme, person.email)
    assert not Outbox.objects.exists()


@pytest.mark.parametrize(
    "address",
    [
        "",
        "x",
        "x@\u202e.example",
        "x\x00@example.com",
        "x@example.com\r\nBcc: y@example.com",
        "x" * 300 + "@example.com",
        "x@" + "long." * 60 + "example",
        "\N{LATIN SMALL LETTER LONG S}x@example.com",
    ],
)
def test_an_invalid_email_address_shows_an_error(operator: Browser, acme: Organization, address: str) -> None:
    invite(operator, acme, address)
    assert not Outbox.objects.exists()
    assert not Invitation.objects.exists()


def test_nobody_else_invites_here(signed_in: Browser, acme: Organization) -> None:
    path = f"/admin/accounts/organization/{acme.pk}/do/invite/"
    assert signed_in.post(path, {"email": "x@example.com"}).status_code in (302, 403, 404)
    row = invitations.invite(acme, "x@example.com", make_operator())
    withdraw = f"/admin/accounts/invitation/{row.pk}/do/withdraw/"
    assert signed_in.post(withdraw).status_code in (302, 403, 404)
    row.refresh_from_db()
    assert row.is_open
    assert Outbox.objects.count() == 1
