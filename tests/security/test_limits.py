"""Limits of the sign-in endpoints, keyed on what a caller can't choose; 429 with Retry-After."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client as Browser

from accounts.models import Account
from core import clock
from tests.factories import PASSWORD, make_account, make_client, make_web_client
from tests.relying_party import FORM, RelyingParty, sign_in
from tests.soft_key import SoftKey, give_key

# A test stays within one window of each limit.
pytestmark = pytest.mark.usefixtures("stopped_clock")


def is_limited(response: Any) -> bool:
    return bool(response.status_code == 429 and 1 <= int(response["Retry-After"]) <= 60)


def asks_for_mailbox(response: Any) -> bool:
    return bool(response.status_code == 302 and response["Location"] == "/account/login/mailbox/")


def token_failure(ip: str = "203.0.113.1", **headers: str) -> Any:
    form = {"grant_type": "authorization_code", "client_id": "op_client_x", "code": "x"}
    return Browser().post("/connect/token", urlencode(form), content_type=FORM, REMOTE_ADDR=ip, headers=headers)


# --- Failures by address ---


def test_the_thirty_first_failure_of_an_ip_address_is_429(db: None) -> None:
    for _ in range(30):
        assert token_failure().status_code == 401
    refused = token_failure()
    assert is_limited(refused)
    assert "error" in refused.json()
    assert refused["Access-Control-Allow-Origin"] == "*"
    assert "no-store" in refused["Cache-Control"]


@pytest.fixture
def few_failures(settings: Any) -> None:
    settings.FAILURES_PER_MINUTE = 3


def test_another_ip_address_is_not_affected(db: None, few_failures: None) -> None:
    assert is_limited([token_failure() for _ in range(4)][-1])
    assert token_failure("203.0.113.2").status_code == 401


def test_behind_a_trusted_proxy_the_header_counts_from_the_right(db: None, few_failures: None, settings: Any) -> None:
    settings.TRUSTED_PROXIES = ["203.0.113.0/24"]
    for n in range(4):
        last = token_failure(**{"X-Forwarded-For": f"192.0.2.{n}, 198.51.100.7"})
    assert is_limited(last)
    assert token_failure(**{"X-Forwarded-For": "198.51.100.8"}).status_code == 401


def test_successful_requests_are_not_counted_as_failures(app: RelyingParty, few_failures: None) -> None:
    token = app.tokens()["access_token"]
    for _ in range(6):
        assert app.call("/connect/userinfo", token).status_code == 200
        assert app.tokens()["token_type"] == "Bearer"


def dead_refresh(client: Any, secret: str | None = None, ip: str = "203.0.113.1") -> Any:
    form = {"grant_type": "refresh_token", "client_id": client.client_id, "refresh_token": "x" * 43}
    form |= {"client_secret": secret} if secret else {}
    return Browser().post("/connect/token", urlencode(form), content_type=FORM, REMOTE_ADDR=ip)


def test_an_authenticated_client_is_not_affected_by_other_clients(
    app: RelyingParty, web_app: RelyingParty, few_failures: None
) -> None:
    assert is_limited([dead_refresh(app.client) for _ in range(4)][-1])
    assert is_limited([token_failure() for _ in range(4)][-1])
    answer = dead_refresh(web_app.client, web_app.secret)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")


def test_codes_that_strangers_invent_do_not_use_up_the_limit_of_a_web_app(web_app: RelyingParty, settings: Any) -> None:
    """Anyone can send a web app's callback a code, which the app then presents with its secret."""
    settings.CLIENT_REQUESTS_PER_MINUTE = 5
    answers = [web_app.exchange("x" * 43) for _ in range(7)]
    assert [answer.status_code for answer in answers] == [400] * 5 + [429] * 2
    assert web_app.tokens()["token_type"] == "Bearer"


