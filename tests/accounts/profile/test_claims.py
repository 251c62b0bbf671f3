"""A person's profile: what apps may learn, and the page on which the person changes it."""

import pytest
from django.test import Client as Browser

from accounts.models import Account
from accounts.profile.claims import display_name, profile_of
from tests.factories import make_account
from tests.relying_party import RelyingParty

pytestmark = pytest.mark.django_db


# --- Claims ---


@pytest.mark.parametrize(
    ("given", "family", "name"),
    [
        ("Ada", None, "Ada"),
        ("Ada", "", "Ada"),
        ("", "Lovelace", "Lovelace"),
        ("", None, ""),
        ("Zo\u00eb \u827e", "\u00d3", "Zo\u00eb \u827e \u00d3"),
    ],
)
def test_names_of_every_kind(given: str, family: str | None, name: str) -> None:
    account = make_account(given_name=given, family_name=family)
    profile = profile_of(account, "key")
    assert profile.name == name
    assert profile.family_name == (family or None)
    assert display_name(account) == (name or account.email)


def test_addresses_are_kept_in_lower_case() -> None:
    account = make_account("Ada@Example.COM")
    assert account.email == "ada@example.com"
    assert Account.objects.get_by_natural_key("ADA@example.com") == account


def test_one_address_is_one_account() -> None:
    from django.db import IntegrityError, transaction

    make_account("ada@example.com")
    with pytest.raises(IntegrityError), transaction.atomic():
        Account.objects.create(email="ADA@example.com")


# --- The page ---


def save(browser: Browser, **changes: str) -> int:
    form = {"given_name": "Ada", "family_name": "Lovelace"} | changes
    return int(browser.post("/account/profile", form).status_code)


def test_the_person_changes_their_name(signed_in: Browser, person: Account) -> None:
    assert save(signed_in, given_name=" Augusta ", family_name="King") == 302
    person.refresh_from_db()
    assert person.full_name == "Augusta King"
    save(signed_in, family_name="  ")
    person.refresh_from_db()
    assert person.family_name is None


@pytest.mark.parametrize("name", ["\u200b", "\u3164", "\u202e \u2060", "\u0301"])
def test_a_name_that_shows_nothing_is_refused(signed_in: Browser, person: Account, name: str) -> None:
    for form in ({"given_name": name}, {"given_name": "Ada", "family_name": name}):
        page = signed_in.post("/account/profile", form)
        assert b"Enter a name with visible characters." in page.content
        signing_up = {"email": "new@example.com", "password1": "a quiet evening 42"} | form
        page = Browser().post("/account/signup/", signing_up)
        assert b"Enter a name with visible characters." in page.content
    assert Account.objects.get().full_name == person.full_name


def test_apps_see_the_change_when_they_next_ask(app: RelyingParty) -> None:
    token = app.tokens()["access_token"]
    save(app.browser, given_name="Augusta")
    assert app.call("/connect/userinfo", token).json()["given_name"] == "Augusta"
    assert app.call("/v1/me", token).json()["given_name"] == "Augusta"


def test_the_form_changes_nothing_else(signed_in: Browser, person: Account) -> None:
    save(
        signed_in,
        email="evil@example.com",
        email_verified="",
        is_staff="on",
        is_superuser="on",
        is_active="",
        password="x",
        id="1",
    )
    before = Account.objects.get(pk=person.pk)
    assert before.email == "ada@example.com"
    assert before.email_verified
    assert before.is_active
    assert not before.is_staff
    assert not before.is_superuser
    assert before.check_password("correct horse 9 battery")


@pytest.mark.parametrize("changes", [{"given_name": "x" * 101}, {"family_name": "x" * 101}])
def test_a_name_that_is_too_long_is_refused(signed_in: Browser, person: Account, changes: dict[str, str]) -> None:
    assert save(signed_in, **changes) == 200
    person.refresh_from_db()
    assert person.full_name == "Ada Lovelace"


def test_names_are_escaped(signed_in: Browser) -> None:
    save(signed_in, given_name="<script>alert(1)</script>")
    assert b"<script>alert" not in signed_in.get("/account/").content
