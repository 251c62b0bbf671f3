"""What people granted at hosts that an app's review had not taken in.

Nullable: processes of the version before insert consents without it.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("oidc", "0018_checks_of_domains")]

    operations = [
        migrations.AddField(
            model_name="connection",
            name="scopes_outside_review",
            field=models.JSONField(blank=True, editable=False, null=True),
        ),
    ]
