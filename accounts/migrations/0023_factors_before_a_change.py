from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0022_wrong_codes"),
    ]

    operations = [
        migrations.AddField(
            model_name="addresschange",
            name="newest_factor",
            field=models.BigIntegerField(null=True),
        ),
    ]
