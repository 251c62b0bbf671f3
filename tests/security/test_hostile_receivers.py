"""Servers and URLs that receive events and mean harm: what they answer, where they are, and what they resolve to.

Slow and endless answers, and certificates, are in the tests of outbound requests, which deliveries share.
"""

import gzip
import time
from collections.abc import Callable
from io import BufferedIOBase
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from core import clock
from core.outbound import OutboundRefused
from core.outbound.fetching import Reply, post
from core.outbound.limits import MAX_REPLY_BYTES, REPLY_SECONDS
from oidc.clients.reviewed_hosts import set_approved_hosts, set_reviewed_hosts
from oidc.events import queueing, receiver_urls, sending
from oidc.models import Client, Delivery, EventReceiver
from tests.factories import make_client
from tests.inbox import send_due, serve
from tests.security.outbound_rig import ALSO_PUBLIC, NAME, OK, PUBLIC, SHORT, URL, Rig, repeated, written
from tests.services import pages

HERE = f"{URL}events"
Script = Callable[[BufferedIOBase], object]


@pytest.fixture
def rig(rig: Rig, settings: Any) -> Rig:
    settings.EMBEDDED = False
    return rig


def send(url: str = HERE, *, loopback: bool = False) -> Reply:
    return post(url, b"token", "application/secevent+jwt", loopback=loopback)


def refusal(url: str = HERE, *, loopback: bool = False) -> str:
    with pytest.raises(OutboundRefused) as caught:
        send(url, loopback=loopback)
    return caught.value.code


@pytest.fixture
def receiver(rig: Rig, db: None) -> EventReceiver:
    """A receiver at HERE, whose client has a redirect URI there."""
    client = make_client(redirect_uris=f"{URL}callback")
    return EventReceiver.objects.create(client=client, channel="events", url=HERE)


def result_of(receiver: EventReceiver) -> Delivery:
    """Send one delivery and return it."""
    row = queueing.queue_test(receiver)
    send_due()
    return Delivery.objects.get(pk=row.pk)


# --- Answers ---


def test_a_slow_body_does_not_hold_a_worker_up(rig: Rig) -> None:
    rig.site.script("/events", repeated(b"x", first=OK + b"\r\n", pause=0.05))
    began = time.monotonic()
    reply = send()
    assert (reply.status, set(reply.beginning)) == (200, {"x"})
    assert time.monotonic() - began < REPLY_SECONDS + 2


def test_only_the_first_kilobyte_of_five_megabytes_is_read(rig: Rig) -> None:
    written_bytes = 0

    def script(out: BufferedIOBase) -> None:
        nonlocal written_bytes
        out.write(OK + b"Content-Length: 5242880\r\n\r\n")
        for _ in range(5120):
            out.write(b"y" * 1024)
            written_bytes += 1024

    rig.site.script("/events", script)
    assert send() == Reply(200, "y" * MAX_REPLY_BYTES)
    time.sleep(0.1)
    assert written_bytes < 5_242_880


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(rig: Rig, status: int) -> None:
    rig.names.set("inner.test", "A", "10.0.0.1")
    for count, location in enumerate(("https://inner.test/", "http://169.254.169.254/", "/elsewhere", URL), 1):
        rig.site.redirect("/events", location, status=status)
        assert send().status == status
        assert (rig.dialled, len(rig.site.requests)) == ([(PUBLIC, 443)] * count, count)
    assert not sending.Result(status).is_delivered


@pytest.mark.parametrize(
    "answer", [b"\x00" * 200, b"HTTP/1.1 999999 OK\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b""]
)
def test_invalid_http_is_a_failure(rig: Rig, answer: bytes) -> None:
    rig.site.script("/events", written(answer))
    assert refusal() in ("bad_answer", "unreachable", "incomplete")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.0 200 OK\r\n\r\nold", Reply(200, "old")),
        (b"HTTP/1.1 204 No Content\r\n\r\n", Reply(204, "")),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 OK\r\nContent-Length: 0\r\n\r\n", Reply(202, "")),
        (OK + b"Content-Length: 100\r\n\r\nshort", Reply(200, "short")),
        (OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nbroken", Reply(200, "")),
        (OK + b"\r\na\x00b\xff\xed\xa0\x80", Reply(200, "a\ufffdb\ufffd\ufffd\ufffd\ufffd")),
    ],
)
def test_unusual_answers_count_by_their_status(rig: Rig, answer: bytes, expected: Reply) -> None:
    rig.site.script("/events", written(answer))
    assert send() == expected


