"""Databases of other first migrations, which this version can't use (docs/upgrades.md#the-baseline)."""

from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.recorder import MigrationRecorder

ROOT = Path(__file__).resolve().parents[2]
HINT = (
    "Its tables can't be upgraded. Use an empty database (for the demo, delete the folder .data, or DATA_DIR), or the "
    "version that made this one: docs/upgrades.md#the-baseline."
)


def other_baseline(connection: BaseDatabaseWrapper) -> str:
    """Return what is wrong if a database has other first migrations than the source, "" if it has the same or none."""
    recorded = MigrationRecorder(connection).applied_migrations()
    found = []
    ours = [config for config in apps.get_app_configs() if (ROOT / config.name.partition(".")[0]).is_dir()]
    for config in ours:
        first = {path.stem for path in Path(config.path, "migrations").glob("0001_*.py")}
        applied = {name for label, name in recorded if label == config.label and name.startswith("0001_")}
        if applied and not applied & first:
            found += [f"{config.label}.{name}" for name in applied]
    return f"The database was made by a version before 0.1.0 ({', '.join(sorted(found))})." if found else ""


@register(Tags.database)
def check_first_migrations(app_configs: Any, databases: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.E025`: a database with other first migrations than the source."""
    if DEFAULT_DB_ALIAS not in (databases or ()):
        return []
    try:
        found = other_baseline(connections[DEFAULT_DB_ALIAS])
    except DatabaseError:  # unavailable, which /health/ready reports
        return []
    return [Error(found, hint=HINT, id="devportal.E025")] if found else []
