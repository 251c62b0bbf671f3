"""What the sign-in log says: every refusal with its exact reason, and never a secret or a person."""

import json
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from api import usage_counts
from core import clock
from core.limits import log_buffer
from core.limits.counters import counters
from devportal.console.logs import sign_in_writer
from devportal.console.logs.sign_in_writer import redact_secrets
from devportal.console.models import SignInEvent, SignInHour
from oidc.authorization import consent
from oidc.clients.secrets import create_secret
from oidc.models import Client, ClientSecret, Connection, Project, TokenFamily
from oidc.values.reasons import Reason
from tests.factories import REDIRECT_URI, make_account, make_key, make_web_client
from tests.relying_party import RelyingParty, basic

Mover = Callable[[float], None]


def entries(client: Client) -> list[SignInEvent]:
    """Return what the log of a client holds, the oldest first, and empty it."""
    usage_counts.flush_usage()
    found = list(SignInEvent.objects.filter(client=client).order_by("pk"))
    SignInEvent.objects.all().delete()
    return found


def the_entry(app: RelyingParty) -> SignInEvent:
    (entry,) = entries(app.client)
    return entry


def forget(app: RelyingParty) -> None:
    """Leave out what came before."""
    entries(app.client)


# --- The authorization endpoint ---


def test_a_success(app: RelyingParty) -> None:
    app.tokens()
    issued, fetched = entries(app.client)
    assert (issued.endpoint, issued.outcome, issued.error, issued.reason) == ("authorize", "issued", "", "")
    assert issued.redirect_uri == REDIRECT_URI
    assert (fetched.endpoint, fetched.outcome, fetched.error, fetched.reason) == ("token", "signed_in", "", "")
    assert issued.family == fetched.family == TokenFamily.objects.get().pk


def test_a_code_without_an_exchange_is_not_a_sign_in(app: RelyingParty) -> None:
    code = app.code()
    assert the_entry(app).outcome == "issued"
    app.exchange(code, code_verifier="x" * 43)
    entry = the_entry(app)
    assert (entry.outcome, entry.family) == ("refused", TokenFamily.objects.get().pk)


def test_steps_after_a_sign_in_are_logged(app: RelyingParty, later: Mover) -> None:
    first = app.tokens()["refresh_token"]
    forget(app)
    family = TokenFamily.objects.get().pk
    second = app.refresh(first).json()["refresh_token"]
    entry = the_entry(app)
    assert (entry.endpoint, entry.outcome, entry.reason, entry.family) == ("token", "refreshed", "", family)
    for _ in range(2):  # ending what has ended is no step
        assert app.post("/connect/revoke", {"token": second, **app.credentials()}).status_code == 200
    entry = the_entry(app)
    assert (entry.endpoint, entry.outcome, entry.error, entry.family) == ("revoke", "revoked", "", family)
    app.refresh(second)
    entry = the_entry(app)
    assert (entry.outcome, entry.error, entry.family) == ("refused", "invalid_grant", family)


def test_a_cancelled_sign_in(app: RelyingParty) -> None:
    app.answer_consent(app.authorize(), "cancel")
    entry = the_entry(app)
    assert (entry.outcome, entry.error, entry.reason) == ("cancelled", "access_denied", Reason.CANCELLED)


MUST = '{"id_token":{"acr":{"essential":true,"values":["%s"]}}}'


def test_levels_that_were_asked_for(app: RelyingParty) -> None:
    page = app.authorize(claims=MUST % "phr")
    app.browser.post("/connect/step-up", {"reference": page.context["reference"], "decision": "cancel"})
    entry = the_entry(app)
    assert (entry.outcome, entry.error) == ("cancelled", "unmet_authentication_requirements")
    assert entry.reason == Reason.LEVEL_DECLINED
    app.code(acr_values="gold phr")
    entry = the_entry(app)
    assert (entry.outcome, entry.error) == ("issued", "")
    assert entry.reason_text == "Asked for: phr. Returned acr: (none), amr: pwd."


