"""The steps by which tests/security/test_limit_table.py reaches each limit of docs/limits.md."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

import pytest
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client as Browser

from accounts.activity.recording import record, token_of
from accounts.entrance import guesses
from accounts.models import Account, Family
from accounts.plans import members
from api import usage_counts
from core import clock
from devportal.console.idempotency import new_token
from devportal.console.models import SignInEvent
from oidc.authorization import consent
from oidc.models import Client, Project
from tests.api.scanning import ScannerKey
from tests.devportal.console.playground.playing import Playground
from tests.factories import PASSWORD, make_access_token, make_account, make_client, make_domain, make_key, make_project
from tests.factories import make_web_client as make_web
from tests.relying_party import FORM, RelyingParty
from tests.urls import every_url

Step = Callable[[int, dict[str, Any]], Any]
# The messages of forms when a limit of the table is reached.
MESSAGES = re.compile(
    r"[Ss]everal emails|many invitations|too many reports|up to 2 |is the maximum|may have|at most|[0-9] [kK]B"
    r"|[0-9] MB|larger than"
)
SPELLINGS = ["ada@example.com", "ADA@example.com", " ada@Example.COM", "Ada@EXAMPLE.com "]
TAGGED = ["victim@example.com", "Victim@example.com", "victim+1@example.com", "victim+other@EXAMPLE.com"]


@dataclass
class World:
    """The objects that the steps need, created at first use."""

    request: pytest.FixtureRequest
    path: str

    @cached_property
    def person(self) -> Account:
        account: Account = self.request.getfixturevalue("person")
        return account

    @cached_property
    def browser(self) -> Browser:
        """A browser in which the person is signed in."""
        browser: Browser = self.request.getfixturevalue("signed_in")
        return browser

    @cached_property
    def project(self) -> Project:
        return make_project(self.person)

    @cached_property
    def client(self) -> Client:
        return make_client(self.project)

    @property
    def place(self) -> str:
        """The row's path with this project and client in it."""
        known = {"p": self.project.public_id, "clients": self.client.client_id}
        return re.sub(r"/(p|clients)/…", lambda part: f"/{part[1]}/{known[part[1]]}", self.path)

    @property
    def example(self) -> str:
        """The row's path with ids that nobody has."""
        return next(url.example for url in every_url() if url.written == self.path)

    def app(self, web: bool = False) -> RelyingParty:
        if not web:
            return RelyingParty(self.client, self.browser)
        client, secret = make_web(self.project)
        return RelyingParty(client, self.browser, secret)


@dataclass(frozen=True)
class Drive:
    """A limit. `prepare` returns a function that takes one step; `within` steps succeed if the setting is 2."""

    prepare: Callable[[World], Step]
    within: int


DRIVES: dict[str, Drive] = {}


def drives(*rows: str, within: int = 2) -> Callable[[Callable[[World], Step]], Callable[[World], Step]]:
    def add(prepare: Callable[[World], Step]) -> Callable[[World], Step]:
        DRIVES.update(dict.fromkeys(rows, Drive(prepare, within)))
        return prepare

    return add


# --- Sign-in ---


def log_in(browser: Browser, login: str, password: str, changes: dict[str, Any]) -> Any:
    return browser.post("/account/login/", {"login": login, "password": password}, **changes)


@drives("password checks")
def right_passwords(world: World) -> Step:
    world.request.getfixturevalue("person")
    return lambda n, changes: log_in(Browser(), SPELLINGS[n], PASSWORD, changes)


@drives("password checks from known browsers")
def right_passwords_here(world: World) -> Step:
    known = world.browser.cookies["openport_known"].value

    def step(n: int, changes: dict[str, Any]) -> Any:
        browser = Browser()
        browser.cookies["openport_known"] = known
        return log_in(browser, SPELLINGS[n], PASSWORD, changes)

    return step


@drives("wrong passwords")
def wrong_passwords(world: World) -> Step:
    return lambda n, changes: log_in(Browser(), f"p{n}@example.com", "wrong", changes)


@drives("wrong passwords for an account from one IP address", "wrong passwords for an account")
def wrong_passwords_of_one(world: World) -> Step:
    world.request.getfixturevalue("person")
    return lambda n, changes: log_in(Browser(), SPELLINGS[n], "wrong", changes)


