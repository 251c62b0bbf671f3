"""The admin's name of emails. Only Django reads it, so the migration changes no table."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_baseline"),
    ]

    operations = [
        migrations.AlterModelOptions(name="outbox", options={"verbose_name": "email"}),
    ]
