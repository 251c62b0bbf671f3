from typing import Any

from django.db import migrations

from oidc.names import skeleton

BATCH = 500


def read_names(apps: Any, schema_editor: Any) -> None:
    """Write what the names that are there read as: more characters are known to look like others than before."""
    clients = apps.get_model("oidc", "Client").objects
    batch = []
    for client in clients.only("name", "name_reading").iterator(BATCH):
        if client.name_reading != (now := skeleton(client.name)):
            client.name_reading = now
            batch.append(client)
        if len(batch) == BATCH:
            clients.bulk_update(batch, ["name_reading"])
            batch = []
    clients.bulk_update(batch, ["name_reading"])


class Migration(migrations.Migration):
    dependencies = [
        ("oidc", "0005_invitations_that_ended"),
    ]

    operations = [migrations.RunPython(read_names, migrations.RunPython.noop)]
