"""Ending everyone's sessions: each app is told of each, in transactions of a bounded size."""

import tracemalloc
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Account, PairwiseSubject
from accounts.sessions import browser_sessions
from core import clock
from oidc.models import Client, Connection, Delivery, TokenFamily
from tests.relying_party import RelyingParty

pytestmark = pytest.mark.django_db

PEOPLE = 600


def sign_in_many(client: Client, count: int) -> None:
    """Store people with a session at the app each, without any page."""
    now, sector = clock.now(), client.project.public_id
    people = Account.objects.bulk_create([Account(email=f"m{number}@example.com") for number in range(count)])
    subjects = [
        PairwiseSubject(account=each, sector=sector, sub=f"sub-{each.pk}", picture_key=f"p{each.pk}") for each in people
    ]
    fields: dict[str, Any] = {"client": client, "scopes": "openid"}
    fields |= {"first_authorized_at": now, "last_authorized_at": now}
    Connection.objects.bulk_create(
        Connection(account=each.account, subject=each, **fields)
        for each in PairwiseSubject.objects.bulk_create(subjects)
    )
    TokenFamily.objects.bulk_create(
        TokenFamily(
            connection=each, auth_time=now, created_at=now, sid=f"sid-{each.pk}", session_tag=f"t{each.account_id}"
        )
        for each in Connection.objects.filter(client=client)
    )
    keys = {each.pk: f"key-{each.pk}" for each in people}
    end = clock.from_now(3600)
    Session.objects.bulk_create(Session(session_key=k, session_data="x" * 400, expire_date=end) for k in keys.values())
    UserSession.objects.bulk_create(
        UserSession(user_id=pk, session_key=key, ip="192.0.2.1", data={"tag": f"t{pk}"}) for pk, key in keys.items()
    )


def test_ending_everyones_sessions_is_done_in_batches(listening: RelyingParty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_sessions, "BATCH", 100)
    sign_in_many(listening.client, PEOPLE)
    Session.objects.create(session_key="nobody", session_data="", expire_date=clock.from_now(60))
    tracemalloc.start()
    with CaptureQueriesContext(connection) as captured:
        call_command("end_authorizations", "--all", "--sessions", "--yes", "--why", "leak")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not Session.objects.exists()
    assert not UserSession.objects.exists()
    events = Delivery.objects.values_list("event", flat=True)
    assert sorted(set(events)) == ["logout", "session-revoked"]
    assert Delivery.objects.values("receiver", "sid").distinct().count() == len(events) == 2 * PEOPLE
    assert len(captured) < 25 * PEOPLE / 100
    assert peak < 30_000_000
