"""Invitations as others would use them: to add headers to a mail, to join uninvited, to find out who has an account."""

from typing import Any
from urllib.parse import urlencode

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from accounts.models import Account, Family, Invitation, Outbox
from accounts.plans import invitations
from tests.accounts.plans.factories import family_of
from tests.factories import PASSWORD, make_account
from tests.security.test_bad_input import HOSTILE

pytestmark = pytest.mark.django_db
INVITE = "/account/plan/family/invite"
FORM = "application/x-www-form-urlencoded"


@pytest.fixture(autouse=True)
def no_exceptions_here(client: Browser) -> None:
    """Take a 500 as a 500."""
    client.raise_request_exception = False


@pytest.fixture
def family(signed_in: Browser, person: Account) -> Family:
    return family_of(person)


@pytest.fixture
def eve() -> Browser:
    browser = Browser(raise_request_exception=False)
    account = make_account("eve@example.com")
    browser.post("/account/login/", {"login": account.email, "password": PASSWORD})
    return browser


def invite(browser: Browser, address: str) -> Any:
    return browser.post(INVITE, urlencode({"email": address}), content_type=FORM)


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_address_is_refused_and_mails_nobody(signed_in: Browser, family: Family, what: str) -> None:
    for value in (HOSTILE[what], f"{HOSTILE[what]}@example.com", f"x@{HOSTILE[what]}.example"):
        response = signed_in.post(INVITE, f"email={value}", content_type=FORM)
        assert response.status_code in (200, 302, 400), what
        for row in Outbox.objects.all():
            assert row.message().message()["To"] == row.to
            assert row.message().message()["X-Injected"] is None
    if "nul" in what or "line breaks" in what:
        assert not Outbox.objects.exists()


INVALID = [
    "x@example.com\r\nBcc: eve@example.com", "x@example.com\nSubject: hello\n\nBody", "x@example.com\x00",
    "\x00x@example.com", "x@example.com, eve@example.com", "x@example.com; eve@example.com",
    "x@example.com eve@example.com", "Eve <eve@example.com>", "<eve@example.com>", '"x\r\ny"@example.com',
    "x@example.com\u2028Bcc: eve@example.com", "x" * 250 + "@example.com", "x@" + "y" * 250 + ".example",
    "x@" + "y." * 5000 + "example", "x" * 200_000, "x@[127.0.0.1\r\n]", "@", "x@", "x@local\x0bhost",
    "x\ufeffy@exam\u200bple.com", "\N{CYRILLIC SMALL LETTER HA}@example.com\u202e",
]  # fmt: skip


@pytest.mark.parametrize("address", INVALID)
def test_invalid_email_addresses_are_not_mailed(signed_in: Browser, family: Family, address: str) -> None:
    response = invite(signed_in, address)
    assert response.status_code == 200
    assert "field__errors" in response.content.decode()
    assert not Outbox.objects.exists()
    assert not Invitation.objects.exists()


def test_repeated_and_missing_fields(signed_in: Browser, family: Family) -> None:
    assert signed_in.post(INVITE, "", content_type=FORM).status_code == 200
    assert signed_in.post(INVITE, "email[]=x@example.com&email=", content_type=FORM).status_code == 200
    assert signed_in.post(INVITE, '{"email": "x@example.com"}', content_type="application/json").status_code == 200
    assert not Invitation.objects.exists()
    assert signed_in.post(INVITE, "email=1@example.com&email=2@example.com", content_type=FORM).status_code == 302
    assert Invitation.objects.count() == 1


def test_form_fields_choose_neither_group_nor_inviter(signed_in: Browser, family: Family, person: Account) -> None:
    other = family_of(make_account())
    values = {
        "email": "x@example.com", "family": str(other.pk), "organization": "1", "invited_by": "1",
        "expires_at": "2100-01-01", "accepted_at": "2020-01-01",
    }  # fmt: skip
    assert signed_in.post(INVITE, values).status_code == 302
    row = Invitation.objects.get()
    assert (row.family, row.organization, row.invited_by, row.accepted_at) == (family, None, person, None)
    assert row.expires_at.year < 2100


