"""Guesses by sessions count by account, and wrong codes count until a right one: nothing that ends resets them."""

from collections.abc import Callable
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.core.cache import cache
from django.test import Client as Browser

from accounts.entrance import guesses
from accounts.models import Account, Outbox, SecurityEvent, WrongCodes
from tests.at_once import at_once
from tests.factories import PASSWORD, make_account
from tests.relying_party import sign_in
from tests.security.test_limits import asks_for_mailbox, is_limited
from tests.soft_key import SoftKey, add_key
from tests.totp import totp

MOST = 10  # GUESSES_PER_KNOWN_BROWSER
HOUR = 3600
TWO_STEP_PAGE, AGAIN, PROOF = "/account/2fa/authenticate/", "/account/2fa/reauthenticate/", "/account/login/mailbox/"
KEY_AGAIN = "/account/2fa/webauthn/reauthenticate/"

Guess = Callable[[Browser, int], Any]


def wrong_password(browser: Browser, number: int) -> Any:
    form = {"login": "ada@example.com", "password": f"wrong horse {number}"}
    return browser.post("/account/reauthenticate/", form)


def wrong_current_password(browser: Browser, number: int) -> Any:
    form = {"oldpassword": f"wrong {number}", "password1": "another horse 7 battery"}
    return browser.post("/account/password/change/", form | {"password2": form["password1"]})


def wrong_code(browser: Browser, number: int) -> Any:
    return browser.post(AGAIN, {"code": f"{number:06}"})


def wrong_key(browser: Browser, number: int) -> Any:
    options = browser.get(KEY_AGAIN).context["js_data"]["request_options"]
    return browser.post(KEY_AGAIN, {"credential": SoftKey(id=f"{number}".encode()).signed(options)})


def sign_out_elsewhere(browser: Browser) -> None:
    key = browser.cookies["openport_session"].value
    assert browser.post("/account/sessions/").status_code == 302
    assert browser.cookies["openport_session"].value != key


@pytest.fixture
def secret(person: Account) -> str:
    made: str = generate_totp_secret()
    TOTP.activate(person, made)
    return made


@pytest.fixture
def with_key(signed_in: Browser, person: Account) -> None:
    wrong_password(signed_in, 0)
    signed_in.post("/account/reauthenticate/", {"login": person.email, "password": PASSWORD})
    assert add_key(signed_in, SoftKey()).status_code == 302
    cache.clear()


# --- The limit of sessions ---


@pytest.mark.parametrize("guess", [wrong_password, wrong_current_password, wrong_code, wrong_key])
def test_a_renewed_session_key_gives_no_further_guesses(
    guess: Guess, signed_in: Browser, person: Account, request: Any, stopped_clock: None
) -> None:
    if guess is wrong_key:
        request.getfixturevalue("with_key")
    if guess is wrong_code:
        request.getfixturevalue("secret")
    for number in range(MOST):
        assert not is_limited(guess(signed_in, number)), number
        if number % 3 == 0:
            sign_out_elsewhere(signed_in)
    assert is_limited(guess(signed_in, MOST))
    sign_out_elsewhere(signed_in)
    assert is_limited(guess(signed_in, MOST))


@pytest.mark.parametrize("guess", [wrong_password, wrong_current_password, wrong_code])
def test_all_sessions_of_an_account_share_the_limit(
    guess: Guess, person: Account, request: Any, stopped_clock: None
) -> None:
    if guess is wrong_code:
        request.getfixturevalue("secret")
    browsers = [Browser() for _ in range(MOST + 1)]
    for browser in browsers:
        browser.force_login(person)
    answers = [guess(browser, number) for number, browser in enumerate(browsers)]
    assert [is_limited(answer) for answer in answers] == [False] * MOST + [True]


def test_passwords_typed_on_both_pages_share_the_limit(signed_in: Browser, stopped_clock: None) -> None:
    for number in range(MOST):
        guess = (wrong_password, wrong_current_password)[number % 2]
        assert guess(signed_in, number).status_code in (200, 302)
    assert is_limited(wrong_password(signed_in, 0))
    assert is_limited(wrong_current_password(signed_in, 0))


def test_another_account_has_its_own_limit(signed_in: Browser, stopped_clock: None) -> None:
    for number in range(MOST + 1):
        wrong_current_password(signed_in, number)
    other = sign_in(Browser(), make_account("bob@example.com"))
    assert wrong_current_password(other, 0).status_code == 200


def test_a_session_that_guesses_does_not_keep_the_owner_from_signing_in(
    signed_in: Browser, person: Account, stopped_clock: None
) -> None:
    """The owner's new sign-in, from a known browser or another one, is as good as reauthentication."""
    known = sign_in(Browser(), person)
    known.cookies.pop("openport_session")
    for number in range(40):
        wrong_password(signed_in, number)
    for browser in (known, Browser()):
        answer = browser.post("/account/login/", {"login": person.email, "password": PASSWORD})
        assert answer.status_code == 302
        assert browser.get("/account/email/").status_code == 200