REFUSED: list[tuple[dict[str, str | None], str, str]] = [
    ({"redirect_uri": "https://app.example.com/callback/"}, "invalid_request", Reason.REDIRECT_URI_SLASH),
    ({"redirect_uri": "http://app.example.com/callback"}, "invalid_request", Reason.REDIRECT_URI_SCHEME),
    ({"redirect_uri": "https://app.example.com:8443/callback"}, "invalid_request", Reason.REDIRECT_URI_PORT),
    ({"redirect_uri": "https://app.example.com/callback?a=1"}, "invalid_request", Reason.REDIRECT_URI_QUERY),
    ({"redirect_uri": None}, "invalid_request", Reason.REDIRECT_URI_UNCLEAR),
    ({"redirect_uri": "\x00"}, "invalid_request", Reason.REDIRECT_URI_UNCLEAR),
    ({"state": None}, "invalid_request", Reason.STATE_MISSING),
    ({"response_type": None}, "invalid_request", Reason.RESPONSE_TYPE_MISSING),
    ({"response_type": "token"}, "unsupported_response_type", Reason.RESPONSE_TYPE_UNSUPPORTED),
    ({"claims": "{"}, "invalid_request", Reason.CLAIMS_UNREADABLE),
    ({"claims": MUST % "phrh"}, "unmet_authentication_requirements", Reason.ACR_NEVER_GIVEN),
    ({"claims": MUST % "phr", "prompt": "none"}, "unmet_authentication_requirements", Reason.LEVEL_NOT_REACHED),
    ({"response_mode": "fragment"}, "invalid_request", Reason.RESPONSE_MODE_UNSUPPORTED),
    ({"request": "x"}, "request_not_supported", Reason.REQUEST_NOT_SUPPORTED),
    ({"request_uri": "x"}, "request_uri_not_supported", Reason.REQUEST_URI_NOT_SUPPORTED),
    ({"registration": "x"}, "registration_not_supported", Reason.REGISTRATION_NOT_SUPPORTED),
    ({"nonce": "\x00"}, "invalid_request", Reason.PARAMETER_UNCLEAR),
    ({"code_challenge": None}, "invalid_request", Reason.CODE_CHALLENGE_MISSING),
    ({"code_challenge_method": "plain"}, "invalid_request", Reason.CODE_CHALLENGE_METHOD_UNSUPPORTED),
    ({"code_challenge_method": None}, "invalid_request", Reason.CODE_CHALLENGE_METHOD_UNSUPPORTED),
    ({"code_challenge": "short"}, "invalid_request", Reason.CODE_CHALLENGE_MALFORMED),
    ({"prompt": "none login"}, "invalid_request", Reason.PROMPT_UNSUPPORTED),
    ({"max_age": "soon"}, "invalid_request", Reason.MAX_AGE_MALFORMED),
    ({"scope": "email"}, "invalid_scope", Reason.SCOPE_WITHOUT_OPENID),
    ({"scope": "openid account.read calendar"}, "invalid_scope", Reason.SCOPE_UNKNOWN),
    ({"id_token_hint": "x"}, "invalid_request", Reason.ID_TOKEN_HINT_INVALID),
    ({"prompt": "none"}, "consent_required", Reason.CONSENT_MISSING),
]


@pytest.mark.parametrize(("changes", "error", "reason"), REFUSED)
def test_each_check_says_why_it_refused(
    changes: dict[str, str | None], error: str, reason: str, app: RelyingParty
) -> None:
    response = app.authorize(**changes)
    entry = the_entry(app)
    assert (entry.endpoint, entry.outcome, entry.error, entry.reason) == ("authorize", "refused", error, reason)
    assert "{" not in entry.reason_text
    assert entry.request_id == response["X-Request-ID"]
    sent = changes.get("redirect_uri", REDIRECT_URI)
    assert entry.redirect_uri == (sent if sent and sent != "\x00" else "")


