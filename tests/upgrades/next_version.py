"""A version after the present one, for upgrade tests: the present source with migrations of the largest tables.

These migrations follow docs/upgrades.md#expand-and-contract: a column, its backfill, and an index that is built
concurrently. Migrations that were added since the baseline are applied before them.
"""

from pathlib import Path

from tests.upgrades import baseline

COLUMN = """
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("oidc", "{newest}")]
    operations = [migrations.AddField("tokenfamily", "note", models.TextField(null=True))]
"""
BACKFILL = """
from django.db import migrations

from core.database.batches import backfill


def fill(apps, schema_editor):
    families = apps.get_model("oidc", "TokenFamily").objects
    backfill(families.filter(note=None), lambda rows: rows.update(note="filled"))


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("oidc", "9001_column")]
    operations = [migrations.RunPython(fill)]
"""
INDEX = """
from django.db import migrations, models

from core.database.schema_changes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("oidc", "9002_backfill")]
    operations = [AddIndexConcurrently("accesstoken", models.Index(fields=["created"], name="tokens_by_creation"))]
"""


def write(folder: Path) -> None:
    """Write the next version's source into a folder."""
    baseline.copy_source(folder)
    migrations = folder / "oidc" / "migrations"
    newest = max(path.stem for path in migrations.glob("0*.py"))
    for name, text in (("9001_column", COLUMN), ("9002_backfill", BACKFILL), ("9003_index", INDEX)):
        (migrations / f"{name}.py").write_text(text.replace("{newest}", newest))
