"""The log of deliveries: filters, paging, one delivery with its tries and their texts, and sending it again."""

import json
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.test import Client as Browser

from core import clock
from core.outbound.targets import Code
from devportal.console import idempotency
from devportal.console.events.tries import read_try, visible
from oidc.events.sending import INTERNAL, NOT_ALLOWED
from oidc.models import Client, Delivery, EventReceiver, Project
from tests.devportal.console.forms import at, send
from tests.factories import make_client, make_delivery, make_receiver

SUB = "r5Yb1uQk8ZsJt0cW2mXe4H"


def listed(browser: Browser, client: Client, **query: str) -> list[str]:
    """Return the ids of the deliveries in the list, in order."""
    text = BeautifulSoup(browser.get(at("deliveries", client.project, client), query).content, "html.parser")
    return [str(link["href"]).partition("?")[0].rpartition("/")[2] for link in text.select("a.log__link")]


def detail(delivery: Delivery, page: str = "delivery") -> str:
    client = delivery.receiver.client
    return at(page, client.project, client, delivery_id=delivery.pk)


def shown(browser: Browser, delivery: Delivery) -> str:
    response = browser.get(detail(delivery))
    assert response.status_code == 200
    return str(response.content.decode())


def tried(*results: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"at": clock.now().isoformat(timespec="seconds"), "seconds": 0.31} | result for result in results]


def test_the_list_shows_event_state_tries_and_result(as_viewer: Browser, app: Client, receiver: EventReceiver) -> None:
    make_delivery(receiver, sub=SUB, state="delivered", tries=tried({"status": 500}, {"status": 202}))
    text = as_viewer.get(at("deliveries", app.project, app)).content.decode()
    for part in ("sessions-revoked", "Delivered", ">2</td>", "The app accepted the event."):
        assert part in text, part
    assert SUB not in text


@pytest.mark.parametrize("change", ["", "sent", "paused", "without URL", "app off", "project suspended"])
def test_pages_refresh_only_while_a_delivery_is_tried(
    change: str, as_viewer: Browser, app: Client, receiver: EventReceiver
) -> None:
    delivery = make_delivery(receiver, sub=SUB, state="delivered" if change == "sent" else "waiting")
    if change == "paused":
        EventReceiver.objects.update(paused_at=clock.now())
    elif change == "without URL":
        EventReceiver.objects.update(url="")
    elif change == "app off":
        Client.objects.update(enabled=False)
    elif change == "project suspended":
        Project.objects.update(suspended_at=clock.now())
    for url in (at("deliveries", app.project, app), at("project_deliveries", app.project), detail(delivery)):
        assert ("data-refresh" in as_viewer.get(url).content.decode()) is (change == ""), url


def test_filters_narrow_the_list(as_viewer: Browser, app: Client, receiver: EventReceiver) -> None:
    logout = make_receiver(app, "logout")
    first = make_delivery(receiver, sub=SUB, state="failed")
    second = make_delivery(logout, event="logout", sub=SUB)
    third = make_delivery(receiver, event="verification", sub="", state="delivered")
    ids = [str(each.pk) for each in (third, second, first)]
    assert listed(as_viewer, app) == ids
    assert listed(as_viewer, app, state="failed") == ids[2:]
    assert listed(as_viewer, app, event="verification") == ids[:1]
    assert listed(as_viewer, app, channel="logout") == ids[1:2]
    assert listed(as_viewer, app, jti=second.jti) == ids[1:2]
    for sub in (SUB, "r5Yb…Xe4H", "r5Yb…"):
        assert listed(as_viewer, app, sub=sub) == ids[1:], sub
    assert listed(as_viewer, app, sub="…") == ids[1:], "tests are about nobody"
    assert listed(as_viewer, app, range="1h", state="waiting") == ids[1:2]
    assert listed(as_viewer, app, to="2020-01-01T00:00") == []


@pytest.mark.parametrize("sub", [f"{SUB[:5]}…", f"…{SUB[-5:]}", f"{SUB[:5]}…{SUB[-4:]}", f"{SUB[:-1]}…"])
def test_a_masked_id_can_not_be_found_out_letter_by_letter(
    sub: str, as_viewer: Browser, app: Client, receiver: EventReceiver
) -> None:
    make_delivery(receiver, sub=SUB)
    wrong = sub.replace(SUB[4], "#").replace(SUB[-5], "#")
    right, other = (as_viewer.get(at("deliveries", app.project, app), {"sub": text}) for text in (sub, wrong))
    assert right.context["filters"].errors["sub"] == other.context["filters"].errors["sub"]
    assert listed(as_viewer, app, sub=sub) == listed(as_viewer, app, sub=wrong)


def test_pages_are_read_by_key(as_viewer: Browser, app: Client, receiver: EventReceiver) -> None:
    rows = [make_delivery(receiver, state="failed") for _ in range(55)]
    response = as_viewer.get(at("deliveries", app.project, app), {"state": "failed"})
    older = response.context["page"].older
    assert "state=failed" in older
    assert listed(as_viewer, app, state="failed", before=str(rows[5].pk)) == [str(row.pk) for row in rows[4::-1]]


def test_another_clients_deliveries_are_not_in_the_list(as_viewer: Browser, app: Client, project: Project) -> None:
    other = make_delivery(make_receiver(make_client(project, name="Another")))
    assert listed(as_viewer, app) == []
    url = at("delivery", app.project, app, delivery_id=other.pk)
    assert as_viewer.get(url).status_code == 404