def test_the_log_says_why_a_sign_in_is_required(app: RelyingParty, web_app: RelyingParty, later: Mover) -> None:
    stranger = app.beside(Browser())
    stranger.authorize(prompt="none")
    assert the_entry(app).error == "login_required"
    stranger.authorize()  # a page to sign in on is no end of a request
    assert entries(app.client) == []
    app.tokens()
    forget(app)
    app.authorize(id_token_hint=web_app.tokens()["id_token"])
    entry = the_entry(app)
    assert (entry.error, entry.reason) == ("login_required", Reason.OTHER_PERSON_SIGNED_IN)
    later(100)
    app.authorize(prompt="none", max_age="10")
    entry = the_entry(app)
    assert (entry.error, entry.reason) == ("login_required", Reason.SIGN_IN_TOO_OLD)


@pytest.mark.parametrize(
    ("change", "error", "reason"),
    [
        (lambda: Client.objects.update(redirect_uris=""), "invalid_request", Reason.NO_REDIRECT_URI_REGISTERED),
        (lambda: Client.objects.update(enabled=False), "unavailable", Reason.CLIENT_OFF),
        (lambda: Project.objects.update(suspended_at=clock.now()), "unavailable", Reason.PROJECT_SUSPENDED),
        (lambda: Project.objects.update(deleted_at=clock.now()), "unavailable", Reason.PROJECT_DELETED),
    ],
)
def test_the_log_says_why_an_app_is_unavailable(
    change: Callable[[], object], error: str, reason: str, app: RelyingParty
) -> None:
    change()
    app.authorize()
    entry = the_entry(app)
    assert (entry.error, entry.reason) == (error, reason)


def test_the_app_is_full(app: RelyingParty, settings: Any) -> None:
    settings.UNVERIFIED_APP_PEOPLE = 1
    consent.record_consent(make_account(), app.client, ["openid"])
    app.authorize()
    entry = the_entry(app)
    assert (entry.outcome, entry.error) == ("refused", "app_full")
    text = "The project’s apps without a review have 1 people, which is the limit, and the app has not been reviewed."
    assert entry.reason_text == text
    app.authorize(prompt="none")
    entry = the_entry(app)
    assert (entry.error, entry.reason) == ("consent_required", Reason.PEOPLE_LIMIT)


def test_an_address_that_is_removed_while_the_person_reads(app: RelyingParty) -> None:
    page = app.authorize()
    Client.objects.update(redirect_uris="https://app.example.com/other")
    response = app.answer_consent(page)
    entry = the_entry(app)
    assert (entry.error, entry.request_id) == ("invalid_request", response["X-Request-ID"])
    assert entry.reason_text.startswith("Differs from https://app.example.com/other: the path")


def test_an_unknown_client_has_no_log(app: RelyingParty) -> None:
    for client_id in ("op_client_" + "x" * 22, "nobody", "\x00"):
        app.authorize(client_id=client_id)
        app.exchange("x", client_id=client_id)
    app.browser.get("/connect/authorize?" + "a=1&" * 200)
    usage_counts.flush_usage()
    assert not SignInEvent.objects.exists()


# --- The token endpoint ---


def refused(app: RelyingParty, response: Any, error: str, reason: str) -> SignInEvent:
    """Check an answer of the token endpoint, and that the log says what it does not. Return the entry."""
    assert response.json()["error"] == error, response.content
    entry = the_entry(app)
    assert (entry.endpoint, entry.outcome, entry.error, entry.reason) == ("token", "refused", error, reason)
    assert entry.request_id == response["X-Request-ID"]
    return entry


def test_a_refused_secret_is_logged_with_its_reason(web_app: RelyingParty, app: RelyingParty) -> None:
    _, key = make_key(web_app.client.project, make_account(email="key.owner@example.com"))
    for party, sent, reason in (
        (web_app, "x", Reason.SECRET_WRONG),
        (web_app, "", Reason.SECRET_MISSING),
        (web_app, key, Reason.SECRET_IS_API_KEY),
        (app, "x", Reason.SECRET_UNEXPECTED),
    ):
        refused(party, party.exchange("x", client_secret=sent), "invalid_client", reason)
    header = basic(web_app.client.client_id, "x")
    answer = web_app.post("/connect/token", {"grant_type": "authorization_code", "code": "x"}, Authorization=header)
    refused(web_app, answer, "invalid_client", Reason.SECRET_WRONG)


