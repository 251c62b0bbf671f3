"""Measure the bytes per row of each growing table in PostgreSQL, with its indexes (docs/scaling.md).

`grown_rows.py` creates a million rows of each in a temporary PostgreSQL.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.services import services  # after the path

MILLION = 1_000_000
TABLES = (
    "oidc_accesstoken",
    "oidc_refreshtoken",
    "oidc_family",
    "oidc_connection",
    "accounts_account",
    "accounts_pairwisesubject",
    "api_requestlog",
    "api_usagebucket",
    "console_signinevent",
    "console_auditevent",
)
# Heap and indexes are separate columns. For a table that is partitioned by day, they are the sums of its partitions.
SIZES = """
SELECT sum(pg_table_size(relid)), sum(pg_indexes_size(relid))
FROM pg_partition_tree(to_regclass(%s)) WHERE isleaf
UNION ALL SELECT pg_table_size(to_regclass(%s)), pg_indexes_size(to_regclass(%s))
"""


def report(rows: int) -> None:
    """Print the bytes of a row of each table."""
    from django.db import connection

    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f'SELECT count(*) FROM "{table}"')
            (count,) = cursor.fetchone()
            cursor.execute(SIZES, [table] * 3)
            heap, indexes = max((tuple(map(int, row)) for row in cursor.fetchall() if None not in row), key=sum)
            print(f"{table:28} {count:>9,} rows {heap / count:6.0f} + {indexes / count:4.0f} bytes a row")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=MILLION)
    rows: int = parser.parse_args().rows
    with services():
        import django

        django.setup()
        from django.core.management import call_command
        from django.db import connections

        call_command("migrate", verbosity=0)
        from api.models import UsageBucket
        from benchmarks.grown_rows import Sizes, fill, insert

        fill(Sizes(people=rows, tokens=rows, log=rows))
        minute = "date_trunc('minute', now()) - make_interval(mins => n / 100)"
        caller = "'op_client_' || lpad((n % 100)::text, 22, '0')"
        insert(
            UsageBucket, rows, project="1", minute=minute, client=caller, endpoint="'/v1/me'", status="200", count="1"
        )
        report(rows)
        connections.close_all()
    return 0


if __name__ == "__main__":
    sys.exit(main())