def test_a_compressed_answer_is_kept_as_it_is_and_can_be_stored(rig: Rig, receiver: EventReceiver) -> None:
    bomb = gzip.compress(b"\x00" * 10_000_000)
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    rig.site.script("/events", written(head + bomb))
    delivery = result_of(receiver)
    assert (delivery.state, "\x00" in delivery.answer) == ("delivered", False)
    assert len(delivery.answer) <= MAX_REPLY_BYTES


def test_certificates_are_checked(rig: Rig) -> None:
    with pages.serve(rig.authority.server_context("other.test")) as site:
        site.set("/events", "")
        rig.lead_to(site.port)
        assert refusal() == "certificate"
        assert site.requests == []


def test_a_failure_is_stored_with_its_code(rig: Rig, receiver: EventReceiver) -> None:
    rig.site.script("/events", written(b"\x00"))
    delivery = result_of(receiver)
    assert (delivery.state, delivery.attempts) == ("waiting", 1)
    assert delivery.tries[0]["error"] in ("bad_answer", "unreachable")
    assert delivery.not_before > clock.now()


# --- Names ---


def test_a_name_that_changes_its_address_is_resolved_once(rig: Rig) -> None:
    rig.names.rotate(NAME, "A", [PUBLIC], ["127.0.0.1"], ["10.0.0.1"])
    rig.site.set("/events", "")
    assert send().status == 200
    assert rig.dialled == [(PUBLIC, 443)]
    assert refusal() == "private_address"
    assert rig.dialled == [(PUBLIC, 443)]


