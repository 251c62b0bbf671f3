from django.db import migrations, models

from devportal.lib.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("accounts", "0009_mails_with_codes"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="outbox",
            index=models.Index(
                condition=models.Q(("expires_at__isnull", True), ("given_up_at__isnull", False)),
                fields=["given_up_at"],
                name="outbox_given_up",
            ),
        ),
    ]
