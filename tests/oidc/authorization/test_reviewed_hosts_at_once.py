"""Many at once at a host that a review did not take in, on PostgreSQL: the cap is exact there too."""

from typing import Any

import pytest
from django.test import Client as Browser

from oidc.models import AuthorizationCode, Client, Connection
from oidc.tokens import signing_keys
from tests.at_once import at_once
from tests.factories import REDIRECT_URI, as_reviewed, make_account, make_client
from tests.oidc.tokens.test_concurrency import counted
from tests.relying_party import RelyingParty, answer_of, sign_in

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

FOREIGN = "https://elsewhere.test/callback"


@pytest.fixture
def client_of() -> Client:
    """An app whose review took in app.example.com, and that may lead elsewhere as well."""
    signing_keys.current_keyring()
    return make_client(redirect_uris=f"{REDIRECT_URI} {FOREIGN}", **as_reviewed())


def test_at_the_edge_of_the_cap_exactly_one_gets_a_code(client_of: Client, settings: Any) -> None:
    settings.UNVERIFIED_APP_PEOPLE = 2
    home = RelyingParty(client_of, sign_in(Browser(), make_account("first@example.com")))
    home.code()
    parties = [
        RelyingParty(client_of, sign_in(Browser(), make_account(f"p{n}@example.com")), redirect_uri=FOREIGN)
        for n in range(6)
    ]
    pages = [one.authorize() for one in parties]
    assert all(page.status_code == 200 for page in pages)
    responses = at_once(6, lambda number: parties[number].answer_consent(pages[number]))
    assert counted(responses) == {200: 1, 403: 5}
    assert AuthorizationCode.objects.filter(redirect_uri=FOREIGN).count() == 1
    assert Connection.objects.count() == 2
    late = RelyingParty(client_of, sign_in(Browser(), make_account("late@example.com")))
    assert "code" in answer_of(late.answer_consent(late.authorize())), "where it is reviewed there is no cap"


def test_one_form_sent_many_times_leaves_one_consent_and_one_live_code(client_of: Client) -> None:
    app = RelyingParty(client_of, sign_in(Browser(), make_account()), redirect_uri=FOREIGN)
    page = app.authorize()
    responses = at_once(6, lambda number: app.answer_consent(page))
    assert set(counted(responses)) == {200}
    assert Connection.objects.get().scopes_outside_review == {"elsewhere.test": "openid email profile offline_access"}
    assert AuthorizationCode.objects.filter(family__revoked_at=None).count() == 1
