"""Until when members were owners. Nullable: processes of the version before insert rows without it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("oidc", "0023_former_colleagues")]

    operations = [
        migrations.AddField("projectmember", "owner_until", models.DateTimeField(blank=True, null=True)),
    ]
