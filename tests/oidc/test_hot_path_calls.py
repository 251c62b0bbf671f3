"""How many Python functions the endpoints of apps call: what creeps onto a hot path shows without a clock."""

from urllib.parse import urlencode

import pytest
from django.test import RequestFactory

from tests.call_counts import calls_of_view
from tests.relying_party import FORM, RelyingParty

# A quarter above what was counted on SQLite, from the view inwards; PostgreSQL takes less. To raise one is to say
# that a request may cost more.
REFRESH = 790
EXCHANGE = 805
USERINFO = 335


@pytest.fixture(params=["spa", "web"])
def either(request: pytest.FixtureRequest, app: RelyingParty, web_app: RelyingParty) -> RelyingParty:
    return app if request.param == "spa" else web_app


def calls_of(app: RelyingParty, form: dict[str, str]) -> int:
    """Return how many functions the view of the token endpoint calls until it has answered with tokens."""
    request = RequestFactory().post("/connect/token", urlencode(form | app.credentials()), content_type=FORM)
    return calls_of_view(request)


def warm(app: RelyingParty) -> str:
    """Have the app refresh twice, and return the newest refresh token."""
    token: str = app.tokens()["refresh_token"]
    for _ in range(2):
        token = app.refresh(token).json()["refresh_token"]
    return token


def test_a_refresh_calls_few_functions(either: RelyingParty) -> None:
    form = {"grant_type": "refresh_token", "refresh_token": warm(either)}
    assert calls_of(either, form) <= REFRESH


def test_a_code_exchange_calls_few_functions(either: RelyingParty) -> None:
    warm(either)
    form = {"grant_type": "authorization_code", "redirect_uri": either.redirect_uri, "code_verifier": either.verifier}
    assert calls_of(either, form | {"code": either.code()}) <= EXCHANGE


def test_userinfo_calls_few_functions(app: RelyingParty) -> None:
    bearer = {"authorization": f"Bearer {app.tokens()['access_token']}"}
    calls = [calls_of_view(RequestFactory().get("/connect/userinfo", headers=bearer)) for _ in range(3)]
    assert calls[-1] <= USERINFO
