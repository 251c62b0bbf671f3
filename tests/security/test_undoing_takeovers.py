"""A thief who got into an account and added factors: the owner gets rid of them, and the thief of none of the owner's.

docs/accounts.md#after-a-takeover has the rules.
"""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal import auth as webauthn
from django.conf import settings
from django.core import mail as django_mail
from django.test import Client as Browser

from accounts.activity.recording import record, token_of
from accounts.mail import codes as mailbox_codes
from accounts.models import Account, Outbox, SecurityEvent
from accounts.recovery import questioned
from accounts.sessions.browser_sessions import end_all_sessions
from accounts.tasks import clear_security_events
from core import clock
from core.database import encryption
from tests.accounts.entrance.test_sign_up import code_of
from tests.accounts.factors.conftest import (
    confirm,
    give_app,
    give_codes,
    give_passkey,
    sign_in_as_far_as_possible,
)
from tests.accounts.recovery.test_address_changes import (
    NEW,
    OLD,
    change,
    code_in,
    is_taken_back,
    take_back,
    take_back_code,
)
from tests.factories import PASSWORD, make_account
from tests.relying_party import sign_in
from tests.security.test_sessions import is_signed_in
from tests.soft_key import SoftKey, add_key, give_key, use_alone
from tests.totp import totp

pytestmark = pytest.mark.django_db

Type = Authenticator.Type
DAY = 24 * 3600


@pytest.fixture(autouse=True)
def commits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run on_commit callbacks at once, but send no email: an email with a code can't be read once it is sent."""
    monkeypatch.setattr("accounts.mail.outbox._announce", lambda pk: None)
    monkeypatch.setattr("django.db.transaction.on_commit", lambda do, robust=False: do())


@pytest.fixture
def thief(person: Account) -> Browser:
    """A browser of someone who knows the password, and who confirmed it a moment ago."""
    browser = sign_in(Browser(), person)
    browser.post("/account/reauthenticate/", {"login": person.email, "password": PASSWORD})
    return browser


def set_up_app(browser: Browser) -> str:
    """Set up an authenticator app on its page, and return its secret."""
    secret: str = browser.get("/account/2fa/totp/activate/").context["form"].secret
    answer = browser.post("/account/2fa/totp/activate/", {"code": totp(secret)})
    assert answer.status_code == 302, answer.content
    return secret


def types(account: Account) -> list[str]:
    return sorted(Authenticator.objects.filter(user=account).values_list("type", flat=True))


def choose_password(email: str, mailoutbox: list[Any]) -> Browser:
    """Choose a new password with a code from the mailbox, and return the browser."""
    browser = Browser()
    browser.post("/account/password/reset/", {"email": email})
    browser.post("/account/password/reset/confirm/", {"code": code_of(mailoutbox[-1])})
    form = {"password1": "another horse 7 battery", "password2": "another horse 7 battery"}
    browser.post("/account/password/reset/complete/", form)
    return browser


# --- Taking the email address back ---


@pytest.mark.parametrize("what", ["passkey", "security key", "app"])
def test_taking_back_removes_what_was_added_since(
    what: str, thief: Browser, person: Account, mailoutbox: list[Any]
) -> None:
    change(thief, NEW)
    if what == "app":
        set_up_app(thief)
    else:
        add_key(thief, SoftKey(verifies=what == "passkey"))
    assert len(types(person)) == 2  # recovery codes come with it
    assert is_taken_back(take_back(OLD, take_back_code(OLD)))
    assert types(person) == []
    assert not is_signed_in(thief)
    removed = SecurityEvent.objects.filter(account=person, kind__endswith="_removed")
    assert removed.count() + SecurityEvent.objects.filter(kind="authenticator_off").count() == 2
    assert is_signed_in(choose_password(OLD, mailoutbox))


def sign_in_during(act: Callable[[], Any], email: str, patch: pytest.MonkeyPatch) -> None:
    """Send the sign-in form with an email address, and call `act` while the password is checked."""
    check = Account.check_password

    def check_slowly(account: Account, password: str) -> bool:
        is_right = check(account, password)
        patch.setattr(Account, "check_password", check)
        act()
        return is_right

    patch.setattr(Account, "check_password", check_slowly)
    answer = Browser().post("/account/login/", {"login": email, "password": PASSWORD})
    assert answer["Location"] == "/account/login/"