def test_a_wrong_secret_is_compared_by_its_end(web_app: RelyingParty, settings: Any) -> None:
    """The entry has the last four characters of the live secrets, and nothing of the wrong one but white space."""
    settings.FAILURES_PER_MINUTE = 1000
    secret = web_app.secret
    assert secret is not None
    expired, _ = create_secret(web_app.client)
    ClientSecret.objects.filter(pk=expired.pk).update(expires_at=clock.now())
    wrong = f"{settings.CLIENT_SECRET_PREFIX}Zq9Wr7Tx5Vb3"
    for sent, reason in (
        (wrong, Reason.SECRET_WRONG),
        (f" {secret}", Reason.SECRET_WRONG),
        *((f"{each}{end}", Reason.SECRET_WHITE_SPACE) for each in (secret, wrong) for end in ("\n", " \r\n", "\u00a0")),
        (" ", Reason.SECRET_WHITE_SPACE),
    ):
        entry = refused(web_app, web_app.exchange("x", client_secret=sent), "invalid_client", reason)
        assert entry.parameters == {"last_four": [secret[-4:]]}, sent
        assert entry.reason_text.endswith(f"live secrets: {secret[-4:]}.")
        assert ("it ends in white space" in entry.reason_text) == (reason == Reason.SECRET_WHITE_SPACE)
        assert wrong[-4:] not in entry.reason_text


def test_the_secret_of_another_client_is_named_within_the_project_only(web_app: RelyingParty) -> None:
    sibling, stranger = make_web_client(web_app.client.project, name="Sibling"), make_web_client()
    for (_, secret), reason in ((sibling, Reason.SECRET_OF_OTHER_CLIENT), (stranger, Reason.SECRET_WRONG)):
        answer = web_app.exchange("x", client_secret=secret)
        refused(web_app, answer, "invalid_client", reason)
        assert "Sibling" not in answer.content.decode()


def test_another_redirect_uri_than_before(app: RelyingParty) -> None:
    code = app.code()
    forget(app)
    answer = app.exchange(code, redirect_uri="https://app.example.com/other")
    assert answer.json()["error"] == "invalid_grant"
    entry = the_entry(app)
    assert entry.reason == Reason.REDIRECT_URI_DIFFERS
    assert entry.redirect_uri == "https://app.example.com/other"


def test_concurrent_exchanges_of_a_code_are_logged(app: RelyingParty, monkeypatch: pytest.MonkeyPatch) -> None:
    code = app.code()
    forget(app)
    monkeypatch.setattr("oidc.tokens.store.consume_and_store", lambda *args: False)
    refused(app, app.exchange(code), "invalid_grant", Reason.LOST_RACE)


# --- Revocation ---


def test_a_reason_is_not_left_for_the_next_request(app: RelyingParty, web_app: RelyingParty) -> None:
    web_app.exchange("x", client_secret="wrong")
    forget(web_app)
    code = app.code()
    forget(app)
    app.post("/connect/token", {"grant_type": "nonsense", "code": code, "client_id": app.client.client_id})
    app.exchange(code, client_id="nobody")
    assert entries(web_app.client) == []


def test_a_wrong_secret_at_the_revocation_endpoint(web_app: RelyingParty) -> None:
    token = web_app.tokens()["refresh_token"]
    forget(web_app)
    form = {"token": token, "client_id": web_app.client.client_id, "client_secret": "x"}
    assert web_app.post("/connect/revoke", form).status_code == 401
    entry = the_entry(web_app)
    assert (entry.endpoint, entry.error, entry.reason) == ("revoke", "invalid_client", Reason.SECRET_WRONG)


# --- What never stands there ---


