"""The playground's receiver: it gets events within the process, checks them as an app should, and shows them."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.cache import cache
from django.test import Client as Browser

from accounts.sessions.browser_sessions import end_all_sessions
from core.outbound import fetching
from core.outbound.targets import OutboundRefused
from devportal.console.playground import event_receiver
from devportal.console.playground.event_receiver import MOST, messages_of, receive
from oidc.events import tokens
from oidc.events.receiver_urls import PLAYGROUND_BEFORE_REVIEW, playground_receiver_url
from oidc.models import Client, Delivery, EventReceiver, Project
from oidc.tokens import jwt
from tests.devportal.console.forms import at, send
from tests.factories import RECEIVER_URL, as_reviewed, make_client, make_delivery, make_receiver
from tests.inbox import send_due
from tests.relying_party import RelyingParty, sign_in

FORM, SET = "application/x-www-form-urlencoded", "application/secevent+jwt"


@pytest.fixture
def app(project: Project) -> Client:
    cache.clear()
    return make_client(project)


def page(client: Client) -> str:
    return at("playground_events", client.project, client)


def point(browser: Browser, client: Client, wanted: str = "yes") -> None:
    for channel in EventReceiver.Channel.values:
        assert browser.post(page(client), {"channel": channel, "wanted": wanted}).status_code == 302


def test_real_events_arrive_within_the_process(
    as_developer: Browser, app: Client, owner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_request(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("a request left the process")

    monkeypatch.setattr(fetching, "dial", no_request)
    point(as_developer, app)
    RelyingParty(app, sign_in(Browser(), owner)).tokens()
    end_all_sessions(owner)
    assert send_due() == 3
    found = messages_of(app)
    assert sorted(message.event.rpartition("/")[2] for message in found) == [
        "backchannel-logout",
        "session-revoked",
        "sessions-revoked",
    ]
    assert all(message.is_accepted and not message.is_repeated for message in found)
    text = as_developer.get(page(app)).content.decode()
    assert text.count(">Accepted<") == 3
    assert "typ is logout+jwt" in text
    assert "aud is the client id." in text


def test_a_request_to_the_url_is_still_refused(app: Client) -> None:
    with pytest.raises(OutboundRefused, match="belongs to the service"):
        fetching.post(playground_receiver_url(), b"x", SET, loopback=True)
    assert Browser().post("/console/playground/events", b"x", content_type=SET).status_code == 404


@pytest.mark.parametrize("change", [as_reviewed("app.example.com"), {"first_party": True}])
def test_a_reviewed_app_sends_its_developers_nothing(
    as_developer: Browser, app: Client, owner: Any, change: dict[str, Any]
) -> None:
    point(as_developer, app)
    RelyingParty(app, sign_in(Browser(), owner)).tokens()
    Client.objects.update(**change)
    end_all_sessions(owner)
    send_due()
    assert not messages_of(app)
    assert {each["error"] for tries in Delivery.objects.values_list("tries", flat=True) for each in tries} == {
        "not_allowed"
    }
    shown = as_developer.get(page(app)).content.decode()
    assert PLAYGROUND_BEFORE_REVIEW in shown
    EventReceiver.objects.update(url="")
    assert "Send them here" not in as_developer.get(page(app)).content.decode()
    point(as_developer, app)
    assert not EventReceiver.objects.exclude(url="").exists()


def test_a_test_and_its_repetition(as_developer: Browser, app: Client) -> None:
    point(as_developer, app)
    url = at("events_test", app.project, app, channel="events")
    assert send(as_developer, url, {}, form_on=page(app))["Location"] == page(app)
    send_due()
    Delivery.objects.update(state="waiting")  # as if the worker had died before it stored the result
    send_due()
    newest, oldest = messages_of(app)
    assert (newest.is_repeated, oldest.is_repeated) == (True, False)
    assert newest.decoded.token == oldest.decoded.token or newest.is_accepted
    assert "Repeated" in as_developer.get(page(app)).content.decode()


def claims_of(client: Client, channel: str) -> dict[str, Any]:
    event = "logout" if channel == "logout" else "sessions-revoked"
    delivery = make_delivery(make_receiver(client, channel), event=event)
    return (tokens.logout_claims if channel == "logout" else tokens.event_claims)(delivery, client)


def deliver(client: Client, channel: str, token: str) -> Any:
    body = urlencode({"logout_token": token}) if channel == "logout" else token
    return receive(None, client, body.encode(), FORM if channel == "logout" else SET)


def failed(client: Client) -> list[str]:
    """Return the checks that the latest message fails."""
    return [check.what for check in messages_of(client)[0].decoded.checks if not check.holds]


WRONG: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "issuer": (lambda claims: claims | {"iss": "https://evil.example.net/"}, "iss is the issuer"),
    "audience": (lambda claims: claims | {"aud": "op_client_other"}, "aud is the client id."),
    "audiences": (lambda claims: claims | {"aud": [claims["aud"], "op_client_other"]}, "aud is the client id."),
    "old": (lambda claims: claims | {"iat": claims["iat"] - 3600}, "iat is at most"),
    "no time": (lambda claims: claims | {"iat": "now"}, "iat is at most"),
    "event": (lambda claims: claims | {"events": {"https://evil.example.net/": {}}}, "events has one event type"),
    "events": (lambda claims: claims | {"events": []}, "events has one event type"),
    "no events": (lambda claims: claims | {"events": 7}, "events has one event type"),
    "year 10000": (lambda claims: claims | {"iat": 10**18}, "iat is at most"),
    "no jti": (lambda claims: {name: value for name, value in claims.items() if name != "jti"}, "It has a jti"),
}


@pytest.mark.parametrize(("channel", "case"), [("logout", "issuer"), *(("events", case) for case in WRONG)])
def test_a_token_with_a_wrong_claim_is_rejected(channel: str, case: str, app: Client) -> None:
    change, check = WRONG[case]
    typ = "logout+jwt" if channel == "logout" else "secevent+jwt"
    reply = deliver(app, channel, jwt.sign(change(claims_of(app, channel)), typ))
    assert reply.status == 400
    assert ("error" if channel == "logout" else "err") in json.loads(reply.beginning)
    assert any(text.startswith(check) for text in failed(app))


@pytest.mark.parametrize("channel", EventReceiver.Channel.values)
def test_other_tokens_and_broken_bodies_are_rejected(channel: str, app: Client) -> None:
    claims = claims_of(app, channel)
    typ = "logout+jwt" if channel == "logout" else "secevent+jwt"
    good = jwt.sign(claims, typ)
    assert deliver(app, channel, good).status == (200 if channel == "logout" else 202)
    for other in ("JWT", "at+jwt", "secevent+jwt" if channel == "logout" else "logout+jwt"):
        assert deliver(app, channel, jwt.sign(claims, other)).status == 400
        assert any(text.startswith("typ is") for text in failed(app))
    header, payload, signature = good.split(".")
    assert deliver(app, channel, f"{header}.{payload}.{signature[::-1]}").status == 400
    assert any(text.startswith("It is signed") for text in failed(app))
    before = len(messages_of(app))
    for broken in ("", "x", "a.b.c", "W10.W10.", "é", "bnVsbA.bnVsbA.", "[" * 5000):
        assert deliver(app, channel, broken).status == 400
    assert len(messages_of(app)) == before, "nothing that can't be decoded is kept"


def test_a_logout_token_with_a_nonce_or_without_a_subject_is_rejected(app: Client) -> None:
    claims = claims_of(app, "logout")
    for wrong in (claims | {"nonce": "x"}, {name: value for name, value in claims.items() if name != "sub"}):
        assert deliver(app, "logout", jwt.sign(wrong, "logout+jwt")).status == 400
        assert failed(app) == ["It says whom or which session it is about, and has no nonce."]


def test_the_newest_messages_are_kept_for_a_while(app: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    claims = claims_of(app, "events")
    for number in range(MOST + 5):
        deliver(app, "events", jwt.sign(claims | {"jti": f"id {number}"}, "secevent+jwt"))
    assert len(messages_of(app)) == MOST
    assert f"id {MOST + 4}" in str(messages_of(app)[0].decoded.claims)
    assert len(cache.get(event_receiver._key(app, "events"))) == MOST
    assert messages_of(make_client(app.project, name="Another")) == []


def test_turning_it_off_keeps_the_options(as_developer: Browser, app: Client) -> None:
    make_receiver(app, types="account-purged")
    make_receiver(app, "logout", session_required=True)
    point(as_developer, app)
    point(as_developer, app, wanted="no")
    assert set(EventReceiver.objects.values_list("url", "types", "session_required")) == {
        ("", "account-purged", False),
        ("", "", True),
    }
    assert as_developer.post(page(app), {"channel": "nonsense", "wanted": "yes"}).status_code == 302


@pytest.mark.parametrize("wanted", ["yes", "no"])
@pytest.mark.parametrize("channel", EventReceiver.Channel.values)
def test_an_older_page_does_not_replace_the_url_that_someone_has_set(
    channel: str, wanted: str, as_developer: Browser, app: Client
) -> None:
    point(as_developer, app, wanted="yes" if wanted == "no" else "no")
    status = next(row for row in as_developer.get(page(app)).context["receivers"] if row.receiver.channel == channel)
    EventReceiver.objects.filter(client=app, channel=channel).delete()
    make_receiver(app, channel)
    form = {"channel": channel, "wanted": wanted, "seen": status.digest}
    text = as_developer.post(page(app), form, follow=True).content.decode()
    assert "This changed in the meantime." in text
    assert EventReceiver.objects.get(client=app, channel=channel).url == RECEIVER_URL
    point(as_developer, app, wanted)
    assert EventReceiver.objects.get(client=app, channel=channel).url != RECEIVER_URL


def test_tokens_are_shown_as_text(as_developer: Browser, app: Client) -> None:
    claims = claims_of(app, "events") | {"events": {"<script>alert(1)</script>": {}}}
    deliver(app, "events", jwt.sign(claims, "secevent+jwt"))
    text = as_developer.get(page(app)).content.decode()
    assert "<script>alert" not in text
    assert "Rejected" in text


def test_only_developers_see_what_was_received(
    as_viewer: Browser, as_outsider: Browser, as_owner: Browser, app: Client
) -> None:
    assert as_viewer.get(page(app)).status_code == 403
    assert as_outsider.get(page(app)).status_code == 404
    assert as_owner.get(page(app)).status_code == 200
    assert as_viewer.post(page(app), {"channel": "events", "wanted": "yes"}).status_code == 403
    assert not EventReceiver.objects.exists()
