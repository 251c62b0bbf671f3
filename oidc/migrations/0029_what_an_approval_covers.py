"""The domains that an approval covers, and since when the home page's domain is no longer proven.

`db_default` and `null`: processes of the version before insert clients without these columns.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("oidc", "0028_places_of_deleted_accounts")]

    operations = [
        migrations.AddField(
            model_name="client",
            name="approved_domains",
            field=models.TextField(blank=True, db_default="", default="", editable=False),
        ),
        migrations.AddField(
            model_name="client",
            name="home_unproven_since",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
    ]