def test_public_clients_behind_one_address_fail_apart(app: RelyingParty, few_failures: None) -> None:
    other = make_client()
    assert is_limited([dead_refresh(app.client) for _ in range(4)][-1])
    assert dead_refresh(other).status_code == 400
    assert dead_refresh(app.client, ip="203.0.113.2").status_code == 400


def test_a_guessed_secret_counts_by_address_whatever_client_it_is_for(
    web_app: RelyingParty, few_failures: None
) -> None:
    others = [make_web_client()[0] for _ in range(3)]
    answers = [dead_refresh(client, "op_secret_wrong") for client in (*others, web_app.client)]
    assert is_limited(answers[-1])


# --- Requests by client ---


def test_one_person_can_not_use_up_the_limit_of_a_client(app: RelyingParty, settings: Any) -> None:
    """Anyone who uses the app has an access token of it."""
    settings.API_CALLS_PER_PERSON_PER_MINUTE, settings.CLIENT_REQUESTS_PER_MINUTE = 3, 8
    token = app.tokens()["access_token"]
    answers = [app.call("/connect/userinfo", token) for _ in range(12)]
    assert is_limited(answers[-1])
    other = app.beside(sign_in(Browser(), make_account()))
    assert app.call("/connect/userinfo", other.tokens()["access_token"]).status_code == 200


def test_a_rate_limited_refresh_leaves_the_token_valid(app: RelyingParty, settings: Any) -> None:
    token = app.tokens()["refresh_token"]
    settings.CLIENT_REQUESTS_PER_MINUTE = 0
    assert app.refresh(token).status_code == 429
    settings.CLIENT_REQUESTS_PER_MINUTE = 600
    assert app.refresh(token).status_code == 200


def test_unauthenticated_requests_do_not_use_up_a_clients_limit(app: RelyingParty, settings: Any) -> None:
    settings.CLIENT_REQUESTS_PER_MINUTE = 5
    tokens = app.tokens()
    form = {"grant_type": "refresh_token", "refresh_token": "x" * 43, "client_id": app.client.client_id}
    for n in range(20):
        Browser().post("/connect/token", urlencode(form), content_type=FORM, REMOTE_ADDR=f"203.0.113.{n}")
    assert app.refresh(tokens["refresh_token"]).status_code == 200


def test_the_authorization_endpoint_is_limited_with_a_page(app: RelyingParty, settings: Any) -> None:
    settings.CLIENT_REQUESTS_PER_MINUTE = 3
    responses = [app.authorize() for _ in range(5)]
    assert responses[0].status_code == 200
    assert is_limited(responses[-1])
    assert "Location" not in responses[-1]
    assert responses[-1]["Content-Type"].startswith("text/html")


# --- Signing in ---


def attempt(login: str, password: str = "wrong horse 9", ip: str = "203.0.113.1", host: str = "localhost") -> Any:
    form = {"login": login, "password": password}
    return Browser().post("/account/login/", form, REMOTE_ADDR=ip, headers={"Host": host})


def test_guesses_do_not_lock_the_owner_out(person: Account) -> None:
    for n in range(20):
        attempt(person.email, ip=f"203.0.113.{n % 4}")
    assert attempt(person.email, PASSWORD, "203.0.113.99").status_code == 302


def test_an_unknown_account_has_the_same_limit(db: None) -> None:
    answers = [attempt("nobody@example.com") for _ in range(6)]
    assert [answer.status_code for answer in answers[:5]] == [200] * 5
    assert is_limited(answers[-1])


def test_guessing_from_many_addresses_is_slow(person: Account, settings: Any) -> None:
    settings.GUESSES_PER_ACCOUNT_PER_HOUR = 7
    for login in (person.email, "nobody@example.com"):
        answers = [attempt(login, ip=f"198.51.100.{n}") for n in range(8)]
        assert [answer.status_code for answer in answers[:7]] == [200] * 7
        assert asks_for_mailbox(answers[-1])
    assert asks_for_mailbox(attempt(person.email, PASSWORD, "203.0.113.99"))


