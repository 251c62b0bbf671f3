"""Filling in a column in short transactions."""

from typing import Any

import pytest
from django.db import transaction
from django.db.models import QuerySet

from core.database.batches import backfill
from oidc.models import Project
from tests.factories import make_project

pytestmark = pytest.mark.django_db(transaction=True)


def rename(rows: "QuerySet[Any]") -> int:
    return rows.update(name="new")


def test_all_rows_are_filled_in_by_batches() -> None:
    for number in range(5):
        make_project(name=f"old {number}")
    sizes = []

    def fill(rows: "QuerySet[Any]") -> int:
        sizes.append(rows.count())
        return rename(rows)

    assert backfill(Project.objects.exclude(name="new"), fill, batch=2) == 5
    assert sizes == [2, 2, 1]
    assert set(Project.objects.values_list("name", flat=True)) == {"new"}


def test_a_run_that_was_broken_off_goes_on() -> None:
    for number in range(4):
        make_project(name=f"old {number}")
    calls = []

    def fill(rows: "QuerySet[Any]") -> int:
        calls.append(rows.count())
        if len(calls) == 2:
            rename(rows)
            raise OSError
        return rename(rows)

    left = Project.objects.exclude(name="new")
    with pytest.raises(OSError):
        backfill(left, fill, batch=2)
    assert left.count() == 2  # the batch that failed is as it was, the one before is done
    assert backfill(left, fill, batch=2) == 2


def test_it_refuses_to_run_inside_a_transaction() -> None:
    with transaction.atomic(), pytest.raises(RuntimeError, match="atomic = False"):
        backfill(Project.objects.all(), rename)
