"""A client's page *Events*: who changes what, the reasons for refused URLs, and the state of each receiver."""

from datetime import timedelta
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.test import Client as Browser

from core import clock
from devportal.console.events.states import State, statuses
from oidc.events import receiver_urls
from oidc.models import Client, Delivery, EventReceiver, Project
from oidc.values.event_types import EventType
from tests.devportal.console.forms import at, send, trail
from tests.factories import RECEIVER_URL, make_delivery, make_receiver, make_web_client
from tests.inbox import Inbox, send_due, serve, status

ALL = [each.value for each in EventType.choosable()]
Channel = EventReceiver.Channel


def page(client: Client) -> str:
    return at("client_events", client.project, client)


def shown(browser: Browser, client: Client) -> BeautifulSoup:
    return BeautifulSoup(browser.get(page(client)).content, "html.parser")


def save(browser: Browser, client: Client, channel: str, url: str, **more: Any) -> Any:
    fields = {"channel": channel, f"{channel}-url": url} | {f"{channel}-{name}": value for name, value in more.items()}
    return browser.post(page(client), fields)


def act(browser: Browser, client: Client, action: str, channel: str = "events", **fields: Any) -> Any:
    return send(browser, at(action, client.project, client, channel=channel), fields, form_on=page(client))


def stored(client: Client, channel: str = "events") -> EventReceiver | None:
    return EventReceiver.objects.filter(client=client, channel=channel).first()


def test_a_developer_sets_up_both_receivers_and_turns_one_off(as_developer: Browser, app: Client) -> None:
    assert save(as_developer, app, "logout", RECEIVER_URL, session_required="on").status_code == 302
    assert (
        save(as_developer, app, "events", RECEIVER_URL, types=["account-purged", "tokens-revoked"]).status_code == 302
    )
    logout, events = stored(app, "logout"), stored(app)
    assert logout is not None
    assert (logout.url, logout.session_required) == (RECEIVER_URL, True)
    assert events is not None
    assert (events.url, events.types) == (RECEIVER_URL, "account-purged tokens-revoked")
    assert len(trail("client.events_changed")) == 2
    boxes = shown(as_developer, app).select("input[name=events-types][checked]")
    assert [box["value"] for box in boxes] == ["account-purged", "tokens-revoked"]
    save(as_developer, app, "events", RECEIVER_URL, types=ALL)
    events.refresh_from_db()
    assert events.types == "", "all, also those of later versions"
    assert save(as_developer, app, "events", "", types=["account-purged"]).status_code == 302
    events.refresh_from_db()
    assert events.url == ""
    assert statuses(app)["events"].state == State.OFF


@pytest.mark.parametrize("channel", Channel.values)
def test_a_form_from_before_someone_elses_change_does_not_undo_it(
    channel: str, as_developer: Browser, app: Client
) -> None:
    def seen() -> str:
        return str(as_developer.get(page(app)).context[f"{channel}_form"]["seen"].value())

    options = {"types": ["tokens-revoked"]} if channel == "events" else {"session_required": "on"}
    save(as_developer, app, channel, RECEIVER_URL, types=ALL)
    old = seen()
    for _ in range(2):  # a form may be sent twice
        assert save(as_developer, app, channel, "", types=ALL, seen=old).status_code == 302
    response = save(as_developer, app, channel, RECEIVER_URL, **options, seen=old)
    assert "this was changed after you opened the page" in response.content.decode()
    receiver = stored(app, channel)
    assert receiver is not None
    assert receiver.url == ""
    present = response.context[f"{channel}_form"]["seen"].value()
    assert save(as_developer, app, channel, RECEIVER_URL, **options, seen=present).status_code == 302
    receiver.refresh_from_db()
    assert receiver.url == RECEIVER_URL


REFUSED = {
    "https://evil.example.net/x": "evil.example.net is neither the host of one of the app’s redirect URLs",
    "https://10.0.0.7/x": "10.0.0.7",
    "http://app.example.com/x": "http is allowed only for localhost",
    "https://app.example.com:8443/x": "port 443",
    "https://ada:secret@app.example.com/x": "Remove the user name before @.",
    "https://app.example.com/\x00": "Null characters are not allowed.",
    "http://localhost:8000/console/playground/callback": "belongs to the service itself",
    "https://app.example.com\\@evil.example.net/": "",
}


