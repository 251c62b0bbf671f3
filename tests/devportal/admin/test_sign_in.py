"""The admin has no separate sign-in: nothing that is sent to its URL signs anyone in."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client as Browser

from accounts.models import Account
from tests.devportal.admin.conftest import World
from tests.factories import PASSWORD, make_account

METHODS = ("get", "post", "put", "head")
PLACES = ("/admin/login/", "/admin/login/?next=/admin/accounts/account/", "/admin/?next=/admin/", "/admin/logout/")


@pytest.fixture
def operator(db: None) -> Account:
    return make_account("operator@example.com", is_staff=True, is_superuser=True)


def credentials(account: Account) -> dict[str, str]:
    return {"username": account.email, "login": account.email, "password": PASSWORD, "next": "/admin/"}


def who(browser: Browser) -> str | None:
    """Return the key of the person that a browser's session belongs to."""
    return browser.session.get("_auth_user_id") if browser.cookies else None


@pytest.mark.parametrize("method", METHODS)
def test_nothing_that_is_sent_to_the_admin_signs_anyone_in(
    method: str, signed_in: Browser, person: Account, operator: Account
) -> None:
    stranger = Browser()
    for place in PLACES:
        response = getattr(stranger, method)(place, credentials(operator))
        assert response.status_code == 302
        assert response["Location"].startswith(("/account/login/?next=/admin/", "/admin/"))
        assert who(stranger) is None
        response = getattr(signed_in, method)(place, credentials(operator))
        assert response.status_code in (302, 403)
        assert b"password" not in response.content
        assert who(signed_in) == str(person.pk)


@pytest.mark.parametrize("method", METHODS)
def test_staff_are_sent_to_the_index(method: str, as_reviewer: Browser, operator: Account, world: World) -> None:
    before = who(as_reviewer)
    response = getattr(as_reviewer, method)("/admin/login/", credentials(operator))
    assert (response.status_code, response["Location"]) == (302, "/admin/")
    assert who(as_reviewer) == before
    assert world.person.email not in as_reviewer.get("/admin/").content.decode()


@pytest.mark.parametrize("url", ["/admin/logout/", "/admin/password_change/", "/admin/password_change/done/"])
def test_the_admin_has_no_account_pages_of_its_own(as_operator: Browser, url: str) -> None:
    response = as_operator.post(url)
    assert response.status_code == 302
    assert response["Location"].startswith("/account/")
    assert as_operator.get("/admin/").status_code == 200


def test_other_people_see_an_error_and_no_redirect_loop(signed_in: Browser) -> None:
    answer = signed_in.get("/admin/", follow=True)
    assert [status for _, status in answer.redirect_chain] == [302]
    assert answer.status_code == 403


def test_a_deactivated_operator_has_to_sign_in(operator: Account) -> None:
    browser = Browser()
    browser.force_login(operator, backend="allauth.account.auth_backends.AuthenticationBackend")
    assert browser.get("/admin/login/")["Location"] == "/admin/"
    operator.is_active = False
    operator.save()
    assert browser.get("/admin/login/")["Location"].startswith("/account/login/")


@pytest.mark.parametrize(
    ("wanted", "kept"),
    [
        ("/admin/accounts/account/", "/admin/accounts/account/"),
        ("", "/admin/"),
        ("https://evil.example.com/", "/admin/"),
        ("//evil.example.com/", "/admin/"),
        ("/\\evil.example.com", "/admin/"),
        ("javascript:alert(1)", "/admin/"),
    ],
)
def test_redirects_after_sign_in_stay_on_this_service(wanted: str, kept: str, client: Browser, db: None) -> None:
    location = client.get("/admin/login/", {"next": wanted})["Location"]
    assert parse_qs(urlsplit(location).query)["next"] == [kept]
