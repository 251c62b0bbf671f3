from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0008_files_to_delete"),
    ]

    operations = [
        migrations.AddField(
            model_name="outbox",
            name="body_encrypted",
            field=models.TextField(blank=True, db_default="", default="", editable=False),
        ),
        migrations.AddField(
            model_name="outbox",
            name="expires_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="outbox",
            name="body",
            field=models.TextField(blank=True),
        ),
    ]