def test_no_secret_and_no_person(web_app: RelyingParty, person: Account, settings: Any) -> None:
    settings.FAILURES_PER_MINUTE = 1000
    app = web_app
    code = app.code()
    tokens = app.exchange(code).json()
    secrets = [
        app.secret or "",
        app.verifier,
        app.state,
        app.nonce,
        code,
        *(tokens[name] for name in ("access_token", "refresh_token", "id_token")),
        person.email,
        Connection.objects.get().subject.sub,  # type: ignore[union-attr]
    ]
    for secret in secrets:
        for name in ("code", "token", "state", "client_secret", "user", "login_hint", "sub", "access_token"):
            app.authorize(redirect_uri=f"https://app.example.com/cb?{name}={secret}")
            app.exchange(app.code(), redirect_uri=f"https://app.example.com/cb?a=b&{name}={secret}")
        app.authorize(redirect_uri=f"https://{secret}:{secret}@app.example.com/cb")
        app.authorize(state=secret, nonce=secret, login_hint=secret, id_token_hint=secret, code_challenge=secret)
        for field in ("code", "client_secret", "code_verifier"):
            app.exchange(**{"code": code, field: secret})
        app.refresh(secret)
        app.post("/connect/revoke", {"token": secret, **app.credentials(), "client_secret": "x"})
    app.authorize(scope=f"openid {person.email}")
    held = counters()
    waiting = json.dumps([*held._finished, *held._entries, *held.local._usage, *held.local._entries])
    assert "app.example.com" in waiting
    usage_counts.flush_usage()
    assert SignInEvent.objects.count() > 100
    stored = json.dumps(list(SignInEvent.objects.values("error", "reason", "redirect_uri", "outcome", "endpoint")))
    for text in (waiting, stored):
        assert [secret for secret in secrets if secret in text] == []


SHOWN = [
    ("https://app.example.com:8443/cb/x?tenant=9&lang=en", "https://app.example.com:8443/cb/x?tenant=9&lang=en"),
    ("https://app.example.com/username/callback", "https://app.example.com/username/callback"),
    ("https://app.example.com/cb?CODE=a&x=1", "https://app.example.com/cb?CODE=[removed]&x=1"),
    (
        "https://app.example.com/cb?x_api-key=a#id_token=b",
        "https://app.example.com/cb?x_api-key=[removed]#id_token=[removed]",
    ),
    ("https://app.example.com/cb?user%5Bname%5D=ada", "https://app.example.com/cb?user%5Bname%5D=[removed]"),
    ("https://u:p@app.example.com/cb", "https://[removed]@app.example.com/cb"),
    ("https://ada@a.com:ada@a.com@app.example.com/cb", "https://[removed]@app.example.com/cb"),
    ("https://app.example.com/cb?to=ada%40example.com", "https://app.example.com/cb?to=[removed]@example.com"),
    ("https://app.example.com/for/ada@example.com", "https://app.example.com/for/[removed]@example.com"),
    ("the query is “access_token=abc”, registered", "the query is “access_token=[removed]”, registered"),
    ("https://app.example.com/eyJhbGciOiJub25lIn0.e30.x", "https://app.example.com/[token]"),
]


@pytest.mark.parametrize(("received", "shown"), SHOWN)
def test_how_the_log_shows_urls(received: str, shown: str) -> None:
    assert redact_secrets(received) == shown


