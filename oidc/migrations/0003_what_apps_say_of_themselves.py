from typing import Any

from django.db import migrations, models

from oidc.names import skeleton

BATCH = 500


def read_names(apps: Any, schema_editor: Any) -> None:
    """Fill in what the names that are there read as."""
    clients = apps.get_model("oidc", "Client").objects
    batch = []
    for client in clients.filter(name_reading="").only("name").iterator(BATCH):
        client.name_reading = skeleton(client.name)
        batch.append(client)
        if len(batch) == BATCH:
            clients.bulk_update(batch, ["name_reading"])
            batch = []
    clients.bulk_update(batch, ["name_reading"])


class Migration(migrations.Migration):
    dependencies = [
        ("oidc", "0002_deleted_projects_and_invitations"),
    ]

    operations = [
        migrations.AddField(
            model_name="client",
            name="name_reading",
            field=models.CharField(
                blank=True, db_default="", db_index=True, default="", editable=False, max_length=200
            ),
        ),
        migrations.AddField(
            model_name="client",
            name="support_address",
            field=models.EmailField(blank=True, db_default="", default="", max_length=254),
        ),
        migrations.AddIndex(
            model_name="client",
            index=models.Index(
                fields=["-verified_at"],
                condition=models.Q(("verified_at__isnull", False)),
                name="verified_clients",
            ),
        ),
        migrations.RunPython(read_names, migrations.RunPython.noop),
    ]