@drives("wrong passwords after mailbox verification")
def wrong_passwords_after_the_proof(world: World) -> Step:
    world.request.getfixturevalue("person")
    browsers = [Browser() for _ in range(3)]
    for browser in browsers:
        session = browser.session
        session[guesses.PROVED] = {"ada@example.com": clock.timestamp()}
        session.save()
    return lambda n, changes: log_in(browsers[n], SPELLINGS[n], "wrong", changes)


@drives("emails for mailbox verification")
def mails_of_the_proof(world: World) -> Step:
    browsers = [Browser() for _ in range(3)]
    for n, browser in enumerate(browsers):
        session = browser.session
        session[guesses.ASKED] = {"email": TAGGED[n], "then": "/account/login/"}
        session.save()
    return lambda n, changes: browsers[n].post(world.path, {"action": "send"}, **changes)


@drives("codes that reverse a change of email address")
def codes_that_take_back(world: World) -> Step:
    return lambda n, changes: Browser().post(world.path, {"email": f"n{n}@example.com", "code": "AAAA"}, **changes)


def event_of_new_codes(account: Account) -> str:
    """Return the token in the link of an event that added recovery codes, which the person's mailbox can undo."""
    codes = RecoveryCodes.activate(account).instance
    return token_of(record(account, "recovery_codes_made", factor=codes.pk, mailbox=account.email))


@drives("codes that remove a new second factor")
def codes_that_undo(world: World) -> Step:
    token = event_of_new_codes(world.person)
    return lambda n, changes: Browser().post(world.path, {"event": token, "code": "AAAA"}, **changes)


@drives("emails with a code that removes a new second factor")
def mails_that_undo(world: World) -> Step:
    token = event_of_new_codes(world.person)
    return lambda n, changes: Browser().post(world.path, {"event": token, "action": "send"}, **changes)


def without_password(world: World) -> Browser:
    """Return the browser of the person, who has neither a password nor a factor."""
    browser = world.browser
    world.person.set_unusable_password()
    world.person.save()
    session = browser.session
    session["_auth_user_hash"] = world.person.get_session_auth_hash()
    session.save()
    return browser


@drives("codes from a reauthentication email")
def codes_when_asked_again(world: World) -> Step:
    browser = without_password(world)
    return lambda n, changes: browser.post(world.path, {"code": "AAAA"}, **changes)


@drives("emails with a code for reauthentication")
def mails_when_asked_again(world: World) -> Step:
    browser = without_password(world)

    def step(n: int, changes: dict[str, Any]) -> Any:
        session = browser.session
        session.pop("code_sent", None)  # otherwise no second email is sent within a minute
        session.save()
        return browser.post(world.path, {"action": "send"}, **changes)

    return step


@drives("codes that start a recovery")
def codes_that_start_a_recovery(world: World) -> Step:
    TOTP.activate(world.person, generate_totp_secret())
    browser = Browser()
    log_in(browser, world.person.email, PASSWORD, {})
    return lambda n, changes: browser.post(world.path, {"code": "AAAA"}, **changes)


@drives("emails with a code that starts a recovery")
def mails_that_start_a_recovery(world: World) -> Step:
    TOTP.activate(world.person, generate_totp_secret())

    def step(n: int, changes: dict[str, Any]) -> Any:
        browser = Browser()
        log_in(browser, world.person.email, PASSWORD, changes)
        return browser.post(world.path, {"action": "send"}, **changes)

    return step


@drives("wrong passwords from a known browser")
def wrong_passwords_here(world: World) -> Step:
    world.browser.cookies.pop("openport_session")
    return lambda n, changes: log_in(world.browser, SPELLINGS[n], "wrong", changes)


@drives("wrong passwords of signed-in users")
def wrong_passwords_again(world: World) -> Step:
    form = {"login": world.person.email, "password": "wrong", "oldpassword": "wrong"}
    return lambda n, changes: world.browser.post(world.path, form, **changes)


