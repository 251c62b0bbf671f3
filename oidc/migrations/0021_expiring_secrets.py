from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("oidc", "0020_app_slugs")]

    operations = [
        migrations.AddField("clientsecret", "expires_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("clientsecret", "last_used_address", models.GenericIPAddressField(blank=True, null=True)),
    ]
