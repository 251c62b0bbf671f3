"""Client authentication at the token endpoint (RFC 6749 §2.3, docs/security.md#the-code-flow)."""

import base64
from typing import Any

import pytest
from django.contrib.auth import hashers
from django.contrib.auth.hashers import make_password
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core import clock
from oidc.clients.secrets import change_type, create_secret
from oidc.errors import InvalidClient
from oidc.models import Client, ClientSecret
from oidc.projects.lifecycle import QuotaExceeded
from oidc.tokens.authentication import parse_basic_header
from tests.relying_party import RelyingParty, basic


def form(app: RelyingParty, **more: str) -> dict[str, str]:
    return {
        "grant_type": "authorization_code",
        "code": app.code(),
        "redirect_uri": app.redirect_uri,
        "code_verifier": app.verifier,
    } | more


def send(app: RelyingParty, fields: dict[str, str], header: str | None = None) -> Any:
    return app.post("/connect/token", fields, **({} if header is None else {"Authorization": header}))


def is_refused(response: Any) -> bool:
    return bool(
        (response.status_code, response.json()["error"]) == (401, "invalid_client")
        and response["WWW-Authenticate"].startswith("Basic")
    )


# --- Web clients ---


def test_the_scheme_is_case_insensitive(web_app: RelyingParty) -> None:
    for scheme in ("Basic", "basic", "BASIC", "bAsIc"):
        header = basic(web_app.client.client_id, web_app.secret or "", scheme)
        assert send(web_app, form(web_app), header).status_code == 200


def test_basic_is_form_decoded(web_app: RelyingParty) -> None:
    encoded = "".join(f"%{ord(character):02X}" for character in web_app.secret or "")
    pair = f"{web_app.client.client_id.replace('_', '%5f')}:{encoded}"
    header = f"Basic {base64.b64encode(pair.encode()).decode()}"
    assert send(web_app, form(web_app), header).status_code == 200


def test_basic_beside_the_same_client_id_and_an_empty_secret_is_one_method(web_app: RelyingParty) -> None:
    header = basic(web_app.client.client_id, web_app.secret or "")
    for more in ({}, {"client_secret": ""}):
        fields = form(web_app, client_id=web_app.client.client_id, **more)
        assert send(web_app, fields, header).status_code == 200


def test_two_authentication_methods_are_rejected(web_app: RelyingParty) -> None:
    header = basic(web_app.client.client_id, web_app.secret or "")
    response = send(web_app, form(web_app, **web_app.credentials()), header)
    assert (response.status_code, response.json()["error"]) == (400, "invalid_request")


def test_ids_that_disagree_are_refused(web_app: RelyingParty, app: RelyingParty) -> None:
    header = basic(web_app.client.client_id, web_app.secret or "")
    assert is_refused(send(web_app, form(web_app, client_id=app.client.client_id), header))
    assert is_refused(send(web_app, form(web_app, client_id="x"), header))


@pytest.mark.parametrize("secret", ["wrong", "", "\u00fc", "x" * 5000])
def test_a_wrong_or_missing_secret_is_refused(web_app: RelyingParty, secret: str) -> None:
    assert is_refused(send(web_app, form(web_app, client_id=web_app.client.client_id, client_secret=secret)))
    assert is_refused(send(web_app, form(web_app), basic(web_app.client.client_id, secret)))


def test_no_client_at_all_is_refused(app: RelyingParty) -> None:
    assert is_refused(send(app, form(app)))


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Basic",
        "Basic !!!",
        "Basic eA==",  # no colon
        "Basic /////w==",  # no UTF-8
        "Basic " + base64.b64encode(b"a%00:b").decode(),
        "Bearer abc",
    ],
)
def test_an_unreadable_header_is_invalid_client(web_app: RelyingParty, header: str) -> None:
    assert is_refused(send(web_app, form(web_app), header))


def test_an_unreadable_header_is_rejected_even_with_a_valid_secret_in_the_form(web_app: RelyingParty) -> None:
    response = send(web_app, form(web_app, **web_app.credentials()), "Basic !!!")
    assert response.status_code in (400, 401)


def test_a_secret_may_contain_a_colon(web_app: RelyingParty) -> None:
    assert parse_basic_header("Basic " + base64.b64encode(b"id:a:b").decode()) == ("id", "a:b")
    with pytest.raises(InvalidClient):
        parse_basic_header("Basic " + base64.b64encode(b"id").decode())


