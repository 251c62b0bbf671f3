from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("oidc", "0021_expiring_secrets")]

    operations = [
        migrations.AddField("client", "forgive_lost_responses", models.BooleanField(default=False, db_default=False)),
    ]
