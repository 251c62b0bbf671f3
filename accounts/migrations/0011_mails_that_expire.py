from django.db import migrations, models

from devportal.lib.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("accounts", "0010_mails_that_were_given_up"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="outbox",
            index=models.Index(
                condition=models.Q(
                    ("expires_at__isnull", False), ("given_up_at__isnull", True), ("sent_at__isnull", True)
                ),
                fields=["expires_at"],
                name="outbox_expiring",
            ),
        ),
    ]
