from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("oidc", "0010_answers_that_nobody_heard")]

    operations = [
        migrations.AddField("signingkey", "withdrawn_at", models.DateTimeField(blank=True, null=True)),
    ]
