from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0019_last_mails"),
    ]

    operations = [
        migrations.AddField(
            model_name="feature",
            name="display_name",
            field=models.CharField(blank=True, db_default="", default="", max_length=100),
        ),
    ]
