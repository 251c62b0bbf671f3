"""Apps whose names read alike, and how an app is used."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from accounts.models import Account
from api.usage_counts import UsageCount, add_counts
from core import clock
from core.names import skeleton
from devportal.review.evidence import collecting
from devportal.review.evidence.facts import Result
from devportal.review.evidence.gathered import SimilarApp
from devportal.review.evidence.similarity import MOST_EQUAL
from devportal.review.evidence.usage import DAYS, gather_usage
from devportal.review.models import AppReview
from oidc.models import Client
from tests.devportal.review.reviewing import fill
from tests.factories import make_client, make_project

pytestmark = pytest.mark.django_db


def calls(client: Client, status: int, count: int, days_ago: int = 1) -> None:
    minute = int((clock.now() - timedelta(days=days_ago)).timestamp()) // 60
    add_counts([UsageCount(client.project_id, "", client.client_id, "me", status, "", minute, 0, count)])


def similar(client: Client) -> Sequence[SimilarApp]:
    return collecting.collect_evidence(AppReview.objects.get(client=client)).gathered.names


def test_calls_and_errors_of_the_last_month(app: Client) -> None:
    assert gather_usage(app).error_rate is None
    calls(app, 200, 90)
    calls(app, 403, 6)
    calls(app, 500, 4)
    calls(app, 500, 1000, days_ago=DAYS + 1)
    calls(make_client(app.project, name="Orbit for phones"), 500, 1000)
    found = gather_usage(app)
    assert (found.calls, found.errors) == (100, 10)
    assert found.error_rate == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("other", "is_found"),
    [
        ("Orbit Notes", True),
        ("Оrbit Nоtes", True),  # noqa: RUF001  (Cyrillic)
        ("Orbit Notes Pro", True),
        ("The Orbit Notes", False),  # unverified, and begins otherwise: bounded work finds no such one
        ("Orbit Votes", True),
        ("Orange", False),
    ],
)
def test_names_that_read_alike_are_found(app: Client, developer: Account, other: str, is_found: bool) -> None:
    fill(app, developer)
    like = make_client(name=other)
    found = [each.client for each in similar(app)]
    assert found == ([like] if is_found else [])


def test_verified_ones_are_found_whatever_they_begin_with(app: Client, developer: Account) -> None:
    fill(app, developer)
    like = make_client(name="The Orbit Notes", verified_at=clock.now())
    assert [each.client for each in similar(app)] == [like]


@pytest.mark.parametrize(("name", "result"), [("Orbit Note", Result.WARN), ("Orbit Notes", Result.FAIL)])
def test_many_unreviewed_apps_of_the_same_name_hide_no_reviewed_one(
    app: Client, developer: Account, name: str, result: Result
) -> None:
    fill(app, developer)
    decoys = make_project()
    for _ in range(MOST_EQUAL + 1):
        make_client(decoys, name="Orbit Notes")
    imitated = make_client(name=name, verified_at=clock.now())
    assert similar(app)[0].client == imitated
    evidence = collecting.collect_evidence(AppReview.objects.get(client=app))
    assert [fact.result for fact in evidence.facts if fact.code == "names"] == [result]


def test_a_projects_own_apps_are_not_alike(app: Client, developer: Account) -> None:
    fill(app, developer)
    make_client(app.project, name="Orbit Notes")
    assert similar(app) == []


@pytest.mark.parametrize("name", ["!!!", "\u200d", "日本", "ﷺ" * 100, "👾"])
def test_names_without_letters_are_handled(app: Client, developer: Account, name: str) -> None:
    fill(app, developer)
    AppReview.objects.update(snapshot=AppReview.objects.get().snapshot | {"name": name})
    assert len(skeleton(name)) <= 200
    assert similar(app) == []
