"""How many Python functions a call of the developer API runs: what creeps onto a hot path shows without a clock."""

from django.test import RequestFactory

from tests.api.conftest import Key
from tests.call_counts import calls_of_view
from tests.relying_party import RelyingParty

# An eighth above what was counted, from the view inwards, on PostgreSQL: within a test's transaction it is asked by
# cursors, and takes more than SQLite. To raise one is to say that a call may cost more.
BY_TOKEN = 350
BY_KEY = 300


def calls_of_me(credential: str) -> int:
    """Return how many functions a call of /v1/me runs, once what is done at first use is done."""
    headers = {"authorization": f"Bearer {credential}"}
    return [calls_of_view(RequestFactory().get("/v1/me", headers=headers)) for _ in range(3)][-1]


def test_a_call_with_a_token_calls_few_functions(app: RelyingParty) -> None:
    assert calls_of_me(app.tokens()["access_token"]) <= BY_TOKEN


def test_a_call_with_a_key_calls_few_functions(key: Key) -> None:
    assert calls_of_me(key.raw) <= BY_KEY
