"""Each scope returns the claims that its sentence on the consent page names, and no new one without being noticed.

When one of these tests fails, someone added a claim. People who allowed the scope before were not asked about it: give
the claim another scope, or change the sentence and have people asked again.
"""

import re

import pytest
from django.conf import settings

from accounts.models import Account
from api import me
from oidc.apis import scopes
from oidc.apis.registry import IDENTITY_SCOPES, OPENID
from oidc.models import Client
from tests.api.calls import ME, call
from tests.api.conftest import Key
from tests.factories import make_access_token, make_account, make_client, make_project

# What people read, and what the app then gets from userinfo and `/v1/me`.
CLAIMS = {
    "openid": ("Recognize you when you come back", set()),
    "email": ("See your email address", {"email", "email_verified"}),
    "profile": ("See your name and photo", {"name", "given_name", "family_name", "picture"}),
    "offline_access": ("Keep this access while you are away, until you remove the app", set()),
    "account.read": (
        "See your email address, your name and photo, and your plan",
        {"email", "email_verified", "name", "given_name", "family_name", "picture"},
    ),
}


@pytest.fixture
def reviewed(db: None) -> Client:
    return make_client(make_project(), approved_scopes="account.read")


def fields_with(client: Client, *names: str) -> set[str]:
    """Return what `/v1/me` returns to an app with these scopes, beside the id."""
    ada: Account = make_account("ada@example.com")
    response = call(ME, make_access_token(client, ada, ["openid", *names]))
    assert response.status_code == 200
    return set(response.json()) - {"id"}


def test_every_scope_has_the_sentence_that_people_have_read() -> None:
    assert {name: scope.title for name, scope in scopes.known_scopes().items()} == {
        name: title for name, (title, _) in CLAIMS.items()
    }


def test_the_documentation_lists_the_identity_scopes_with_their_claims() -> None:
    page = (settings.PROJECT_DIR / "docs" / "sign-in.md").read_text(encoding="utf-8")
    table = page.partition("### Scopes\n")[2].partition("\n#")[0]
    told = {
        scope: re.findall(r"`(\w+)`", cell) for scope, cell in re.findall(r"^\| `(\w+)` \| ([^|]+) \|", table, re.M)
    }
    claims = {scope.name: list[str]() for scope in IDENTITY_SCOPES} | {OPENID: ["sub"]}
    for claim, scope in scopes.CLAIM_SCOPES.items():
        claims[scope].append(claim)
    assert told == claims, "the table “Scopes” of docs/sign-in.md"


@pytest.mark.parametrize("names", [("email",), ("profile",), ("email", "profile"), ("email", "offline_access")])
def test_an_app_gets_the_claims_that_its_scopes_name(reviewed: Client, names: tuple[str, ...]) -> None:
    assert fields_with(reviewed, *names) == set().union(*(CLAIMS[name][1] for name in names))


@pytest.mark.parametrize("other", ["email", "profile"])
def test_account_read_adds_the_claims_that_it_names(reviewed: Client, other: str) -> None:
    assert fields_with(reviewed, other, "account.read") == CLAIMS["account.read"][1]


def test_a_key_gets_the_claims_that_account_read_names(key: Key) -> None:
    assert set(call(ME, key.raw).json()) - {"id"} == CLAIMS["account.read"][1]


@pytest.mark.parametrize("scope", ["profile", "email", "phone"])
def test_a_new_claim_does_not_reach_holders_of_account_read(scope: str) -> None:
    fields = me.scopes_of_fields(scopes.CLAIM_SCOPES | {"phone_number": scope})
    assert fields["phone_number"] == {scope}


def test_the_scopes_that_account_read_covers_are_those_whose_claims_it_names() -> None:
    assert CLAIMS["account.read"][1] == scopes.ACCOUNT_READ_CLAIMS
    assert {"email", "profile"} == scopes.ACCOUNT_READ_HOLDS


def test_the_titles_of_account_read_name_what_no_other_scope_on_the_page_names() -> None:
    titles = scopes._ACCOUNT_READ_TITLES
    assert len(titles) == 2 ** len(scopes.ACCOUNT_READ_HOLDS)
    for parts, title in titles.items():
        named = {
            name
            for name in scopes.ACCOUNT_READ_HOLDS
            if scopes.known_scopes()[name].title.removeprefix("See ") in title
        }
        assert named == set(parts)