# --- Public clients ---


def test_a_public_client_that_sends_a_secret_is_refused(app: RelyingParty) -> None:
    assert is_refused(send(app, form(app, client_id=app.client.client_id, client_secret="x")))
    assert is_refused(send(app, form(app), basic(app.client.client_id, "x")))


def test_a_native_client_is_public_too(app: RelyingParty) -> None:
    Client.objects.filter(pk=app.client.pk).update(type=Client.Type.NATIVE)
    assert send(app, form(app, client_id=app.client.client_id)).status_code == 200
    assert is_refused(send(app, form(app, client_id=app.client.client_id, client_secret="x")))


def test_the_librarys_own_secret_column_never_matches(web_app: RelyingParty) -> None:
    for stored, sent in (
        ("", ""),
        ("plain", "plain"),
        (make_password("known"), "known"),
        (make_password(""), ""),
    ):
        Client.objects.filter(pk=web_app.client.pk).update(client_secret=stored)
        fields = form(web_app, client_id=web_app.client.client_id, client_secret=sent)
        assert is_refused(send(web_app, fields))
    Client.objects.get(pk=web_app.client.pk).save()
    assert Client.objects.get(pk=web_app.client.pk).client_secret == ""


# --- Unknown and known take the same work ---


def work_of(app: RelyingParty, fields: dict[str, str], header: str | None) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert is_refused(send(app, fields, header))
    return len([query for query in queries if "SAVEPOINT" not in query["sql"]])


def test_unknown_and_known_clients_take_the_same_work(web_app: RelyingParty) -> None:
    fields = form(web_app)
    web_app.exchange("warm up")
    unknown = "op_client_" + "x" * 22
    as_basic = [work_of(web_app, fields, basic(name, "wrong")) for name in (unknown, web_app.client.client_id)]
    as_form = [
        work_of(web_app, fields | {"client_id": name, "client_secret": "wrong"}, None)
        for name in (unknown, web_app.client.client_id)
    ]
    assert as_basic[0] == as_basic[1]
    assert as_form[0] == as_form[1]


def test_no_password_hasher_touches_a_client_secret(web_app: RelyingParty, monkeypatch: pytest.MonkeyPatch) -> None:
    code = web_app.code()

    def never(*args: Any, **kwargs: Any) -> bool:
        raise AssertionError("a password hasher was asked")

    for name in ("check_password", "make_password"):
        monkeypatch.setattr(hashers, name, never)
    monkeypatch.setattr("oauth2_provider.oauth2_validators.check_password", never)
    assert web_app.exchange(code).status_code == 200


# --- Secrets ---


def test_a_secret_is_prefixed_long_and_stored_hashed(web_app: RelyingParty) -> None:
    secret = web_app.secret or ""
    assert secret.startswith("op_secret_")
    assert len(secret) - len("op_secret_") >= 43
    row = ClientSecret.objects.get()
    assert secret not in str(row.__dict__)
    assert row.last_four == secret[-4:]


def test_two_secrets_live_side_by_side_and_an_ended_one_does_not(web_app: RelyingParty) -> None:
    first, (row, second) = web_app.secret or "", create_secret(web_app.client)
    assert not ClientSecret.objects.exclude(last_used_at=None).exists()
    for secret in (first, second):
        code = web_app.code()
        assert is_refused(web_app.exchange(code, client_secret="wrong"))
        assert web_app.exchange(code, client_secret=secret).status_code == 200, "a refusal leaves the code valid"
    assert not ClientSecret.objects.filter(last_used_at=None).exists()
    with pytest.raises(QuotaExceeded):
        create_secret(web_app.client)
    web_app.client.secrets.exclude(pk=row.pk).update(revoked_at=clock.now())
    assert is_refused(web_app.exchange(web_app.code(), client_secret=first))
    assert web_app.exchange(web_app.code(), client_secret=second).status_code == 200


def test_only_web_clients_get_secrets(app: RelyingParty) -> None:
    with pytest.raises(ValueError):
        create_secret(app.client)


def test_another_type_ends_secrets_and_authorizations(web_app: RelyingParty) -> None:
    tokens = web_app.tokens()
    change_type(web_app.client, Client.Type.SPA)
    assert is_refused(web_app.exchange("x"))
    public = RelyingParty(Client.objects.get(pk=web_app.client.pk), web_app.browser)
    assert public.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert public.tokens()["token_type"] == "Bearer"
