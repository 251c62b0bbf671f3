"""No cache stores a page that is for a single browser. Pages of signed-in people are in crawl_table.py."""

from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client as Browser
from django.urls import path

from accounts.models import Account
from oidc.models import Client
from tests.relying_party import RelyingParty


def is_stored_by_none(response: Any) -> bool:
    directives = {part.strip() for part in response.get("Cache-Control", "").split(",")}
    return {"no-store", "private"} <= directives and "public" not in directives


def test_pages_of_unfinished_sign_ins_are_not_cached(spa: Client) -> None:
    app = RelyingParty(spa, Browser())
    page = app.browser.get(app.authorize()["Location"])
    assert is_stored_by_none(page)
    assert is_stored_by_none(app.browser.get("/docs/"))


@pytest.mark.django_db
@pytest.mark.parametrize(
    "address", ["/account/login/", "/account/signup/", "/account/password/reset/", "/account/login/?x=%00"]
)
def test_anonymous_forms_are_not_cached(address: str, client: Browser) -> None:
    assert is_stored_by_none(client.get(address))
    assert is_stored_by_none(client.get(address))


def test_pages_that_ask_for_codes_are_not_cached(client: Browser, person: Account) -> None:
    answers = [client.post("/account/password/reset/", {"email": person.email}, follow=True)]
    form = {"email": "new@example.com", "given_name": "New", "password1": "another horse 7 battery"}
    answers.append(Browser().post("/account/signup/", form, follow=True))
    for answer in answers:
        assert answer.status_code == 200
        assert b"code" in answer.content
        assert is_stored_by_none(answer)


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/", "/docs/"])
def test_public_pages_can_be_cached_for_anonymous_people(address: str, client: Browser) -> None:
    response = client.get(address)
    assert "no-store" not in response.get("Cache-Control", "")
    assert not response.cookies
    assert "Cookie" in response["Vary"]


def answering(cached: str | None = None, cookie: bool = False) -> Any:
    def view(request: HttpRequest) -> HttpResponse:
        response = HttpResponse("x")
        if cached is not None:
            response["Cache-Control"] = cached
        if cookie:
            response.set_cookie("some", "thing")
        return response

    return view


urlpatterns = [
    path("nothing-said", answering()),
    path("kept-an-hour", answering("max-age=3600")),
    path("private", answering("private, max-age=60")),
    path("public", answering("public, max-age=60")),
    path("public-with-cookie", answering("public, max-age=60", cookie=True)),
    path("publication", answering('x="public"')),
    path("cookie", answering(cookie=True)),
]


@pytest.mark.django_db
@pytest.mark.urls("tests.security.test_caching")
def test_only_public_pages_keep_their_cache_control() -> None:
    browser, stranger = Browser(), Browser()
    browser.cookies["openport_session"] = "x" * 32
    for address in ("nothing-said", "kept-an-hour", "private", "public-with-cookie", "publication", "cookie"):
        assert is_stored_by_none(browser.get(f"/{address}")), address
    assert browser.get("/public")["Cache-Control"] == "public, max-age=60"
    assert "Cache-Control" not in stranger.get("/nothing-said")
    assert is_stored_by_none(stranger.get("/cookie"))
