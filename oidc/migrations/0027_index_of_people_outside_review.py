from django.db import migrations, models

from devportal.lib.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("oidc", "0026_joined_outside_review")]

    operations = [
        AddIndexConcurrently(
            "connection",
            models.Index(
                condition=models.Q(("joined_outside_review", True)), fields=["client"], name="joined_outside_review"
            ),
        )
    ]