@drives("wrong codes for an account from one IP address", "wrong codes for an account")
def wrong_codes(world: World) -> Step:
    TOTP.activate(world.person, generate_totp_secret())
    return lambda n, changes: wrong_code(world.person, changes)


@drives("wrong codes at sign-in")
def wrong_codes_of_many(world: World) -> Step:
    people = [world.person, make_account(), make_account()]
    for account in people:
        TOTP.activate(account, generate_totp_secret())
    return lambda n, changes: wrong_code(people[n], changes)


def wrong_code(account: Account, changes: dict[str, Any]) -> Any:
    browser = Browser()
    log_in(browser, account.email, PASSWORD, changes)
    return browser.post("/account/2fa/authenticate/", {"code": "000000"}, **changes)


@drives("wrong codes, passkeys and security keys of signed-in users")
def wrong_codes_again(world: World) -> Step:
    browser = world.browser
    TOTP.activate(world.person, generate_totp_secret())
    return lambda n, changes: browser.post(world.path, {"code": "000000"}, **changes)


@drives("wrong codes without a right one in between")
def wrong_codes_in_a_row(world: World) -> Step:
    if world.path == "/account/2fa/authenticate/":
        return wrong_codes(world)
    return wrong_codes_again(world)


# --- Forms and codes ---


@drives("forms for sign-up, reset, codes, passkeys and leaked keys; requests from the docs")
def forms_of_anyone(world: World) -> Step:
    return lambda n, changes: Browser().post(world.path, {"email": f"n{n}@example.com"}, **changes)


@drives("passkey challenges, and sign-ins with a passkey")
def challenges(world: World) -> Step:
    return lambda n, changes: Browser(HTTP_ACCEPT="application/json").get(world.path, **changes)


@drives("searches of the docs")
def searches(world: World) -> Step:
    return lambda n, changes: Browser().get(world.path, {"q": f"word{n}"}, **changes)


@drives("forms that create, upload or compute", "review steps that send an email")
def forms_of_people(world: World) -> Step:
    make_project(world.person)  # whose last owner can't delete the account
    return lambda n, changes: world.browser.post(world.example, {"once": f"{n}"}, **changes)


REPORT = {"reason": "harmful", "text": "It was on the page."}


def _report_of(world: World) -> str:
    return f"/apps/report/{world.client.client_id}"


SIGN_UP = {"given_name": "N", "password1": "a quiet evening 42"}


@drives("reports of apps")
def reports_of_a_person(world: World) -> Step:
    consent.record_consent(world.person, world.client, ["openid"])
    return lambda n, changes: world.browser.post(_report_of(world), REPORT, **changes)


@drives("reports of one app")
def reports_of_an_app(world: World) -> Step:
    def step(n: int, changes: dict[str, Any]) -> Any:
        person, browser = make_account(), Browser()
        consent.record_consent(person, world.client, ["openid"])
        browser.force_login(person)
        return browser.post(_report_of(world), REPORT, **changes)

    return step


@drives("wrong codes from a sign-up email", within=1)
def codes_of_a_sign_up(world: World) -> Step:
    browser = Browser()
    browser.post("/account/signup/", {"email": "new@example.com", **SIGN_UP})
    return lambda n, changes: browser.post(world.path, {"code": "AAAA-AAAA"}, **changes)


@drives("wrong codes from a reset email", within=1)
def codes_of_a_reset(world: World) -> Step:
    browser = Browser()
    browser.post("/account/password/reset/", {"email": world.person.email})
    return lambda n, changes: browser.post(world.path, {"code": "AAAA-AAAA"}, **changes)


# --- Mails ---


@drives("sign-up emails", "password reset emails")
def mails_of_forms(world: World) -> Step:
    return lambda n, changes: Browser().post(world.path, {"email": TAGGED[n], **SIGN_UP}, **changes)


@drives("codes that are sent again")
def codes_again(world: World) -> Step:
    world.request.getfixturevalue("monkeypatch").setattr("accounts.mail.recipient_limit.PAUSE", 0)
    browsers = [Browser() for _ in range(3)]
    for browser in browsers:
        browser.post("/account/signup/", {"email": TAGGED[0], **SIGN_UP})
    return lambda n, changes: browsers[n].post(world.path, {"action": "resend"}, **changes)


