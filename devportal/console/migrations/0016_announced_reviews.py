from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("console", "0012_hosts_of_reviewed_apps")]

    operations = [
        migrations.AddField(
            model_name="appreview", name="announced_at", field=models.DateTimeField(blank=True, null=True)
        ),
    ]
