"""GET /v1/me: `id` always, and exactly the fields that the scopes open: docs/api.md."""

from dataclasses import fields as fields_of
from typing import Any

import pytest

from accounts.models import Account
from accounts.profile.claims import Profile
from oidc.apis.scopes import CLAIM_SCOPES
from oidc.models import Client
from tests.api.calls import ME, call
from tests.api.conftest import Key
from tests.factories import make_access_token, make_account, make_client


def test_a_scope_opens_each_field_of_a_profile() -> None:
    assert [field.name for field in fields_of(Profile)] == list(CLAIM_SCOPES)


def test_it_is_the_id_that_the_projects_apps_see(key: Key) -> None:
    token = make_access_token(make_client(key.project), key.owner)
    assert call(ME, token).json()["id"] == call(ME, key.raw).json()["id"]
    elsewhere = make_access_token(make_client(), key.owner)
    assert call(ME, elsewhere).json()["id"] != call(ME, key.raw).json()["id"]


@pytest.mark.parametrize("family_name", [None, ""])
def test_missing_values_are_null(family_name: str | None, spa: Client) -> None:
    account = make_account(family_name=family_name)
    body = call(ME, make_access_token(spa, account)).json()
    assert body["family_name"] is None
    assert body["picture"] is None
    assert body["name"] == "Ada"


def test_a_person_without_a_name(spa: Client) -> None:
    body = call(ME, make_access_token(spa, make_account(given_name="", family_name=None))).json()
    assert (body["name"], body["given_name"], body["family_name"]) == ("", "", None)


def test_names_of_any_script(spa: Client) -> None:
    account = make_account(given_name="Søren ✨", family_name="</script>\u202e李")
    body = call(ME, make_access_token(spa, account)).json()
    assert body["name"] == "Søren ✨ </script>\u202e李"


def test_an_address_that_is_not_proven(spa: Client) -> None:
    account = make_account(verified=False)
    assert call(ME, make_access_token(spa, account)).json()["email_verified"] is False


def test_no_account_id_anywhere(key: Key, token: str) -> None:
    # Given to the account afterwards, so that it can't be in a random text by chance.
    number = 987_654_321_012
    moved: Any = Account.objects.filter(pk=key.owner.pk).values().get() | {"id": number, "email": "eve@example.com"}
    eve = Account.objects.create(**moved)
    raw = make_access_token(make_client(), eve)
    response = call(ME, raw)
    assert str(number) not in response.content.decode() + str(response.headers) + raw