@pytest.mark.parametrize("url", REFUSED)
@pytest.mark.parametrize("channel", Channel.values)
def test_a_refused_url_shows_its_exact_reason_beside_the_field(
    channel: str, url: str, as_developer: Browser, app: Client, settings: Any
) -> None:
    Client.objects.filter(pk=app.pk).update(verified_at=clock.now())
    response = save(as_developer, app, channel, url, types=ALL)
    assert response.status_code == 200
    field = BeautifulSoup(response.content, "html.parser").find(id=f"id_{channel}-url")
    assert field is not None
    assert field["aria-invalid"] == "true"
    errors = field.find_next(class_="field__errors")
    assert errors is not None
    assert REFUSED[url] in errors.get_text()
    assert stored(app, channel) is None


def test_unknown_types_are_refused(as_developer: Browser, app: Client) -> None:
    for types in (["account-purged", "<b>"], ["logout"], ["verification"], []):
        response = save(as_developer, app, "events", RECEIVER_URL, types=types)
        assert response.status_code == 200
        assert "field__errors" in response.content.decode()
        assert "<b>" not in response.content.decode()
    assert stored(app) is None


def test_unknown_channels_change_nothing(as_developer: Browser, app: Client, receiver: EventReceiver) -> None:
    for channel in ("", "nonsense", "events\x00", "LOGOUT"):
        assert save(as_developer, app, channel, "").status_code == 302
        if channel:
            assert as_developer.post(at("events_test", app.project, app, channel=channel)).status_code in (400, 404)
    receiver.refresh_from_db()
    assert receiver.url == RECEIVER_URL


def test_one_clients_form_leaves_another_client_alone(as_developer: Browser, app: Client, project: Project) -> None:
    other = make_receiver(make_web_client(project)[0])
    save(as_developer, app, "events", "")
    act(as_developer, app, "events_retry")
    other.refresh_from_db()
    assert other.url == RECEIVER_URL


STATES: dict[State, dict[str, Any]] = {
    State.OFF: {"url": ""},
    State.UNUSED: {},
    State.FAILING: {"failing_since": clock.now(), "failures": 2},
    State.PAUSED: {"failing_since": clock.now(), "failures": 9, "paused_at": clock.now()},
}
BADGES = {State.OFF: "Off", State.UNUSED: "Nothing sent yet", State.FAILING: "Failing", State.PAUSED: "Paused"}


@pytest.mark.parametrize("state", STATES)
def test_each_state_has_its_words_and_buttons(state: State, as_developer: Browser, app: Client) -> None:
    receiver = make_receiver(app, **STATES[state])
    tries = [{"at": clock.now().isoformat(), "seconds": 5.0, "error": "timeout"}]
    failing = state in (State.FAILING, State.PAUSED)
    if failing:
        make_delivery(receiver, attempts=1, tries=tries, not_before=clock.now() + timedelta(hours=1))
    text = shown(as_developer, app)
    section = text.find("section", {"aria-labelledby": "events"})
    assert section is not None
    badges = section.find(class_="badges")
    assert badges is not None
    assert badges.get_text(strip=True) == BADGES[state]
    buttons = {button.get_text().partition(":")[0] for button in section.find_all("button")}
    assert ("Resume" in buttons) == (state == State.PAUSED)
    assert ("Try again now" in buttons) == (state == State.FAILING)
    assert ("Send a test" in buttons) == (state in (State.UNUSED, State.FAILING))
    assert ("did not send a complete response within 5 seconds" in section.get_text()) == failing
    assert ("Let the app answer at once" in section.get_text()) == failing


def test_a_client_that_is_off_is_on_hold(as_developer: Browser, app: Client, receiver: EventReceiver) -> None:
    Client.objects.filter(pk=app.pk).update(enabled=False)
    app.refresh_from_db()
    assert statuses(app)["events"].state == State.ON_HOLD
    assert "Events wait" in shown(as_developer, app).get_text()
    act(as_developer, app, "events_test")
    assert not Delivery.objects.exists()


