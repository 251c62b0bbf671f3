"""How PostgreSQL plans statements that it has prepared."""

import contextlib
from collections.abc import Iterator

from django.db import connections, transaction


@contextlib.contextmanager
def planned_for_values(using: str) -> Iterator[None]:
    """Have the statements in this block planned for their values. Does nothing on other databases than PostgreSQL.

    From its sixth run on, a prepared statement may get one plan for all values (PostgreSQL, PREPARE). Among projects
    with hundreds of rows, such a plan sorts all rows of a project that has millions. The setting ends with the
    transaction, so a pooler does not pass it on to others.
    """
    if connections[using].vendor != "postgresql":
        yield
        return
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        cursor.execute("SELECT set_config('plan_cache_mode', 'force_custom_plan', true)")
        yield
