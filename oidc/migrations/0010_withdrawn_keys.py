from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("oidc", "0009_lost_answers")]

    operations = [
        migrations.AddField("signingkey", "withdrawn_at", models.DateTimeField(blank=True, null=True)),
    ]