def test_the_list_is_downloaded_without_whole_ids(as_viewer: Browser, app: Client, receiver: EventReceiver) -> None:
    make_delivery(receiver, sub=SUB, tries=tried({"error": "timeout"}))
    response: Any = as_viewer.get(at("deliveries", app.project, app), {"format": "json"})
    (row,) = json.loads(b"".join(response.streaming_content))
    assert (row["event"], row["response"], row["user_id"]) == ("sessions-revoked", "timeout", "r5Yb…Xe4H")


def test_a_delivery_shows_every_try(as_viewer: Browser, receiver: EventReceiver) -> None:
    results = tried({"error": "certificate", "parameters": {"error": "certificate has expired"}}, {"status": 503})
    delivery = make_delivery(receiver, sub=SUB, sid="s" * 43, tries=results)
    text = shown(as_viewer, delivery)
    for part in ("certificate is not valid: certificate has expired.", "The app answered 503.", "0.31 s", delivery.jti):
        assert part in text, part
    assert f'data-copy="{delivery.jti}"' in text
    assert "Look for the error in the app" in text
    assert SUB not in text
    assert "s" * 43 not in text
    assert "Send again" not in text, "viewers can't"


def test_the_answer_is_shown_as_harmless_text(as_viewer: Browser, receiver: EventReceiver) -> None:
    answer = "<script>alert(1)</script>\r\n<img src=x onerror=alert(1)>{{ 7|add:7 }}\x1b[31m\x07\u202eevil\u200b\x85"
    text = shown(as_viewer, make_delivery(receiver, answer=answer, tries=tried({"status": 500})))
    block = BeautifulSoup(text, "html.parser").find(id="answer")
    assert block is not None
    assert not block.find(["script", "img"])
    expected = "<script>alert(1)</script>\n<img src=x onerror=alert(1)>{{ 7|add:7 }}�[31m��evil��"
    assert block.get_text() == expected
    assert block["tabindex"] == "0", "it scrolls by keyboard"


def test_the_next_try_depends_on_the_receiver(as_viewer: Browser, app: Client, receiver: EventReceiver) -> None:
    delivery = make_delivery(receiver, not_before=clock.from_now(3600))
    assert "<dt>Next try</dt>" in shown(as_viewer, delivery)
    EventReceiver.objects.update(paused_at=clock.now())
    assert "when someone resumes the receiver" in shown(as_viewer, delivery)
    Client.objects.update(enabled=False)
    EventReceiver.objects.update(paused_at=None)
    assert "when the app is on again" in shown(as_viewer, delivery)
    EventReceiver.objects.update(url="")
    assert "none, because the receiver is off" in shown(as_viewer, delivery)


def test_a_developer_sends_a_delivery_again(as_developer: Browser, receiver: EventReceiver) -> None:
    delivery = make_delivery(receiver, state="delivered", attempts=3)
    response = send(as_developer, detail(delivery, "delivery_again"), {}, form_on=detail(delivery))
    assert response["Location"] == detail(delivery)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == ("waiting", 0)


AT = {"at": "2031-01-15T09:30:00+00:00", "seconds": 0.2}
URL = "https://app.example.com/events"


@pytest.mark.parametrize("code", [*Code, NOT_ALLOWED, INTERNAL, "a code of a newer version"])
def test_each_error_has_a_sentence(code: str) -> None:
    found = read_try(AT | {"error": code, "parameters": {"cause": "host"}}, URL)
    assert found.text.endswith(".")
    assert "{" not in found.text
    assert not found.is_accepted


@pytest.mark.parametrize("status", [100, 200, 202, 299, 300, 302, 308, 400, 401, 404, 418, 429, 500, 503, 599])
def test_each_status_has_a_sentence(status: int) -> None:
    found = read_try(AT | {"status": status}, URL)
    assert found.is_accepted == (200 <= status < 300)
    assert found.text.endswith(".")
    assert bool(found.step) == (status not in (100, 200, 202, 299, 418))


def test_errors_of_this_machine_name_no_port() -> None:
    assert "port 443" in read_try(AT | {"error": "unreachable"}, URL).text
    assert "443" not in read_try(AT | {"error": "unreachable"}, "http://localhost:8151/events").text


def test_control_characters_are_replaced() -> None:
    assert visible("a\r\nb\tc\x00\x1b\x7f\x9b\u202e\ufeff") == "a\nb\tc" + "�" * 6


def test_others_send_nothing_again(
    as_viewer: Browser, as_outsider: Browser, as_developer: Browser, app: Client, receiver: EventReceiver
) -> None:
    delivery = make_delivery(receiver, state="failed")
    assert as_viewer.post(detail(delivery, "delivery_again")).status_code == 403
    assert as_outsider.post(detail(delivery, "delivery_again")).status_code == 404
    assert as_developer.post(detail(delivery, "delivery_again")).status_code == 302, "without a token"
    foreign = make_delivery(make_receiver(make_client(name="Elsewhere")), state="failed")
    url = at("delivery_again", app.project, app, delivery_id=foreign.pk)
    assert as_developer.post(url, {"once": idempotency.new_token()}).status_code == 404
    EventReceiver.objects.update(url="")
    send(as_developer, detail(delivery, "delivery_again"), {}, form_on=detail(delivery))
    assert set(Delivery.objects.values_list("state", flat=True)) == {"failed"}
