from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("console", "0013_kinds_of_entries")]

    operations = [
        migrations.AddField(
            model_name="appreview", name="announced_at", field=models.DateTimeField(blank=True, null=True)
        ),
    ]
