from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0011_mails_that_expire"),
    ]

    operations = [
        migrations.AddField(
            model_name="outbox",
            name="html",
            field=models.TextField(blank=True, db_default="", default="", editable=False),
        ),
        migrations.AddField(
            model_name="outbox",
            name="html_encrypted",
            field=models.TextField(blank=True, db_default="", default="", editable=False),
        ),
    ]
