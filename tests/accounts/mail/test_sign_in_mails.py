"""The emails of the sign-in pages, as they arrive: for which app, how long, from where; and both forms kept alike."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.mail import outbox
from accounts.models import Account, Outbox
from core import clock
from core.http.places import UNNAMED
from oidc.models import Client
from tests.accounts.mail.test_codes import ADDRESS, CODE, ask_again, sign_up
from tests.accounts.mail.test_outbox import MailServer
from tests.accounts.test_email_verified import change_address
from tests.factories import as_reviewed, make_account, make_client
from tests.relying_party import RelyingParty, sign_in

pytestmark = pytest.mark.django_db
Mover = Callable[[float], None]
FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0"


def reset(browser: Browser, address: str) -> None:
    assert browser.post("/account/password/reset/", {"email": address}).status_code == 302


def both(message: Any) -> list[str]:
    """Return the text and the HTML of an email that was sent, each as one line."""
    (html, kind) = message.alternatives[0]
    assert kind == "text/html"
    return [
        " ".join(text.split()) for text in (message.body, re.sub(r"<style.*?</style>|<[^>]*>", " ", html, flags=re.S))
    ]


@pytest.mark.parametrize("address", ["ada@example.com", ADDRESS])
@pytest.mark.parametrize("cause", [sign_up, lambda address, browser: reset(browser, address)])
def test_it_says_for_which_app_and_from_where(
    person: Account, spa: Client, address: str, cause: Callable[..., Any], mailoutbox: list[Any]
) -> None:
    Client.objects.filter(pk=spa.pk).update(**as_reviewed())
    browser = Browser(headers={"User-Agent": FIREFOX})
    RelyingParty(spa, browser).authorize()
    cause(address, browser)
    for text in both(mailoutbox[0]):
        assert re.search(r"To sign in to:? Orbit Notes Requested from:? Firefox on Windows ", text)
        assert "Mozilla" not in text
        assert "ignore this email" in text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Orbit & Notes <b>", "the app “Orbit & Notes <b>”, which Openport has not reviewed"),
        ("O" * 60, f"the app “{'O' * 40}…”, which Openport has not reviewed"),
        ("Free money at evil.example", "an app that Openport has not reviewed"),
        ("Free money: https://evil", "an app that Openport has not reviewed"),
        ("Call 0800 123 45 67 now", "an app that Openport has not reviewed"),
    ],
)
def test_an_unreviewed_name_is_shown_safely(name: str, shown: str, mailoutbox: list[Any]) -> None:
    browser = Browser()
    RelyingParty(make_client(name=name), browser).authorize()
    sign_up(browser=browser)
    assert f"To sign in to: {shown} " in both(mailoutbox[0])[0]


def test_without_an_app_and_for_signed_in_people_no_app_is_named(
    person: Account, spa: Client, mailoutbox: list[Any]
) -> None:
    sign_up()
    browser = Browser()
    RelyingParty(spa, browser).authorize()
    sign_in(browser, person)
    change_address(browser, "ada.new@example.com")
    assert [message.to for message in mailoutbox[:2]] == [[ADDRESS], ["ada.new@example.com"]]
    assert all("To sign in to" not in text for message in mailoutbox for text in both(message))


@pytest.mark.parametrize("agent", ["", "Win a phone at evil.example", "curl/8.5.0 (Linux)", "Mozilla/5.0 " + "x" * 300])
def test_the_user_agent_of_an_unknown_browser_is_not_mailed(agent: str, mailoutbox: list[Any]) -> None:
    sign_up(browser=Browser(headers={"User-Agent": agent}))
    assert f"Requested from: {UNNAMED} " in both(mailoutbox[0])[0]


def test_it_says_the_minutes_that_are_left(
    down: type[MailServer], later: Mover, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accounts.mail.codes.time.time", lambda: clock.now().timestamp())

    def lasts() -> str:
        (said,) = re.findall(r"It works for (.*?)\. ", " ".join(Outbox.objects.latest("pk").text().split()))
        return str(said)

    browser = sign_up()
    said = [lasts()]
    for seconds in (450, 420):
        later(seconds)
        ask_again(browser)
        said.append(lasts())
    assert said == ["15 minutes", "7 minutes", "less than a minute"]


def test_a_code_stands_large_and_once_in_both_forms(mailoutbox: list[Any]) -> None:
    sign_up()
    (code,) = CODE.findall(mailoutbox[0].body)
    html = mailoutbox[0].alternatives[0][0]
    assert html.count(code) == 1
    assert re.search(rf'<p class="code" style="[^"]*28px[^"]*">{code}</p>', html)
    assert "href" not in html
    assert code not in mailoutbox[0].subject


def test_both_forms_of_a_code_are_encrypted_and_wiped_and_no_page_of_the_admin_shows_them(
    down: type[MailServer], later: Mover
) -> None:
    sign_up()
    row = Outbox.objects.get()
    (code,) = CODE.findall(row.text())
    assert code in row.html_text()
    hidden = {code, row.body_encrypted[:30], row.html_encrypted[:30]}
    assert row.html == row.body == ""
    browser = sign_in(Browser(), make_account("root@example.com", is_superuser=True, is_staff=True))
    for page in ("", f"{row.pk}/change/", f"{row.pk}/history/"):
        text = browser.get(f"/admin/accounts/outbox/{page}", follow=True).content.decode()
        assert not [each for each in hidden if each in text]
    later(16 * 60)
    Outbox.objects.expire()
    row.refresh_from_db()
    assert (row.body_encrypted, row.html_encrypted) == ("", "")


@pytest.mark.parametrize("address", ["ada@example.com", "o'hara&sons@example.com"])
def test_deleted_people_are_removed_from_the_html_too(address: str) -> None:
    invited = {"inviter": address, "email": "grace@example.com", "days": 7}
    row = outbox.queue_mail("grace@example.com", "family_invitation", invited)
    other = outbox.queue_mail("kim@example.com", "family_invitation", invited | {"inviter": f"x{address}"})
    assert "invites you" in row.html
    outbox.delete_mail_to([address])
    before = other.html
    row.refresh_from_db()
    other.refresh_from_db()
    assert "hara" not in row.html + row.body
    assert "ada@" not in row.html + row.body
    assert (row.html.count(outbox.SOMEONE), row.body.count(outbox.SOMEONE)) == (2, 2)
    assert other.html == before


def test_both_kinds_of_addresses_get_mails_of_much_the_same_size(person: Account, down: type[MailServer]) -> None:
    for address in (person.email, ADDRESS):
        sign_up(address)
        reset(Browser(), address)
    sizes = [len(row.html_text()) for row in Outbox.objects.all()]
    assert max(sizes) < 1.2 * min(sizes)