def test_right_passwords_on_the_change_page_are_not_counted(signed_in: Browser, stopped_clock: None) -> None:
    for _ in range(MOST + 1):
        form = {"oldpassword": PASSWORD, "password1": "short", "password2": "short"}
        assert signed_in.post("/account/password/change/", form).status_code == 200


# --- Wrong codes, until a right one ---


@pytest.fixture
def guessed(person: Account, secret: str, settings: Any) -> Account:
    """A person at whose codes someone has guessed as often as may be, hours ago."""
    settings.WRONG_CODES_PER_ACCOUNT = 8
    for number in range(8):
        assert at_two_step_page(person, f"{number:06}", f"198.51.100.{number}").status_code == 200
        if number % 3 == 0:
            cache.clear()
    return person


def at_two_step_page(person: Account, code: str, ip: str = "203.0.113.7", browser: Browser | None = None) -> Any:
    browser = browser or Browser()
    form = {"login": person.email, "password": PASSWORD}
    assert browser.post("/account/login/", form, REMOTE_ADDR=ip).status_code == 302
    return browser.post(TWO_STEP_PAGE, {"code": code}, REMOTE_ADDR=ip)


def prove(browser: Browser, person: Account) -> Any:
    return browser.post(PROOF, {"code": guesses.code_of(person.email).text})


def test_a_hundred_guesses_are_the_default_limit() -> None:

    from devportal import settings as declared

    assert declared.WRONG_CODES_PER_ACCOUNT == 100
    assert declared.NUMBER_BOUNDS["WRONG_CODES_PER_ACCOUNT"][1] == 100  # NIST SP 800-63B, 3.2.2


def test_neither_time_nor_an_empty_cache_allows_another_guess(guessed: Account, secret: str, later: Any) -> None:
    for seconds in (0, HOUR, 24 * HOUR, 400 * 24 * HOUR):
        later(seconds)
        cache.clear()
        assert asks_for_mailbox(at_two_step_page(guessed, "123456"))
        assert asks_for_mailbox(at_two_step_page(guessed, totp(secret)))  # whether it is right is not even checked


def test_the_owner_is_notified_once_when_the_limit_is_reached(guessed: Account, secret: str) -> None:
    owner = Browser()
    at_two_step_page(guessed, "123456", browser=owner)
    prove(owner, guessed)
    assert owner.post(TWO_STEP_PAGE, {"code": "123456"}).status_code == 200
    assert SecurityEvent.objects.filter(account=guessed, kind="wrong_codes").count() == 1
    notice = Outbox.objects.get(subject__contains="Too many wrong codes for your account")
    assert notice.to == guessed.email
    assert "8 wrong codes in a row were entered" in notice.body


def test_nobody_is_notified_before_the_limit_is_reached(signed_in: Browser, person: Account, secret: str) -> None:
    WrongCodes.objects.create(account=person, count=98)
    wrong_code(signed_in, 1)
    assert signed_in.post(AGAIN, {"code": totp(secret)}).status_code == 302
    assert not SecurityEvent.objects.filter(kind="wrong_codes").exists()


def test_codes_of_an_app_added_in_this_session_do_not_reset_the_count(
    signed_in: Browser, person: Account, secret: str
) -> None:
    """Otherwise a session could guess at recovery codes, and type a code of its own app in between."""
    app = Authenticator.objects.get(type="totp")
    RecoveryCodes.activate(person)
    session = signed_in.session
    session["added_factors"] = {str(app.pk): {"of": str(person.pk)}}
    session.save()
    WrongCodes.objects.create(account=person, count=98)
    assert signed_in.post(AGAIN, {"code": totp(secret)}).status_code == 200
    assert WrongCodes.objects.get(account=person).count == 99


def test_a_known_browser_proves_the_mailbox_too(person: Account, settings: Any) -> None:
    known = sign_in(Browser(), person)
    del known.cookies["openport_session"]
    TOTP.activate(person, generate_totp_secret())
    WrongCodes.objects.create(account=person, count=settings.WRONG_CODES_PER_ACCOUNT)
    assert asks_for_mailbox(at_two_step_page(person, "123456", browser=known))


def test_codes_guessed_elsewhere_do_not_lock_out_a_known_browser(person: Account, settings: Any) -> None:
    settings.GUESSES_PER_ACCOUNT_PER_HOUR = 3
    known = sign_in(Browser(), person)
    del known.cookies["openport_session"]
    TOTP.activate(person, generate_totp_secret())
    answers = [at_two_step_page(person, f"{number:06}", f"198.51.100.{number}") for number in range(4)]
    assert [asks_for_mailbox(answer) for answer in answers] == [False] * 3 + [True]
    assert at_two_step_page(person, "000000", browser=known).status_code == 200


