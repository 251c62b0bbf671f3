from datetime import UTC, datetime

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("oidc", "0004_projects_by_name"),
    ]

    operations = [
        migrations.AddField(
            model_name="projectinvitation",
            name="mailed_at",
            field=models.DateTimeField(default=datetime(1970, 1, 1, tzinfo=UTC)),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="projectinvitation",
            name="ended_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
