"""Optional scopes that a person left out. `db_default`: processes of the version before insert consents without them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("oidc", "0012_optional_scopes")]

    operations = [
        migrations.AddField("connection", "left_out", models.TextField(blank=True, db_default="", default="")),
    ]
