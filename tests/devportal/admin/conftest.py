"""An operator, a reviewer and a superuser, each with a browser, and one row of everything the admin can show."""

from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import SimpleCookie

import pytest
from django.conf import settings
from django.contrib.auth.models import Group
from django.test import Client as Browser

from accounts.models import Account, Feature, Organization, Plan, PlanEntitlement, Subscription
from accounts.plans import invitations, lifecycle, members
from accounts.roles import set_roles
from api.models import ApiKey, RequestLog
from core import clock
from devportal.console.models import AuditEvent, SignInEvent
from devportal.review.models import CannedReply
from devportal.review.submission import developer_actions
from oidc.apis.credentials import create_credential
from oidc.events.queueing import queue_event
from oidc.models import Client, Connection, Delivery, EventReceiver, Project, ProjectMember, RefreshToken
from oidc.values.event_types import EventType
from tests import remembered
from tests.devportal.review.reviewing import fill
from tests.factories import make_access_token, make_account, make_api, make_key, make_project, make_web_client
from tests.relying_party import RelyingParty, sign_in

INVITER = "iris@example.com"


def make_staff(email: str, *roles: str) -> Account:
    account = make_account(email)
    set_roles(account, roles)
    return account


def last_event() -> AuditEvent:
    """Return the newest event of the audit trail."""
    return AuditEvent.objects.latest("pk")


@pytest.fixture
def operator(db: None) -> Account:
    return make_staff("opal@example.com", "operator")


@pytest.fixture
def reviewer(db: None) -> Account:
    return make_staff("rena@example.com", "reviewer")


@pytest.fixture
def superuser(db: None) -> Account:
    return make_account("root@example.com", is_staff=True, is_superuser=True)


@pytest.fixture
def as_operator(operator: Account, browser_of: Callable[[Account], Browser]) -> Browser:
    return browser_of(operator)


@pytest.fixture
def as_superuser(superuser: Account, browser_of: Callable[[Account], Browser]) -> Browser:
    return browser_of(superuser)


@dataclass
class World:
    """One object of each kind, and the raw secrets that were created for them."""

    person: Account
    project: Project
    client: Client
    key: ApiKey
    raw: list[str]


@pytest.fixture
def world(db: None, request: pytest.FixtureRequest, client: Browser) -> World:
    """One of everything, and its person signed in in `client`."""

    def make() -> tuple[World, SimpleCookie]:
        browser = Browser()
        made = make_world(browser, make_account("ada@example.com"))
        # Another fixture may have created the group of operators. Rows that are written again must not refer to it.
        Account.objects.get(email=INVITER).groups.clear()
        return made, browser.cookies

    made, client.cookies = remembered.again((__name__, *request.fixturenames), make)
    Account.objects.get(email=INVITER).groups.add(Group.objects.get(name="operator"))
    return made


def make_world(browser: Browser, person: Account) -> World:
    """Return a person with a plan, in a family and an organization, whose project has an app that they signed in to."""
    project = make_project(person, name="Lighthouse")
    web, secret = make_web_client(project, name="Beacon")
    key, raw_key = make_key(project, person)
    app = RelyingParty(web, sign_in(browser, person), secret)
    answer = app.exchange(app.code(scope="openid offline_access")).json()
    raw = [secret, raw_key, answer["access_token"], answer["refresh_token"], make_access_token(web, person)]
    raw += [browser.cookies[settings.SESSION_COOKIE_NAME].value]
    raw.append(create_credential(make_api("tasks", rules=[("*", "/*", "tasks.read")]))[1])
    plan = Plan.objects.create(plan_id="lumen", display_name="Lumen", rank=10)
    PlanEntitlement.objects.create(plan=plan, feature=Feature.objects.create(name="range"), status="granted")
    organization = Organization.objects.create(name="Lantern & Co")
    members.add_member(organization, person)
    invitations.invite(organization, "new@example.com", make_staff(INVITER, "operator"))
    for holder in (person, members.get_or_create_family(person), organization):
        lifecycle.start_subscription(holder, "Active", lifecycle.Actor("test"), plan=plan)
    fill(web, person, name="Beacon")
    developer_actions.submit(web, person)
    RequestLog.objects.create(
        project=project, at=clock.now(), method="GET", path="/v1/me", status=200, milliseconds=3, request_id="r" * 20
    )
    SignInEvent.objects.create(client=web, at=clock.now(), endpoint="authorize", outcome="refused", request_id="s" * 20)
    receiver = EventReceiver.objects.create(client=web, channel=EventReceiver.Channel.EVENTS, url="https://a.example/")
    queue_event(EventType.CREDENTIAL_CHANGE, Connection.objects.filter(account=person))
    assert Delivery.objects.filter(receiver=receiver).exists()
    CannedReply.objects.create(title="Thanks", text="Thank you for {app}.")
    assert AuditEvent.objects.exists()
    assert Connection.objects.exists()
    assert RefreshToken.objects.exists()
    assert Subscription.objects.count() == 3
    assert ProjectMember.objects.exists()
    return World(person, project, web, key, raw)