def test_hostile_urls_take_no_time() -> None:
    for part in ("a", ":", "a:", "?", "=a", "%40", "/@", "a@", "code", "?token.", "a%4", "“", "&user"):
        started = time.process_time()
        redact_secrets(part * (log_buffer.MAX_TEXT_BYTES // len(part)))
        assert time.process_time() - started < 0.05, part


# --- Hostile addresses ---


@pytest.mark.parametrize(
    "address",
    [
        "x" * 100_000,
        "https://app.example.com/" + "é" * 3000,
        "\u202ehttps://app.example.com/",
        "https://app.example.com/\r\nSet-Cookie: a=b",
        '["sign_in",{}]',
    ],
)
def test_hostile_urls_are_stored_and_truncated(address: str, app: RelyingParty) -> None:
    assert app.authorize(redirect_uri=address).status_code == 400
    entry = the_entry(app)
    assert entry.redirect_uri
    assert address.startswith(entry.redirect_uri)
    assert len(entry.redirect_uri.encode()) <= log_buffer.MAX_TEXT_BYTES


# --- Bounds ---


def test_a_flood_stays_bounded_and_does_not_crowd_out_successes(app: RelyingParty, settings: Any, later: Mover) -> None:
    settings.SIGN_IN_LOG_PER_MINUTE, settings.FAILURES_PER_MINUTE = 5, 1000
    later(60 - clock.now().timestamp() % 60)
    for _ in range(4):
        for _ in range(3):
            app.authorize(redirect_uri="https://elsewhere.example.com/")
        # What another process has sent comes on top, and is bounded where it is written.
        sign_in_writer.entry_budget._had.clear()
        usage_counts.flush_usage()
    app.tokens()
    assert sorted(entry.outcome for entry in entries(app.client)) == ["issued", *["refused"] * 5, "signed_in"]


def test_a_flood_is_not_even_sent_on(app: RelyingParty, settings: Any, later: Mover) -> None:
    settings.SIGN_IN_LOG_PER_MINUTE, settings.FAILURES_PER_MINUTE = 5, 1000
    later(60 - clock.now().timestamp() % 60)
    for _ in range(20):
        app.authorize(redirect_uri="https://elsewhere.example.com/")
    waiting = [entry for _, _, finished in counters().drain() for entry in finished.entries]
    assert len(waiting) == 5
    later(60)
    app.authorize(redirect_uri="https://elsewhere.example.com/")
    assert len(entries(app.client)) == 1


@pytest.mark.parametrize("kind", ["wrong secret", "wrong code", "error page"])
def test_requests_beyond_a_limit_are_neither_logged_nor_counted(
    web_app: RelyingParty, app: RelyingParty, kind: str, settings: Any
) -> None:
    settings.FAILURES_PER_MINUTE = 3
    party = web_app if kind == "wrong secret" else app
    forget(party)
    requests = {
        "wrong secret": lambda: party.exchange("x", client_secret="x"),
        "wrong code": lambda: party.exchange("x"),
        "error page": lambda: party.authorize(redirect_uri="https://elsewhere.example.com/"),
    }
    answers = [requests[kind]() for _ in range(8)]
    assert [answer.status_code for answer in answers[3:]] == [429] * 5
    assert len(entries(party.client)) == 3
    refused = SignInHour.objects.filter(client=party.client, step__in=["not_exchanged", "turned_away"])
    assert sum(refused.values_list("count", flat=True)) == 3


def test_old_entries_are_cleared(app: RelyingParty, later: Mover, settings: Any) -> None:
    from devportal.console.tasks import clear_sign_in_log

    app.authorize(state=None)
    usage_counts.flush_usage()
    later(timedelta(days=settings.SIGN_IN_LOG_DAYS).total_seconds() - 60)
    assert clear_sign_in_log() == 0
    later(timedelta(days=1).total_seconds())  # on PostgreSQL a day goes whole
    assert clear_sign_in_log() == 1


# --- What it costs ---


def test_a_refusal_costs_no_statement_more(app: RelyingParty, monkeypatch: pytest.MonkeyPatch) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            app.authorize(redirect_uri="https://elsewhere.example.com/")
        return len(queries)

    statements()
    with_log = statements()
    monkeypatch.setattr("devportal.console.logs.sign_in_writer.record_sign_in", lambda event: None)
    assert with_log == statements()


def test_known_and_unknown_clients_both_take_the_way_to_the_log(
    web_app: RelyingParty, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[str] = []
    monkeypatch.setattr(
        "devportal.console.logs.sign_in_writer.log_buffer.append", lambda name, values: noted.append(values["client"])
    )
    for client_id in ("op_client_" + "x" * 22, web_app.client.client_id):
        web_app.exchange("x", client_id=client_id, client_secret="wrong")
    assert noted == ["", web_app.client.client_id]
