import pytest
from django.db import connection

from core.database.postgres.plans import planned_for_values

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def mode() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW plan_cache_mode")
        return str(cursor.fetchone()[0])


def test_only_statements_in_the_block_are_planned_for_their_values() -> None:
    with planned_for_values("default"):
        assert mode() == "force_custom_plan"
    assert mode() == "auto"
