"""How many statements events add: to the end of a session, and to requests that cause none."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client as Browser

from accounts.models import Account
from oidc.authorization.consent import remove_consent
from oidc.events import registration
from oidc.models import Connection, Delivery
from tests.factories import PASSWORD
from tests.inbox import Inbox
from tests.oidc.test_budgets import Counted, warm
from tests.relying_party import RelyingParty, sign_in

pytestmark = pytest.mark.django_db

# Parts of the statements that are about events.
TABLES = (
    "oidc_eventreceiver", "oidc_delivery", 'SET "session_tag"', 'SELECT "oidc_family"."id" FROM',
    "FROM oidc_connection WHERE",
)  # fmt: skip


def sign_out(app: RelyingParty) -> None:
    app.browser.post("/connect/logout/confirm", {"decision": "sign-out"})


def sign_out_elsewhere(app: RelyingParty) -> None:
    app.browser.post("/account/sessions/")


def change_password(app: RelyingParty) -> None:
    form = {"oldpassword": PASSWORD, "password1": "a new Passw0rd!", "password2": "a new Passw0rd!"}
    app.browser.post("/account/password/change/", form)


def remove_app(app: RelyingParty) -> None:
    remove_consent(Connection.objects.get(client=app.client))


def close_account(app: RelyingParty) -> None:
    person = Connection.objects.get(client=app.client).account
    assert person is not None
    person.is_active = False
    person.save()


# What people do, and how many statements about events that takes: without receivers, with an app that has both, and how
# many more on PostgreSQL, where each event about the whole account holds the connections that it is about.
CAUSES: dict[str, tuple[Callable[[RelyingParty], None], int, int, int]] = {
    "sign out": (sign_out, 1, 4, 0),
    "sign out elsewhere": (sign_out_elsewhere, 1, 4, 0),
    "change the password": (change_password, 2, 6, 1),
    "remove an app": (remove_app, 2, 6, 1),
    "close the account": (close_account, 3, 8, 2),
}


def about_events(cause: Callable[[RelyingParty], None], app: RelyingParty) -> list[str]:
    """Return the statements about events that a cause takes."""
    with Counted() as counted:
        cause(app)
    return [sql for sql in counted.statements if any(table in sql for table in TABLES)]


@pytest.mark.parametrize("name", CAUSES)
def test_the_end_of_a_session_takes_few_statements_where_nobody_receives_events(
    app: RelyingParty, person: Account, name: str
) -> None:
    app.tokens()
    RelyingParty(app.client, sign_in(Browser(), person)).tokens()
    cause, most, *_ = CAUSES[name]
    found = about_events(cause, app)
    assert len(found) == most, "\n".join(found)
    assert not Delivery.objects.exists()


@pytest.mark.parametrize("name", CAUSES)
def test_and_a_few_more_for_an_app_that_does(listening: RelyingParty, person: Account, name: str) -> None:
    listening.tokens()
    for _ in range(3):  # the number of sessions makes no difference
        RelyingParty(listening.client, sign_in(Browser(), person)).tokens()
    cause, _, most, on_postgresql = CAUSES[name]
    found = about_events(cause, listening)
    assert len(found) == most + (on_postgresql if connection.vendor == "postgresql" else 0), "\n".join(found)
    assert Delivery.objects.exists()


def test_sign_ins_tokens_and_calls_take_none(app: RelyingParty, app_inbox: Inbox) -> None:
    token = warm(app)["refresh_token"]

    def everything(token: str) -> str:
        tokens = app.exchange(app.code()).json()
        refreshed: dict[str, str] = app.refresh(token).json()
        for path in ("/v1/me", "/connect/userinfo"):
            assert app.call(path, tokens["access_token"]).status_code == 200
        return refreshed["refresh_token"]

    with Counted() as before:
        token = everything(token)
    registration.change_logout_receiver(app.client, None, url=app_inbox.url(), session_required=True)
    with Counted() as after:
        everything(token)
    # A code for an app that receives events locks the browser session, so that its end can't be missed.
    assert len(after.statements) - len(before.statements) <= 1
    lookup = 'SELECT "oidc_client"'  # it reads along whether the client receives events
    others = [sql for sql in before.statements if not sql.startswith(lookup)]
    assert not [sql for sql in others if any(table in sql for table in TABLES)]
