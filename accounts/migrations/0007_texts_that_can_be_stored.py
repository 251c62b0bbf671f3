from typing import Any

from django.db import migrations

from devportal.lib.storable import without_surrogates


def replace_surrogates(apps: Any, schema_editor: Any) -> None:
    """SQLite took halves of surrogate pairs in JSON, and every page that shows them fails."""
    for model, field in (("Subscription", "addons"), ("Plan", "apps")):
        for row in apps.get_model("accounts", model).objects.only("pk", field).iterator():
            before = getattr(row, field)
            after = without_surrogates(before)
            if after != before:
                setattr(row, field, after)
                row.save(update_fields=[field])


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0006_invitations_of_who_may_not_invite"),
    ]

    operations = [migrations.RunPython(replace_surrogates, migrations.RunPython.noop, elidable=True)]
