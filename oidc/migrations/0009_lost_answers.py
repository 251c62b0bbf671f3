"""What tells an answer that nobody heard: nullable columns, which processes of the version before leave alone."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("oidc", "0008_token_families")]

    operations = [
        migrations.AddField("accesstoken", "used", models.BooleanField(editable=False, null=True)),
        migrations.AddField(
            "refreshtoken", "next_access_checksum", models.CharField(editable=False, max_length=64, null=True)
        ),
        migrations.AddField(
            "refreshtoken", "next_checksum", models.CharField(editable=False, max_length=64, null=True)
        ),
    ]
