"""The admin's names of apps. Only Django reads them, so the migration changes no table."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("oidc", "0002_required_sign_in_labels"),
    ]

    operations = [
        migrations.AlterModelOptions(name="client", options={"verbose_name": "app"}),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name="connection",
                    name="client",
                    field=models.ForeignKey(
                        settings.OAUTH2_PROVIDER_APPLICATION_MODEL,
                        django.db.models.deletion.CASCADE,
                        verbose_name="app",
                        related_name="connections",
                        db_index=False,
                    ),
                ),
                migrations.AlterField(
                    model_name="eventreceiver",
                    name="client",
                    field=models.ForeignKey(
                        settings.OAUTH2_PROVIDER_APPLICATION_MODEL,
                        django.db.models.deletion.CASCADE,
                        verbose_name="app",
                        related_name="receivers",
                    ),
                ),
            ]
        ),
    ]
