"""Requests of one browser at the same time, sent by someone who must not gain anything from that."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.hashers import make_password
from django.test import Client as Browser

from accounts.models import Account
from core.http.sessions import SessionStore
from oidc.models import Client
from tests.accounts.entrance.test_sign_up import code_of, confirm, sign_up
from tests.factories import make_account
from tests.relying_party import RelyingParty, age_sign_in
from tests.security.test_added_factors import ADD, leads_to, use_key
from tests.security.test_sessions import change_password
from tests.soft_key import SoftKey, give_key

pytestmark = pytest.mark.django_db

Send = Callable[[Callable[[], Any]], Callable[[], None]]


@pytest.fixture
def send_slowly(monkeypatch: pytest.MonkeyPatch) -> Send:
    """Return a function that sends a request, and returns one that stores what the request changed in the session."""

    def send(request: Callable[[], Any]) -> Callable[[], None]:
        unsaved: list[SessionStore] = []
        with monkeypatch.context() as patched:
            patched.setattr(SessionStore, "save", lambda session, must_create=False: unsaved.append(session))
            request()
        [session] = unsaved
        return session.save

    return send


def test_a_code_of_one_sign_up_does_not_complete_another(
    client: Browser, spa: Client, mailoutbox: list[Any], send_slowly: Send
) -> None:
    victim = make_account("victim@example.com", verified=False)
    RelyingParty(spa, client).authorize()
    end_sign_up = send_slowly(lambda: sign_up(client, victim.email))
    sign_up(client, "thief@example.com")
    end_wrong_code = send_slowly(lambda: client.post("/account/confirm-email/", {"code": "AAAA-BBBB"}))
    end_sign_up()
    end_wrong_code()
    [mail] = [mail for mail in mailoutbox if mail.to == ["thief@example.com"]]
    confirm(client, mail)
    assert client.session["_auth_user_id"] != str(victim.pk)


# --- A session that adds factors ---


def test_wrong_codes_at_once_count_separately(client: Browser, mailoutbox: list[Any], send_slowly: Send) -> None:
    sign_up(client)
    for _ in range(3):
        send_slowly(lambda: client.post("/account/confirm-email/", {"code": "AAAA-BBBB"}))
    confirm(client, mailoutbox[0])
    assert not Account.objects.get().email_verified


def test_wrong_codes_of_a_reset_at_once_count_separately(
    client: Browser, person: Account, mailoutbox: list[Any], send_slowly: Send
) -> None:
    client.post("/account/password/reset/", {"email": person.email})
    page = "/account/password/reset/confirm/"
    for _ in range(3):
        send_slowly(lambda: client.post(page, {"code": "AAAA-BBBB"}))
    assert client.post(page, {"code": code_of(mailoutbox[0])}).status_code == 200


@pytest.fixture
def confirmed(person: Account, signed_in: Browser) -> Browser:
    """A session in which the person has just used the key that they have had for a year."""
    owners = SoftKey()
    give_key(person, owners)
    use_key(signed_in, owners)
    return signed_in


@pytest.fixture
def key() -> SoftKey:
    return SoftKey(id=b"a key that a thief adds")


def adding(browser: Browser, *keys: SoftKey) -> list[Callable[[], Any]]:
    """Open the page that adds a key; return functions that send its form, one for each of these keys."""
    options = browser.get(ADD).context["js_data"]["creation_options"]
    forms = [{"name": "A key", "passwordless": "true", "credential": key.made(options)} for key in keys]
    return [partial(browser.post, ADD, form) for form in forms]


def confirms(browser: Browser, key: SoftKey) -> bool:
    """Tell whether this key reauthenticates, after the earlier reauthentication has expired."""
    age_sign_in(browser, 600)
    assert leads_to(browser) != ADD
    use_key(browser, key)
    return leads_to(browser) == ADD


def test_a_key_that_is_added_beside_another_one_does_not_count_in_its_session(
    confirmed: Browser, key: SoftKey, send_slowly: Send
) -> None:
    add, add_another = adding(confirmed, key, SoftKey(id=b"another key of the thief"))
    end = send_slowly(add_another)
    add()
    end()
    assert Authenticator.objects.filter(type="webauthn").count() == 3
    assert not confirms(confirmed, key)


def test_a_key_that_is_added_beside_a_new_password_does_not_count_in_its_session(
    confirmed: Browser, key: SoftKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    [add] = adding(confirmed, key)

    def hash_slowly(password: str) -> str:
        add()
        return str(make_password(password))

    monkeypatch.setattr("accounts.adapter.make_password", hash_slowly)
    change_password(confirmed)
    assert Authenticator.objects.filter(type="webauthn").count() == 2
    assert not confirms(confirmed, key)
