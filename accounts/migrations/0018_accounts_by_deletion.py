from django.db import migrations, models

from devportal.lib.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("accounts", "0017_accounts_to_be_deleted"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="account",
            index=models.Index(
                condition=models.Q(("deletion_due_at__isnull", False)),
                fields=["deletion_due_at"],
                name="accounts_to_be_deleted",
            ),
        ),
    ]
