"""Whether an access token was used: a nullable column, which processes of the version before leave alone."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("oidc", "0008_token_families")]

    operations = [
        migrations.AddField("accesstoken", "used", models.BooleanField(editable=False, null=True)),
    ]
