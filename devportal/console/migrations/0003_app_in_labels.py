"""The admin's name of apps in the sign-in log. Only Django reads it, so the migration changes no table."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("console", "0002_tables_by_day"),
        migrations.swappable_dependency(settings.OAUTH2_PROVIDER_APPLICATION_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name="signinevent",
                    name="client",
                    field=models.ForeignKey(
                        settings.OAUTH2_PROVIDER_APPLICATION_MODEL,
                        django.db.models.deletion.CASCADE,
                        verbose_name="app",
                        related_name="sign_ins",
                        db_index=False,
                    ),
                ),
            ]
        ),
    ]