@drives("codes to a new email address")
def codes_to_a_new_address(world: World) -> Step:
    again = {"login": world.person.email, "password": PASSWORD}
    world.browser.post("/account/reauthenticate/", again)
    return lambda n, changes: world.browser.post(world.path, {"email": TAGGED[n], "action_add": ""}, **changes)


@drives("invitation emails to families")
def family_mails(world: World) -> Step:
    def step(n: int, changes: dict[str, Any]) -> Any:
        owner = make_account(f"owner{n}@example.com")
        members.add_member(Family.objects.create(owner=owner), owner)
        browser = Browser()
        browser.force_login(owner)
        return browser.post(world.path, {"email": TAGGED[n]}, **changes)

    return step


@drives("invitation emails to projects")
def project_mails(world: World) -> Step:
    def step(n: int, changes: dict[str, Any]) -> Any:
        path = f"/console/p/{make_project(world.person, name=f'P{n}').public_id}/team"
        return world.browser.post(path, {"email": TAGGED[n], "role": "viewer"}, **changes)

    return step


@drives("invitations to a family", within=2)
def family_invitations(world: World) -> Step:
    Family.objects.create(owner=world.person)
    return lambda n, changes: world.browser.post(world.path, {"email": f"n{n}@example.com"}, **changes)


@drives("members of a family", within=1)  # the owner is already a member
def family_members(world: World) -> Step:
    members.add_member(Family.objects.create(owner=world.person), world.person)
    return lambda n, changes: world.browser.post(world.path, {"email": f"n{n}@example.com"}, **changes)


@drives("invitations to projects")
def project_invitations(world: World) -> Step:
    return lambda n, changes: world.browser.post(
        world.place, {"email": f"n{n}@example.com", "role": "viewer"}, **changes
    )


@drives("members of a project", within=1)
def project_members(world: World) -> Step:
    return project_invitations(world)


# --- Objects that people create ---


@drives("projects")
def projects(world: World) -> Step:
    return lambda n, changes: world.browser.post(world.path, {"name": f"Notes {n}", "once": new_token()}, **changes)


@drives("apps", within=1)  # one already exists
def clients(world: World) -> Step:
    form = {"type": "spa", "redirect_uris": "https://app.example.com/callback"}
    return lambda n, changes: world.browser.post(
        world.place, form | {"name": f"Notes {n}", "once": new_token()}, **changes
    )


@drives("domains of a project")
def domains(world: World) -> Step:
    return lambda n, changes: world.browser.post(world.place, {"name": f"d{n}.example.com"}, **changes)


@drives("checks of domains")
def domain_checks(world: World) -> Step:
    def step(n: int, changes: dict[str, Any]) -> Any:
        """Check a domain of a new project."""
        project = make_project(world.person, name=f"P{n}")
        domain = make_domain(project, method="", proven_at=None)
        return world.browser.post(f"/console/p/{project.public_id}/domains/{domain.pk}/check", **changes)

    return step


@drives("API keys")
def api_keys(world: World) -> Step:
    return lambda n, changes: world.browser.post(world.place, {"name": f"Key {n}", "once": new_token()}, **changes)


@drives("photos", within=0)
def photos(world: World) -> Step:
    return lambda n, changes: world.browser.post(world.path, {"given_name": "A", "picture": picture()}, **changes)


@drives("logos", within=0)
def logos(world: World) -> Step:
    return lambda n, changes: world.browser.post(
        world.place, {"name": "Notes", "logo": picture(), "step": "save"}, **changes
    )


