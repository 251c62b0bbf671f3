"""Requests of one browser at the same time, sent by somebody who must not gain anything from that."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as Browser

from core.http.sessions import SessionStore
from oidc.models import Client
from tests.accounts.test_sign_up import confirm, sign_up
from tests.factories import make_account
from tests.relying_party import RelyingParty

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
