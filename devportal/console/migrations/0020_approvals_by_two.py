"""Approvals that two reviewers gave before it was stored."""

from typing import Any

from django.db import migrations
from django.db.models import Exists, F, OuterRef

from devportal.lib.backfill import backfill


def remember_second_approvals(apps: Any, schema_editor: Any) -> None:
    """Store the second approval of approved reviews whose timeline has a first approval by somebody else."""
    entries = apps.get_model("console", "ReviewEntry").objects
    first = entries.filter(review=OuterRef("pk"), kind="first_key").exclude(author=OuterRef("decided_by"))
    rows = apps.get_model("console", "AppReview").objects.filter(status="approved", second_approval_at=None)
    backfill(rows.filter(Exists(first)), lambda some: some.update(second_approval_at=F("decided_at")))


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("console", "0019_mails_about_cases")]

    operations = [migrations.RunPython(remember_second_approvals, migrations.RunPython.noop, elidable=True)]