@pytest.mark.parametrize("is_slow", [True, False])
def test_the_page_says_whether_the_app_is_slow(is_slow: bool, as_developer: Browser, app: Client) -> None:
    make_delivery(make_receiver(app, is_slow=is_slow), state=Delivery.State.DELIVERED, delivered_at=clock.now())
    assert statuses(app)["events"].state == State.WORKING
    assert ("Slow apps wait for each other" in shown(as_developer, app).get_text()) == is_slow


@pytest.fixture
def inbox() -> Any:
    with serve() as served:
        yield served


def test_a_test_is_sent_and_its_result_is_on_the_page(as_developer: Browser, app: Client, inbox: Inbox) -> None:
    for channel in Channel.values:
        save(as_developer, app, channel, inbox.url(), types=ALL)
        act(as_developer, app, "events_test", channel)
    assert "This page refreshes" in shown(as_developer, app).get_text()
    send_due()
    assert "This page refreshes" not in shown(as_developer, app).get_text()
    assert sorted(inbox.events) == ["backchannel-logout", "verification"]
    text = shown(as_developer, app).get_text()
    assert text.count("The app accepted the event.") == 2
    assert text.count("Working") == 2
    inbox.answer = status(404, b"nothing here")
    act(as_developer, app, "events_test")
    send_due()
    text = shown(as_developer, app).get_text()
    assert "The app answered 404." in text
    assert "Check the path of the URL." in text


def test_resuming_sends_what_waited(as_developer: Browser, app: Client, inbox: Inbox) -> None:
    receiver = make_receiver(app, url=inbox.url(), paused_at=clock.now(), failing_since=clock.now(), failures=9)
    make_delivery(receiver, not_before=clock.now() + timedelta(hours=5))
    act(as_developer, app, "events_test")
    assert Delivery.objects.count() == 1, "no test while it is paused"
    assert send_due() == 0
    act(as_developer, app, "events_resume")
    assert send_due() == 1
    assert statuses(app)["events"].state == State.WORKING


def test_failed_deliveries_are_sent_again(as_developer: Browser, app: Client, inbox: Inbox) -> None:
    receiver = make_receiver(app, url=inbox.url())
    for state in ("failed", "failed", "delivered"):
        make_delivery(receiver, state=state)
    assert "Send failed deliveries again" in shown(as_developer, app).get_text()
    act(as_developer, app, "events_retry")
    assert "2 failed deliveries are sent again." in shown(as_developer, app).get_text()
    assert send_due() == 2
    assert "Send failed deliveries again" not in shown(as_developer, app).get_text()


def test_a_receiver_that_was_never_set_up_has_no_actions(as_developer: Browser, app: Client) -> None:
    for action in ("events_test", "events_resume", "events_retry"):
        assert act(as_developer, app, action).status_code == 404
    make_receiver(app, url="")
    for action in ("events_test", "events_resume"):
        assert act(as_developer, app, action).status_code == 302
    assert not Delivery.objects.exists()
    assert not trail("client.events_resumed")


def test_the_playgrounds_receiver_is_the_only_url_of_the_service(as_developer: Browser, app: Client) -> None:
    assert save(as_developer, app, "events", receiver_urls.playground_receiver_url(), types=ALL).status_code == 302
    assert statuses(app)["events"].is_playground
    assert "Test receiver" in shown(as_developer, app).get_text()


def test_viewers_see_the_settings_and_change_nothing(as_viewer: Browser, app: Client, receiver: EventReceiver) -> None:
    text = shown(as_viewer, app)
    assert RECEIVER_URL in text.get_text()
    assert not text.select("main form")
    assert save(as_viewer, app, "events", "").status_code == 403
    for action in ("events_test", "events_resume", "events_retry"):
        assert as_viewer.post(at(action, app.project, app, channel="events")).status_code == 403
    receiver.refresh_from_db()
    assert receiver.url == RECEIVER_URL
    assert not Delivery.objects.exists()
