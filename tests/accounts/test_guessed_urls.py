"""URLs that people guess lead to the page that they mean."""

import pytest
from django.test import Client as Browser

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("guess", "page"),
    [
        ("/account/profile/", "/account/profile"),
        ("/account/apps", "/account/apps/"),
        ("/Account/Passkeys/", "/account/2fa/webauthn/"),
        ("/account/devices", "/account/sessions/"),
        ("/account", "/account/"),
        ("/login", "/account/login/"),
        ("/sign-up/", "/account/signup/"),
    ],
)
def test_a_guess_leads_to_the_page(client: Browser, guess: str, page: str) -> None:
    answer = client.get(f"{guess}?next=//evil.example")
    assert (answer.status_code, answer["Location"]) == (302, page)
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.parametrize("path", ["/account/nothing/", "/data", "/docs/profile", "/account/x/profile/"])
def test_other_urls_stay_unknown(client: Browser, path: str) -> None:
    assert client.get(path).status_code == 404


def test_a_form_is_not_redirected(client: Browser) -> None:
    assert client.post("/account/profile/").status_code == 404