def test_guesses_that_are_refused_do_not_use_up_the_accounts_limit(person: Account, settings: Any) -> None:
    settings.GUESSES_PER_ACCOUNT_PER_HOUR = 7
    for _ in range(30):
        attempt(person.email)
    assert attempt(person.email, PASSWORD, "203.0.113.99").status_code == 302


def test_the_question_about_the_mailbox_is_limited_by_address(person: Account, settings: Any) -> None:
    """Each one is stored in a session."""
    settings.GUESSES_PER_ACCOUNT_PER_HOUR = 1
    attempt(person.email)
    answers = [attempt(person.email, PASSWORD, ip="203.0.113.2") for _ in range(6)]
    assert all(map(asks_for_mailbox, answers[:5]))
    assert is_limited(answers[5])


def wait_told(page: Any) -> int:
    """Return the seconds that the page counts down, which it tells in words too."""
    assert is_limited(page)
    seconds, words = re.findall(r'try again in <span data-counts-down="(\d+)">([^<]+)<', page.content.decode())[0]
    assert words == clock.in_words(int(seconds))
    return int(seconds)


def test_the_page_shows_the_remaining_wait(person: Account, later: Callable[[float], None]) -> None:
    for _ in range(5):
        later(0.01)
        attempt(person.email)
    wait = wait_told(attempt(person.email))
    later(wait - 2)
    assert is_limited(attempt(person.email))
    later(3)
    assert attempt(person.email, PASSWORD).status_code == 302


def test_the_longest_of_several_waits_is_shown(person: Account, settings: Any, later: Callable[[float], None]) -> None:
    """The limit of a minute is met as well as that of five: a minute later nothing would work yet."""
    settings.GUESSES_PER_ADDRESS_PER_MINUTE = settings.GUESSES_PER_ACCOUNT_AND_ADDRESS = 2
    for _ in range(6):  # until the minute is met at a moment when the five minutes have longer to go
        wait = wait_told([attempt(person.email) for _ in range(3)][-1])
        if wait > 60:
            break
        later(61)
    assert wait > 60
    later(wait + 1)
    assert attempt(person.email, PASSWORD).status_code == 302


def test_a_successful_sign_in_is_not_counted(person: Account) -> None:
    for _ in range(8):
        assert attempt(person.email, PASSWORD).status_code == 302


def test_right_passwords_of_many_people_leave_the_limit_of_their_ip_address_unchanged(db: None) -> None:
    people = [make_account(f"pupil{n}@example.com") for n in range(30)]
    for person in people * 2:
        assert attempt(person.email, PASSWORD).status_code == 302
    answers = [attempt(f"{name}{n}@example.com") for n in range(6) for name in ("pupil", "nobody")]
    assert [answer.status_code for answer in answers[:10]] == [200] * 10
    assert all(map(is_limited, answers[10:]))
    assert is_limited(attempt(people[-1].email, PASSWORD))


def test_many_people_behind_one_ip_address_sign_in_with_passkeys(db: None, settings: Any) -> None:
    settings.FORMS_PER_ADDRESS_PER_MINUTE = 1
    for n in range(3):
        someone, key, browser = make_account(f"pupil{n}@example.com"), SoftKey(id=b"key %d" % n), Browser()
        give_key(someone, key)
        page = browser.get("/account/2fa/webauthn/login/", headers={"Accept": "application/json"})
        form = {"credential": key.signed(page.json()["request_options"], someone)}
        browser.post("/account/2fa/webauthn/login/", form)
        assert browser.get("/account/").status_code == 200


def test_answers_without_a_passkey_are_limited_by_address(db: None, settings: Any) -> None:
    settings.PASSKEY_CHALLENGES_PER_MINUTE = 3
    answers = [Browser().post("/account/2fa/webauthn/login/", {"credential": "{}"}) for _ in range(4)]
    assert [is_limited(answer) for answer in answers] == [False, False, False, True]
