"""Scopes that a client calls optional. `db_default`: processes of the version before insert clients without them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("oidc", "0011_withdrawn_keys")]

    operations = [
        migrations.AddField("client", "optional_scopes", models.TextField(blank=True, db_default="", default="")),
    ]
