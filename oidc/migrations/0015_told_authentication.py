from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("oidc", "0014_least_acr")]

    operations = [
        migrations.AddField("tokenfamily", "told_authentication", models.TextField(blank=True, null=True)),
    ]