@pytest.mark.parametrize("loopback", [False, True])
def test_a_name_with_an_address_that_is_not_public_is_refused(rig: Rig, loopback: bool) -> None:
    mixed = ((PUBLIC, "10.0.0.1"), (PUBLIC, "::1"), (ALSO_PUBLIC, "::ffff:10.0.0.1"))
    alone = ("10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "0.0.0.0", "169.254.169.254", "127.0.0.1")
    # Apps in development may use the last one.
    for addresses in (*mixed, *((address,) for address in alone[: 5 if loopback else 6])):
        rig.names.set(NAME, "A", *(each for each in addresses if ":" not in each))
        rig.names.set(NAME, "AAAA", *(each for each in addresses if ":" in each))
        assert refusal(loopback=loopback) == "private_address", addresses
    assert rig.dialled == []


REFUSED = [
    f"http://{NAME}/events", f"https://{NAME}:25/events", f"https://{NAME}:8443/events", f"https://{NAME}:0443/events",
    f"https://user@{NAME}/events", f"https://{NAME}@other.test/events", f"https://{NAME}\\@other.test/events",
    f"https://{NAME}./events", f"https://{NAME.upper()}/events", "https://shöp.test/events",
    "https://\uff53hop.test/events", "https://xn--a/events", f"https://{PUBLIC}/events", "https://127.1/events",
    "https://2130706433/events", "https://0x7f000001/events", "https://[::1]/events",
    "https://[::ffff:127.0.0.1]/events", "https://localhost/events", "https://localhost./events",
    "https://a.localhost/events", "https://intranet/events", f"https://{NAME}/a b", f"https://{NAME}/\x00",
    f"https://{NAME}/#fragment", f"ftp://{NAME}/events", "gopher://127.0.0.1:25/_EHLO", "https:///events", "",
]  # fmt: skip


@pytest.mark.parametrize("verified", [False, True])
def test_other_urls_are_refused_at_registration_and_before_each_request(
    rig: Rig, receiver: EventReceiver, verified: bool
) -> None:
    client: Client = receiver.client
    client.verified_at = clock.now() if verified else None
    client.save()
    for url in REFUSED:
        with pytest.raises(ValidationError):
            receiver_urls.check_receiver_url(client, url)
        if "\x00" in url:  # PostgreSQL can't store it
            continue
        receiver.delete()
        receiver = EventReceiver.objects.create(client=client, channel="events", url=url)
        assert [each["error"] for each in result_of(receiver).tries] == (["not_allowed"] if url else []), url
    assert rig.dialled == []


def test_a_reviewed_app_receives_nothing_at_a_host_that_was_added_after_its_review(
    rig: Rig, receiver: EventReceiver
) -> None:
    other = "https://other.example/events"
    client: Client = receiver.client
    client.verified_at = clock.now()
    set_approved_hosts(client, client.redirect_uris.split())
    client.redirect_uris += " https://other.example/callback"
    set_reviewed_hosts(client)
    client.save()
    receiver_urls.check_receiver_url(client, HERE)
    with pytest.raises(ValidationError):
        receiver_urls.check_receiver_url(client, other)
    EventReceiver.objects.filter(pk=receiver.pk).update(url=other)
    assert [each["error"] for each in result_of(receiver).tries] == ["not_allowed"]
    assert rig.dialled == []


@pytest.mark.parametrize("embedded", [True, False])
@pytest.mark.parametrize("verified", [True, False])
def test_only_apps_in_development_may_receive_on_this_machine(
    settings: Any, db: None, embedded: bool, verified: bool
) -> None:
    settings.EMBEDDED = embedded
    with serve() as inbox:
        client = make_client(verified_at=clock.now() if verified else None, redirect_uris=inbox.url("/callback"))
        receiver = EventReceiver.objects.create(client=client, channel="events", url=inbox.url())
        delivery = result_of(receiver)
        allowed = embedded and not verified
        assert (delivery.state, len(inbox.received)) == (("delivered", 1) if allowed else ("waiting", 0))
    if not allowed:
        with pytest.raises(ValidationError, match="of a reviewed app" if embedded else "from the internet"):
            receiver_urls.check_receiver_url(client, "http://localhost:3000/events")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1", "[::1]", "a.localhost", "localhost.", "0.0.0.0"])
@pytest.mark.parametrize("path", ["/connect/token", "/"])
def test_the_service_itself_receives_nothing(settings: Any, db: None, host: str, path: str) -> None:
    settings.EMBEDDED = True
    settings.AUTH_URL = settings.BASE_URL = "http://localhost:8000"
    url = f"http://{host}:8000{path}"
    with pytest.raises(ValidationError):
        receiver_urls.check_receiver_url(make_client(), url)
    assert refusal(url, loopback=True) in ("own_address", "ip_literal", "port", "host")


def test_loopback_is_not_a_way_to_other_ports_of_public_hosts(rig: Rig) -> None:
    assert refusal(f"https://{NAME}:8443/", loopback=True) == "port"
    assert refusal(f"http://{NAME}/", loopback=True) == "scheme"
    assert rig.dialled == []


def test_the_port_for_tests_on_one_machine(rig: Rig, settings: Any) -> None:
    with serve() as inbox:
        rig.names.set(NAME, "A", "127.0.0.1")
        rig.roads["127.0.0.1", inbox.port] = inbox.port
        assert refusal() == "private_address"
        settings.OUTBOUND_LOOPBACK_PORT = inbox.port
        assert send().status == 202
        assert [each.path for each in inbox.received] == ["/events"]


def test_a_hanging_receiver_costs_no_more_than_its_seconds(rig: Rig, receiver: EventReceiver) -> None:
    rig.site.script("/events", lambda out: time.sleep(3))
    with rig.hurry():
        delivery = result_of(receiver)
    assert delivery.tries[0]["error"] == "timeout"
    assert delivery.tries[0]["seconds"] < SHORT + 1.5