def picture() -> SimpleUploadedFile:
    return SimpleUploadedFile("photo.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 1000, "image/png")


# --- Endpoints for apps ---


@drives("wrong secrets in the playground")
def playground_guesses(world: World) -> Step:
    playground = Playground(make_web(world.project)[0], world.browser).open()
    playground.go("email")

    def step(n: int, changes: dict[str, Any]) -> Any:
        world.browser.defaults |= {"REMOTE_ADDR": changes["REMOTE_ADDR"]}
        return playground.exchange("wrong")

    return step


@drives("authorization requests")
def authorizations(world: World) -> Step:
    app = world.app()
    return lambda n, changes: app.browser.get(world.path, app.parameters(), **changes)


@drives("authorization requests that end on an error page")
def bad_authorizations(world: World) -> Step:
    return lambda n, changes: Browser().get(world.path, {"client_id": f"op_client_{n}"}, **changes)


@drives("sign-out requests that are not valid")
def bad_sign_outs(world: World) -> Step:
    app = world.app()

    def step(n: int, changes: dict[str, Any]) -> Any:
        sent = {"client_id": app.client.client_id, "id_token_hint": f"x{n}"}
        response = Browser().get(world.path, sent, **changes)
        usage_counts.flush_usage()
        response.entries = SignInEvent.objects.filter(endpoint="end_session").count()  # type: ignore[attr-defined]
        response.sent = n + 1  # type: ignore[attr-defined]
        return response

    return step


def post(path: str, form: dict[str, str], changes: dict[str, Any], **headers: str) -> Any:
    changes = changes | {"headers": changes["headers"] | headers}
    return Browser().post(path, urlencode(form), content_type=FORM, **changes)


@drives("other rejected requests")
def strangers_requests(world: World) -> Step:
    form = {"grant_type": "refresh_token", "refresh_token": "x" * 43, "token": "x"}
    return lambda n, changes: post(world.path, form | {"client_id": f"x{n}"}, changes, Authorization="Bearer x")


def dead_tokens_of(web: bool) -> Callable[[World], Step]:
    def prepare(world: World) -> Step:
        form = {"grant_type": "refresh_token", "refresh_token": "x" * 43} | world.app(web).credentials()
        return lambda n, changes: post(world.path, form, changes)

    return prepare


DRIVES["rejected requests of a public client"] = Drive(dead_tokens_of(web=False), 2)
DRIVES["rejected requests of an authenticated client"] = Drive(dead_tokens_of(web=True), 2)


@drives("requests of a client", "requests for a user")
def requests_of_a_client(world: World) -> Step:
    app = world.app()
    tokens = [app.tokens() for _ in range(3)]

    def step(n: int, changes: dict[str, Any]) -> Any:
        given = tokens[n]
        if world.path == "/connect/userinfo":
            return post(world.path, {}, changes, Authorization=f"Bearer {given['access_token']}")
        form = {"grant_type": "refresh_token", "refresh_token": given["refresh_token"], "token": given["refresh_token"]}
        return post(world.path, form | app.credentials(), changes)

    return step


def get(path: str, credential: str, changes: dict[str, Any]) -> Any:
    return Browser().get(path, **changes | {"headers": changes["headers"] | {"Authorization": f"Bearer {credential}"}})


@drives("requests of an API key")
def calls_of_a_key(world: World) -> Step:
    key = make_key(world.project)[1]
    return lambda n, changes: get(world.path, key, changes)


SCOPES = ("openid", "email", "profile", "account.read")


@drives("API requests of an app")
def calls_of_an_app(world: World) -> Step:
    client = make_client(world.project, approved_scopes=["account.read"])
    tokens = [make_access_token(client, make_account(), SCOPES) for _ in range(3)]
    return lambda n, changes: get(world.path, tokens[n], changes)


@drives("API requests for a user")
def calls_for_a_person(world: World) -> Step:
    client = make_client(world.project, approved_scopes=["account.read"])
    tokens = [make_access_token(client, world.person, SCOPES) for _ in range(3)]
    return lambda n, changes: get(world.path, tokens[n], changes)


@drives("unknown credentials")
def guessed_credentials(world: World) -> Step:
    return lambda n, changes: get(world.path, f"op_key_{n}", changes)


@drives("billing events with an invalid signature")
def forged_reports(world: World) -> Step:
    return lambda n, changes: post(world.path, {"id": str(n)}, changes, **{"Billing-Timestamp": str(n)})


@drives("leak reports with an invalid signature")
def forged_leak_reports(world: World) -> Step:
    world.request.getfixturevalue("settings").LEAK_REPORT_KEYS = ScannerKey().document
    return lambda n, changes: post(world.path, {"id": str(n)}, changes, **{"Github-Public-Key-Identifier": str(n)})