def test_an_address_that_is_taken_back_is_not_stored_by_a_sign_in(
    thief: Browser, person: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(thief, NEW)
    code = take_back_code(OLD)
    sign_in_during(lambda: take_back(OLD, code), NEW, monkeypatch)
    assert list(EmailAddress.objects.values_list("email", "verified")) == [(OLD, True)]


def test_an_address_that_is_changed_is_not_stored_by_a_sign_in(
    thief: Browser, person: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_in_during(lambda: change(thief, NEW), OLD, monkeypatch)
    assert list(EmailAddress.objects.values_list("email", "verified")) == [(NEW, True)]


def test_a_sign_in_that_has_ended_verifies_no_address() -> None:
    account, browser = make_account("unproven@example.com", verified=False), Browser()
    sign_in(browser, account)
    end_all_sessions(account)
    browser.post("/account/confirm-email/", {"code": code_in(browser)})
    account.refresh_from_db()
    assert not account.email_verified


@pytest.mark.parametrize("asked", ["before", "after"])
def test_an_address_that_was_taken_back_resets_no_password(asked: str, thief: Browser, person: Account) -> None:
    change(thief, NEW)
    resetting = Browser()
    if asked == "before":
        resetting.post("/account/password/reset/", {"email": NEW})
    assert is_taken_back(take_back(OLD, take_back_code(OLD)))
    EmailAddress.objects.create(user=person, email=NEW)  # by a request that ran at the same moment
    if asked == "after":
        resetting.post("/account/password/reset/", {"email": NEW})
    code = resetting.session["account_password_reset_verification"].get("code")
    resetting.post("/account/password/reset/confirm/", {"code": encryption.decrypt(code) if code else "AAAA-BBBB"})
    person.refresh_from_db()
    assert (person.email, person.email_verified) == (OLD, True)
    assert EmailAddress.objects.get(user=person, verified=True).email == OLD


def test_taking_back_keeps_older_factors(thief: Browser, person: Account, mailoutbox: list[Any]) -> None:
    key, secret, codes = give_passkey(person), give_app(person), give_codes(person)
    confirm(thief, person)
    kept = set(Authenticator.objects.values_list("pk", flat=True))
    change(thief, NEW)
    add_key(thief, SoftKey())
    assert Authenticator.objects.count() == 4
    assert is_taken_back(take_back(OLD, take_back_code(OLD)))
    assert set(Authenticator.objects.values_list("pk", flat=True)) == kept
    assert key.pk in kept
    assert secret
    assert codes
    assert not is_signed_in(choose_password(OLD, mailoutbox))  # the mailbox alone does not pass an older factor


def test_a_server_whose_clock_is_behind_hides_no_factor(thief: Browser, person: Account) -> None:
    give_app(person)
    confirm(thief, person)
    change(thief, NEW)
    add_key(thief, SoftKey())
    behind = clock.from_now(-5 * 60)
    Authenticator.objects.exclude(type=Type.TOTP).update(created_at=behind)
    take_back(OLD, take_back_code(OLD))
    assert types(person) == [Type.TOTP]


def test_recovery_codes_that_a_thief_replaced_are_removed(thief: Browser, person: Account) -> None:
    give_app(person)
    give_codes(person)
    confirm(thief, person)
    change(thief, NEW)
    thief.post("/account/2fa/recovery-codes/generate/")
    take_back(OLD, take_back_code(OLD))
    assert types(person) == [Type.TOTP]


def test_recovery_codes_without_another_factor_are_removed(thief: Browser, person: Account) -> None:
    give_app(person)
    give_codes(person)
    confirm(thief, person)
    change(thief, NEW)
    add_key(thief, SoftKey())
    thief.post("/account/2fa/totp/deactivate/")
    assert Type.RECOVERY_CODES in types(person)
    take_back(OLD, take_back_code(OLD))
    assert types(person) == []


def test_taking_back_a_later_change_keeps_what_is_older_than_it(thief: Browser, person: Account) -> None:
    change(thief, NEW)
    set_up_app(thief)
    change(thief, "third@example.com")
    add_key(thief, SoftKey())
    assert is_taken_back(take_back(NEW, take_back_code(NEW)))
    assert types(person) == [Type.RECOVERY_CODES, Type.TOTP]
    assert is_taken_back(take_back(OLD, take_back_code(OLD)))
    assert types(person) == []


# --- Undoing a new factor from the mailbox that got the notice ---


def notice(about: str, to: str = OLD) -> Outbox:
    return Outbox.objects.filter(to=to, subject__contains=about).latest("pk")


def link_of(mail: Outbox) -> str:
    """Return the token of the link in a notice."""
    found = re.search(r"/account/secure/\?event=(\S+)", mail.text())
    assert found, mail.text()
    return unquote(found[1])


def ask_for_code(token: str, browser: Browser | None = None) -> str:
    """Have the code mailed, and return it."""
    (browser or Browser()).post("/account/undo/", {"event": token, "action": "send"})
    found = re.search(r"^ {4}(\S{4}-\S{4}-\S{4})$", str(django_mail.outbox[-1].body), re.MULTILINE)
    assert found, django_mail.outbox[-1].body
    return found[1]


def undo(token: str, code: str, ip: str = "192.0.2.1") -> Any:
    return Browser().post("/account/undo/", {"event": token, "code": code}, REMOTE_ADDR=ip)


def is_undone(answer: Any) -> bool:
    return bool(answer.status_code == 302 and answer["Location"] == "/account/undone/")


def test_a_notice_removes_the_new_passkey_without_signing_in(thief: Browser, person: Account) -> None:
    add_key(thief, SoftKey())
    change(thief, NEW)  # the thief's mailbox is the account's now
    mail = notice("A passkey has been added")
    token = link_of(mail)
    scanner = Browser()
    for path in ("/account/secure/", "/account/undo/"):
        for method in (scanner.get, scanner.head, scanner.options):
            method(path, {"event": token})
    assert len(types(person)) == 2
    assert "Remove it" in scanner.get("/account/secure/", {"event": token}).content.decode()
    code = ask_for_code(token)
    assert django_mail.outbox[-1].to == [OLD]
    assert not is_undone(undo(token, "AAAA-BBBB-CCCC"))
    assert is_undone(undo(token, code))
    assert types(person) == []  # with the recovery codes that came with it
    assert not is_signed_in(thief)
    assert "will be removed" not in scanner.get("/account/undone/").content.decode()
    told = Outbox.objects.filter(subject__contains="passkey has been removed")
    assert sorted(told.values_list("to", flat=True)) == sorted([OLD, NEW])
    assert all("Your recovery codes were removed as well" in " ".join(row.text().split()) for row in told)
    assert not is_undone(undo(token, code))


def test_it_removes_only_the_factor_that_was_meant(thief: Browser, person: Account) -> None:
    kept = give_passkey(person), give_codes(person)
    confirm(thief, person)
    set_up_app(thief)
    add_key(thief, SoftKey())
    token = link_of(notice("An authenticator app has been set up"))
    assert is_undone(undo(token, ask_for_code(token)))
    assert types(person) == [Type.RECOVERY_CODES, Type.WEBAUTHN, Type.WEBAUTHN]
    assert kept


def test_codes_that_came_with_a_thiefs_passkey_go_though_the_owner_has_an_app(thief: Browser, person: Account) -> None:
    add_key(thief, SoftKey())
    give_app(person)
    token = link_of(notice("A passkey has been added"))
    assert is_undone(undo(token, ask_for_code(token)))
    assert types(person) == [Type.TOTP]


def test_it_works_for_seven_days(thief: Browser, person: Account, later: Any) -> None:
    set_up_app(thief)
    token = link_of(notice("An authenticator app has been set up"))
    later(6.9 * DAY)
    assert Authenticator.objects.count() == 2
    code = ask_for_code(token)
    later(0.2 * DAY)
    assert not is_undone(undo(token, code))
    assert b"Nothing to remove" in Browser().get("/account/undo/", {"event": token}).content
    assert len(types(person)) == 2


def test_the_events_that_it_needs_are_kept_for_seven_days(
    thief: Browser, person: Account, later: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "SECURITY_EVENT_DAYS", 1)
    set_up_app(thief)
    token = link_of(notice("An authenticator app has been set up"))
    later(6.9 * DAY)
    assert clear_security_events() == 0
    assert is_undone(undo(token, ask_for_code(token)))
    later(DAY)
    assert clear_security_events() > 0


def test_a_thief_without_the_mailbox_removes_nothing_of_the_owner(thief: Browser, person: Account) -> None:
    """The owner's own new passkey: the thief has a session, and finds the link in the activity."""
    owner = sign_in_again(person)
    give_app(person)
    confirm(owner, person)
    add_key(owner, SoftKey())
    before = types(person)
    page = thief.get("/account/activity/").content.decode()
    tokens = {unquote(found) for found in re.findall(r"/account/secure/\?event=([^\"&]+)", page)}
    assert tokens
    for token in tokens:
        answer = thief.post("/account/undo/", {"event": token, "action": "send"})
        assert b"@" not in answer.content
        assert not is_undone(undo(token, "AAAA-BBBB-CCCC", ip=f"192.0.2.{len(token)}"))
    assert types(person) == before
    assert Type.WEBAUTHN in before
    assert {address for mail in django_mail.outbox for address in mail.to} == {OLD}


def test_a_thiefs_mailbox_removes_nothing_once_the_account_was_taken_back(thief: Browser, person: Account) -> None:
    change(thief, NEW)
    add_key(thief, SoftKey())
    token = link_of(notice("A passkey has been added", to=NEW))
    code = ask_for_code(token)
    event = SecurityEvent.objects.get(kind="passkey_added")
    take_back(OLD, take_back_code(OLD))
    owners = give_passkey(person)
    SecurityEvent.objects.filter(pk=event.pk).update(details=event.details | {"factor": owners.pk})
    assert not is_undone(undo(token, code))
    assert Authenticator.objects.filter(pk=owners.pk).exists()


def test_a_passkey_of_the_sign_up_can_not_be_undone(person: Account) -> None:
    key = give_passkey(person)
    event = record(person, "passkey_added", notify=False, name="Laptop", factor=key.pk)
    token = token_of(event)
    assert b"Nothing to remove" in Browser().get("/account/undo/", {"event": token}).content
    assert not is_undone(undo(token, mailbox_codes.code_for(f"undo {event.pk}", "", 24 * 3600)))
    assert Authenticator.objects.filter(pk=key.pk).exists()


# --- What was added shortly before the change ---

TAKEN_BACK = "/account/address/taken-back"
OWNERS = [Type.RECOVERY_CODES, Type.TOTP]


@pytest.fixture
def planted(thief: Browser, person: Account) -> SoftKey:
    """The thief's passkey, a minute older than the change of the email address; the owner's app and codes are old."""
    give_app(person)
    give_codes(person)
    confirm(thief, person)
    Authenticator.objects.update(created_at=clock.from_now(-30 * DAY))
    key = SoftKey()
    add_key(thief, key)
    Authenticator.objects.filter(type=Type.WEBAUTHN).update(created_at=clock.from_now(-60))
    change(thief, NEW)
    return key


@pytest.fixture
def owner(planted: SoftKey) -> Browser:
    """The browser in which the owner has just taken the account back."""
    browser = Browser()
    assert is_taken_back(take_back(OLD, take_back_code(OLD), browser))
    return browser


def form_of(browser: Browser) -> dict[str, list[str]]:
    """Return the form as the page shows it: everything is ticked."""
    page = browser.get(TAKEN_BACK).content.decode()
    ticked = re.findall(r'name="remove"[^>]* value="(\d+)"[^>]* checked', page)
    assert ticked == re.findall(r'name="listed" value="(\d+)"', page)
    return {"action": ["remove"], "remove": ticked, "listed": ticked}


def test_a_passkey_from_before_the_change_does_not_sign_in_alone(
    planted: SoftKey, owner: Browser, person: Account
) -> None:
    assert types(person) == [*OWNERS, Type.WEBAUTHN]
    assert not is_signed_in(use_alone(planted, person))


@pytest.mark.parametrize("when", ["before the change", "since the change"])
def test_a_sign_in_with_it_that_is_running_ends_too(
    when: str, planted: SoftKey, person: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    if when == "since the change":
        Authenticator.objects.filter(type=Type.WEBAUTHN).update(created_at=clock.now())
    code, check = take_back_code(OLD), webauthn.complete_authentication

    def check_slowly(*args: Any) -> Authenticator:
        row = check(*args)
        assert is_taken_back(take_back(OLD, code))
        return row

    monkeypatch.setattr(webauthn, "complete_authentication", check_slowly)
    assert not is_signed_in(use_alone(planted, person))


def test_the_page_asks_about_it_and_one_answer_removes_it(
    planted: SoftKey, owner: Browser, person: Account, mailoutbox: list[Any]
) -> None:
    page = owner.get(TAKEN_BACK).content.decode()
    assert "Passkey “" in page
    assert "Authenticator app set up" not in page  # it is older than seven days
    assert "Signed in with a password" in page
    assert "Choose a new password" not in page  # a new password ends the question
    assert "Are these yours?" not in Browser().get(TAKEN_BACK).content.decode()
    owner.post(TAKEN_BACK, form_of(owner))
    assert types(person) == OWNERS
    page = owner.get(TAKEN_BACK).content.decode()
    assert "Are these yours?" not in page
    assert "Choose a new password" in page
    assert Outbox.objects.filter(subject__contains="passkey has been removed").values_list("to", flat=True)[0] == OLD
    assert "Are these yours?" not in choose_password(OLD, mailoutbox).get(TAKEN_BACK).content.decode()


def test_a_passkey_that_the_owner_keeps_signs_in_alone_again(planted: SoftKey, owner: Browser, person: Account) -> None:
    owner.post(TAKEN_BACK, form_of(owner) | {"remove": []})
    assert types(person) == [*OWNERS, Type.WEBAUTHN]
    assert is_signed_in(use_alone(planted, person))


def test_without_an_answer_it_signs_in_alone_after_a_use_with_the_owners_new_password(
    planted: SoftKey, owner: Browser, person: Account, mailoutbox: list[Any]
) -> None:
    browser = choose_password(OLD, mailoutbox)
    options = browser.get("/account/2fa/authenticate/").context["js_data"]["request_options"]
    browser.post("/account/2fa/authenticate/", {"credential": planted.signed(options)})
    assert is_signed_in(browser)
    assert is_signed_in(use_alone(planted, person))


@pytest.mark.parametrize("form", ["listed", "kept by its key", "without a list"])
def test_what_was_added_after_the_page_was_shown_goes_too(
    form: str, planted: SoftKey, owner: Browser, person: Account
) -> None:
    shown = form_of(owner)
    late = str(give_passkey(person).pk)  # a thief who signs in with a passkey that is older than seven days
    if form == "kept by its key":
        shown["listed"] = [*shown["listed"], late]
    elif form == "without a list":
        shown = {"action": ["remove"]}
    owner.post(TAKEN_BACK, shown)
    assert types(person) == OWNERS


def test_recovery_codes_and_apps_of_these_days_are_asked_about(thief: Browser, person: Account) -> None:
    set_up_app(thief)
    Authenticator.objects.update(created_at=clock.from_now(-60))
    change(thief, NEW)
    owner = Browser()
    take_back(OLD, take_back_code(OLD), owner)
    page = owner.get(TAKEN_BACK).content.decode()
    assert "Authenticator app set up" in page
    assert "Recovery codes created" in page
    app = Authenticator.objects.get(type=Type.TOTP)
    owner.post(TAKEN_BACK, form_of(owner) | {"remove": [str(app.pk)]})
    assert types(person) == []  # codes alone are of no use


def test_a_change_that_is_taken_back_late_asks_about_the_days_before_the_change(
    planted: SoftKey, person: Account, later: Any
) -> None:
    code = take_back_code(OLD)
    later(6.9 * DAY)
    owner = Browser()
    assert is_taken_back(take_back(OLD, code, owner))
    assert "Are these yours?" in owner.get(TAKEN_BACK).content.decode()


def test_the_answer_ends_sessions_and_a_second_one_changes_nothing(
    planted: SoftKey, owner: Browser, person: Account
) -> None:
    shown = form_of(owner)
    older = SoftKey(id=b"a key that is older")
    give_key(person, older)
    late = use_alone(older, person)
    assert is_signed_in(late)
    stored = dict(owner.session)
    owner.post(TAKEN_BACK, shown)
    assert not is_signed_in(late)
    added = give_passkey(person)  # of the owner
    session = owner.session
    session.update(stored)  # as another request of this browser has read it
    session.save()
    owner.post(TAKEN_BACK, shown)
    assert Authenticator.objects.filter(pk=added.pk).exists()


def test_the_answer_is_checked_again_under_the_lock(owner: Browser, person: Account, rf: Any) -> None:
    stamp = owner.session["taken_back"]["stamp"]
    end_all_sessions(person)
    question = questioned.Question(clock.from_now(-7 * DAY), 10**6)
    assert questioned.answer(rf.post(TAKEN_BACK), person.pk, stamp, question, []) is None
    assert types(person) == [*OWNERS, Type.WEBAUTHN]


@pytest.mark.parametrize("value", ["", "x", "-1", "\x00", "9" * 5000, "\u0661", "1.5"])
def test_other_values_in_the_answer_are_ignored(value: str, owner: Browser, person: Account) -> None:
    form = form_of(owner)
    answer = owner.post(TAKEN_BACK, form | {"listed": [value], "remove": [value]})
    assert answer.status_code in (302, 400)
    assert (Type.WEBAUTHN in types(person)) == (answer.status_code == 400)


def test_another_browser_answers_nothing(owner: Browser, person: Account) -> None:
    Browser().post(TAKEN_BACK, form_of(owner))
    assert types(person) == [*OWNERS, Type.WEBAUTHN]


@pytest.mark.parametrize("token", ["", "1", "1:", "1:x", "\x00", "9" * 50, "é", ":", "x" * 5000])
def test_other_links_are_rejected(token: str, thief: Browser, person: Account) -> None:
    set_up_app(thief)
    for browser in (Browser(), thief):
        for path in ("/account/undo/", "/account/secure/"):
            assert browser.get(path, {"event": token}).status_code in (200, 400)
        for form in ({"action": "send"}, {"code": "AAAA-BBBB-CCCC"}, {}):
            assert browser.post("/account/undo/", {"event": token} | form).status_code in (200, 400)
    assert len(types(person)) == 2
    assert not django_mail.outbox


@pytest.mark.parametrize("how", ["recovery", "another factor"])
def test_a_thief_can_not_use_up_the_mails_with_the_code(how: str, thief: Browser, person: Account) -> None:
    set_up_app(thief)
    token = link_of(notice("An authenticator app has been set up"))
    path, form = "/account/recovery/start/", {"action": "send"}
    if how == "another factor":
        add_key(thief, SoftKey())
        path, form = "/account/undo/", {"event": link_of(notice("A passkey has been added")), "action": "send"}
    for _ in range(settings.MAILS_PER_RECIPIENT_PER_DAY):
        sign_in_as_far_as_possible(person)[0].post(path, form)
    assert len(django_mail.outbox) == settings.MAILS_PER_RECIPIENT_PER_DAY
    assert is_undone(undo(token, ask_for_code(token)))


def test_the_code_of_another_event_is_sent_at_once(thief: Browser, person: Account) -> None:
    """The page must not say that a code was sent which belongs to something else."""
    set_up_app(thief)
    confirm(thief, person)
    add_key(thief, SoftKey())
    browser, events = Browser(), ("An authenticator app has been set up", "A passkey has been added")
    tokens = [link_of(notice(about)) for about in events]
    codes = [ask_for_code(token, browser) for token in tokens]
    assert codes[0] != codes[1]
    assert "Send the code again" in browser.get("/account/undo/", {"event": tokens[1]}).content.decode()
    assert "Send me the code" in browser.get("/account/undo/", {"event": tokens[0]}).content.decode()


def test_this_was_not_me_remembers_the_event(thief: Browser, person: Account) -> None:
    secret = set_up_app(thief)
    assert secret
    page = thief.get("/account/activity/").content.decode()
    event = SecurityEvent.objects.get(kind="authenticator_on")
    link = f"/account/secure/?event={quote(token_of(event), safe='')}"
    assert link in page
    shown = thief.get(link).content.decode()
    assert "Authenticator app set up" in shown
    assert "Remove it" in shown
    signed_out = Browser().get(link).content.decode()
    assert f"next=/account/secure/%3Fevent%3D{quote(quote(token_of(event), safe=''), safe='')}" in signed_out
    sign_in_event = SecurityEvent.objects.filter(kind__startswith="signed_in").latest("pk")
    about_sign_in = thief.get(f"/account/secure/?event={quote(token_of(sign_in_event))}").content.decode()
    assert "Signed in with a password" in about_sign_in
    assert "Remove it" not in about_sign_in


def sign_in_again(account: Account) -> Browser:
    """Return the browser of the owner, who is signed in as well."""
    browser = sign_in(Browser(), account)
    browser.post("/account/reauthenticate/", {"login": account.email, "password": PASSWORD})
    return browser