def test_keys_of_others_and_unknown_keys_return_the_same_404(eve: Browser, signed_in: Browser, family: Family) -> None:
    row = invitations.invite(family, "x@example.com", family.owner)
    answers = set()
    for key in (row.pk, row.pk + 1, 0, 2**63, 10**40):
        for action in ("accept", "decline"):
            response = eve.post(f"/account/plan/invitations/{key}/{action}")
            answers.add((response.status_code, "x@example.com" in response.content.decode()))
    assert answers == {(404, False)}
    for text in ("-1", "1.0", "1%00", "abc", "%D9%A1", "0x1", ""):
        assert eve.post(f"/account/plan/invitations/{text}/accept").status_code in (400, 404), text
    row.refresh_from_db()
    assert row.is_open


@pytest.mark.parametrize(
    "invited",
    [
        "EVE@example.com.",
        "eve@example.com.example.com",
        "\N{CYRILLIC SMALL LETTER IE}ve@example.com",
        "eve@ex\N{CYRILLIC SMALL LETTER A}mple.com",
        "e\N{ZERO WIDTH JOINER}ve@example.com",
        "eve+1@example.com",
        "e.ve@example.com",
    ],
)
def test_a_similar_email_address_can_not_accept(eve: Browser, person: Account, invited: str) -> None:
    moment = person.created_at
    row = Invitation.objects.create(
        family=family_of(person),
        email=invited.lower(),
        created_at=moment,
        mailed_at=moment,
        expires_at=moment.replace(year=2100),
    )
    assert "invites you" not in eve.get("/account/plan").content.decode()
    assert eve.post(f"/account/plan/invitations/{row.pk}/accept").status_code == 404


def test_an_invited_address_is_normalized_like_an_account(signed_in: Browser, family: Family) -> None:
    # The Kelvin sign is a plain k in lower case, but no mail server would accept it.
    assert invite(signed_in, "\N{KELVIN SIGN}im@example.com").status_code == 200
    assert invite(signed_in, " KIM@Example.com").status_code == 302
    assert Outbox.objects.get().to == Invitation.objects.get().email == "kim@example.com"


def test_an_unverified_email_address_can_not_accept(family: Family, person: Account) -> None:
    invitations.invite(family, "victim@example.com", person)
    row = Invitation.objects.get()
    claims = make_account("victim@example.com", verified=False)
    second = make_account("mallory@example.com")
    EmailAddress.objects.create(user=second, email="VICTIM@example.com", verified=False, primary=False)
    for account in (claims, second):
        browser = Browser()
        browser.force_login(account, backend="allauth.account.auth_backends.AuthenticationBackend")
        assert "invites you" not in browser.get("/account/plan").content.decode()
        assert browser.post(f"/account/plan/invitations/{row.pk}/accept").status_code == 404
        assert browser.post(f"/account/plan/invitations/{row.pk}/decline").status_code == 404
    assert family.members.count() == 1


def test_people_without_a_verified_email_address_cannot_invite() -> None:
    unproven = make_account("not-me@example.com", verified=False)
    family_of(unproven)
    browser = Browser()
    browser.force_login(unproven, backend="allauth.account.auth_backends.AuthenticationBackend")
    assert "Confirm your own email address" in invite(browser, "x@example.com").content.decode()
    assert not Outbox.objects.exists()


def test_known_and_unknown_addresses_get_the_same_page_and_the_same_work(signed_in: Browser, family: Family) -> None:
    make_account("known@example.com")
    counts = []
    for address in ("known@example.com", "other@example.com"):
        with CaptureQueriesContext(connection) as captured:
            assert invite(signed_in, address).status_code == 302
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_the_mail_uses_the_configured_host(
    signed_in: Browser, family: Family, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    with django_capture_on_commit_callbacks(execute=True):
        signed_in.post(INVITE, {"email": "x@example.com"}, headers={"host": "evil.example"})
    (message,) = mail.outbox
    assert "evil.example" not in message.message().as_string()
    assert settings.AUTH_URL in str(message.body)