def test_proving_the_mailbox_resets_the_count(guessed: Account, secret: str) -> None:
    browser = Browser()
    assert asks_for_mailbox(at_two_step_page(guessed, totp(secret), browser=browser))
    assert prove(browser, guessed)["Location"] == TWO_STEP_PAGE
    assert browser.post(TWO_STEP_PAGE, {"code": totp(secret)})["Location"] == "/connect/resume"
    assert browser.get("/account/").status_code == 200
    assert at_two_step_page(guessed, "123456", "192.0.2.9").status_code == 200


def test_the_proof_counts_only_in_its_browser(guessed: Account) -> None:
    owner = Browser()
    at_two_step_page(guessed, "123456", browser=owner)
    prove(owner, guessed)
    assert owner.post(TWO_STEP_PAGE, {"code": "123456"}).status_code == 200
    assert asks_for_mailbox(at_two_step_page(guessed, "123456"))


def test_browsers_with_the_proof_share_a_limit(guessed: Account, stopped_clock: None) -> None:
    answers = []
    for number in range(MOST + 1):
        browser = Browser()
        assert asks_for_mailbox(at_two_step_page(guessed, "123456", f"192.0.2.{number}", browser))
        prove(browser, guessed)
        answers.append(browser.post(TWO_STEP_PAGE, {"code": "123456"}))
    assert [is_limited(answer) for answer in answers] == [False] * MOST + [True]


def test_a_session_proves_the_mailbox_and_comes_back(guessed: Account, secret: str, mailoutbox: list[Any]) -> None:
    session = Browser()
    session.force_login(guessed)
    asked = session.post(AGAIN, {"code": totp(secret), "next": "/account/sessions/"})
    assert asks_for_mailbox(asked)
    page = session.get(PROOF)
    assert page.status_code == 200
    assert "Back to sign-in" not in page.content.decode()
    session.post(PROOF, {"action": "send"})
    assert [mail.to for mail in mailoutbox] == [[guessed.email]]
    back = prove(session, guessed)
    assert back["Location"] == f"{AGAIN}?next=%2Faccount%2Fsessions%2F"
    answer = session.post(AGAIN, {"code": totp(secret), "next": "/account/sessions/"})
    assert answer["Location"] == "/account/sessions/"
    assert session.get(PROOF)["Location"] == "/connect/resume"


def test_a_correct_code_resets_the_count(signed_in: Browser, person: Account, secret: str) -> None:
    WrongCodes.objects.create(account=person, count=98)
    assert wrong_code(signed_in, 1).status_code == 200
    assert signed_in.post(AGAIN, {"code": totp(secret)}).status_code == 302
    assert WrongCodes.objects.get(account=person).count == 0


def test_recovery_codes_are_guesses_as_well(guessed: Account) -> None:
    assert asks_for_mailbox(at_two_step_page(guessed, "ABCD-EFGH"))


def test_a_key_needs_no_proof(signed_in: Browser, person: Account, settings: Any) -> None:
    key = SoftKey()
    signed_in.post("/account/reauthenticate/", {"login": person.email, "password": PASSWORD})
    add_key(signed_in, key)
    WrongCodes.objects.create(account=person, count=settings.WRONG_CODES_PER_ACCOUNT)
    browser = Browser()
    browser.post("/account/login/", {"login": person.email, "password": PASSWORD})
    options = browser.get(TWO_STEP_PAGE).context["js_data"]["request_options"]
    assert browser.post(TWO_STEP_PAGE, {"credential": key.signed(options)})["Location"] == "/connect/resume"


def test_codes_cannot_be_guessed_without_the_password(person: Account, secret: str, settings: Any) -> None:
    """So strangers can't make the owner prove anything."""
    for _ in range(3):
        stranger = Browser()
        stranger.post("/account/login/", {"login": person.email, "password": "wrong"})
        stranger.post(TWO_STEP_PAGE, {"code": "123456"})
        stranger.post(AGAIN, {"code": "123456"})
    assert not WrongCodes.objects.exists()


def test_the_mailbox_question_ends_with_the_sign_in(person: Account) -> None:
    """A browser that was asked before someone signed in there otherwise is asked nothing any more."""
    browser = Browser()
    session = browser.session
    session[guesses.ASKED] = {"email": "bob@example.com", "then": TWO_STEP_PAGE}
    session.save()
    assert browser.get(PROOF).status_code == 200
    browser.post("/account/login/", {"login": person.email, "password": PASSWORD})
    assert browser.get(PROOF)["Location"] == "/connect/resume"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_guesses_at_once_are_all_counted() -> None:
    from accounts.entrance.guesses import count_wrong_code

    person = make_account("ada@example.com")
    WrongCodes.objects.create(account=person, count=95)
    assert sorted(at_once(12, lambda number: count_wrong_code(person))) == [False] * 7 + [True] * 5
    assert WrongCodes.objects.get(account=person).count == 100


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_first_guesses_at_once_are_all_counted() -> None:
    from accounts.entrance.guesses import count_wrong_code

    person = make_account("ada@example.com")
    assert at_once(12, lambda number: count_wrong_code(person)) == [True] * 12
    assert WrongCodes.objects.get(account=person).count == 12
