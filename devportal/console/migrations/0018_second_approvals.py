"""When a second reviewer approved. Nullable: processes of the version before insert rows without it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("console", "0017_former_owners")]

    operations = [
        migrations.AddField("appreview", "second_approval_at", models.DateTimeField(blank=True, null=True)),
    ]
