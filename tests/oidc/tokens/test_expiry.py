"""Deleting what has expired, where there is much of it."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from core import clock
from oidc.models import AccessToken, AuthorizationCode, Connection, RefreshToken, TokenFamily
from oidc.tokens import expiry
from tests.factories import make_account, make_client, make_project, make_receiver
from tests.relying_party import RelyingParty
from tests.services.many_rows import Filler

DAY = timedelta(days=1)
FAMILIES = 40_000  # of five rows each, and one in five more is alive


def bare_family(started: timedelta) -> TokenFamily:
    now = clock.now()
    held = {"connection": Connection.objects.get(), "scope": "openid", "auth_time": now}
    return TokenFamily.objects.create(created_at=now - started, **held)


def test_a_family_goes_with_the_last_of_its_rows(app: RelyingParty, later: Callable[[float], None]) -> None:
    app.tokens()
    RefreshToken.objects.all().delete()
    later(DAY.total_seconds())
    assert expiry.delete_expired() == 1  # the access token; the code is kept for a while
    assert TokenFamily.objects.count() == 1
    later(3600)
    assert expiry.delete_expired() == 2
    assert not TokenFamily.objects.exists()


def test_strays_go_when_they_are_old(app: RelyingParty) -> None:
    app.tokens()
    strays = [bare_family(2 * DAY).pk, bare_family(timedelta(0)).pk]
    assert expiry.delete_expired() == 1
    assert list(TokenFamily.objects.filter(pk__in=strays).values_list("pk", flat=True)) == strays[1:]
    assert TokenFamily.objects.count() == 2


def test_each_run_looks_for_strays_in_another_part(
    app: RelyingParty, later: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    app.tokens()
    monkeypatch.setattr(expiry, "STRAYS_A_RUN", 2)
    first = TokenFamily.objects.get().pk
    for _ in range(5):
        bare_family(2 * DAY)
    gone = []
    # Each round takes the next part; there are fewer parts when the last ones are empty.
    for _ in range(12):
        gone.append(expiry.delete_expired())
        later(600)
    assert TokenFamily.objects.get().pk == first
    assert max(gone) <= 3  # of two families, and the access token, which expires meanwhile
    assert sum(gone) == 6


def test_a_manual_run_deletes_all_stray_rows(app: RelyingParty, monkeypatch: pytest.MonkeyPatch) -> None:
    app.tokens()
    monkeypatch.setattr(expiry, "STRAYS_A_RUN", 1)
    for _ in range(5):
        bare_family(2 * DAY)
    assert expiry.delete_expired(everything=True) == 5


def test_of_the_old_families_of_a_session_only_the_newest_waits_for_its_end(app: RelyingParty) -> None:
    app.tokens()
    make_receiver(app.client, "logout")
    families = [bare_family(2 * DAY) for _ in range(5)]
    for family, tag in zip(families, ("here", "there", "here", "here", ""), strict=True):
        TokenFamily.objects.filter(pk=family.pk).update(sid=f"sid of {tag}", session_tag=tag)
    expiry.delete_expired(everything=True)
    left = TokenFamily.objects.filter(session_tag__in=("here", "there"), sid__startswith="sid of")
    assert set(left.values_list("pk", flat=True)) == {families[1].pk, families[3].pk}


def test_rows_that_refer_to_a_deleted_token_are_kept(app: RelyingParty, later: Callable[[float], None]) -> None:
    app.tokens()
    RefreshToken.objects.update(access_token=AccessToken.objects.get())
    later(3600)
    assert expiry.delete_expired() == 1
    assert RefreshToken.objects.get().access_token is None


@pytest.fixture
def longest(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The duration of each transaction, in seconds, its commit included."""
    took: list[float] = []
    enter, leave = transaction.Atomic.__enter__, transaction.Atomic.__exit__

    def begin(self: Any) -> None:
        self.started = time.monotonic()
        enter(self)

    def end(self: Any, *exception: Any) -> None:
        leave(self, *exception)
        took.append(time.monotonic() - self.started)

    monkeypatch.setattr(transaction.Atomic, "__enter__", begin)
    monkeypatch.setattr(transaction.Atomic, "__exit__", end)
    return took


@pytest.mark.slow
@pytest.mark.quiet
@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_many_rows_are_deleted_in_short_transactions(longest: list[float]) -> None:
    make_client(make_project(make_account("ada@example.com")), name="Orbit")
    name = {**connection.settings_dict}
    url = f"postgresql://{name['USER']}:{name['PASSWORD']}@{name['HOST']}:{name['PORT']}/{name['NAME']}"
    with psycopg.connect(url, autocommit=True) as database:
        filler = Filler(database, "ada@example.com", "Orbit")
        filler.add_families(FAMILIES, age="40 days", refresh=2)
        filler.add_families(FAMILIES // 5, age="-10 days")
        database.execute(b"ANALYZE")
    started = time.monotonic()
    gone = expiry.delete_expired()
    took = time.monotonic() - started
    assert gone == FAMILIES * 5
    # A million rows take half a minute on a quiet machine of two cores; tests have no such one to themselves.
    assert took / gone * 1_000_000 < 180
    assert longest
    assert max(longest) < 1
    left = [model.objects.count() for model in (AuthorizationCode, AccessToken, RefreshToken, TokenFamily)]
    assert left == [FAMILIES // 5] * 4
