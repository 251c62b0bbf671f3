"""What a review took in of an app, and since when.

`db_default`: processes of the version before insert clients without it.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("oidc", "0015_told_authentication")]

    operations = [
        migrations.AddField(
            model_name="client",
            name="approved_hosts",
            field=models.TextField(blank=True, db_default="", default="", editable=False),
        ),
        migrations.AddField(
            model_name="client",
            name="last_reviewed_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="client",
            name="logo_hash",
            field=models.CharField(blank=True, db_default="", default="", editable=False, max_length=16),
        ),
        migrations.AddField(
            model_name="client",
            name="page_slug",
            field=models.CharField(blank=True, db_default="", default="", editable=False, max_length=60),
        ),
        migrations.AddField(
            model_name="client",
            name="reviewed_hosts",
            field=models.TextField(blank=True, db_default="", default="", editable=False),
        ),
    ]
