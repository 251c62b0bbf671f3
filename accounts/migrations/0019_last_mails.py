from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0018_accounts_by_deletion"),
    ]

    operations = [
        migrations.AddField(
            model_name="outbox",
            name="is_last",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
    ]
