from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0007_texts_that_can_be_stored"),
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
        migrations.AddIndex(
            model_name="outbox",
            index=models.Index(
                condition=models.Q(
                    ("expires_at__isnull", False), ("given_up_at__isnull", True), ("sent_at__isnull", True)
                ),
                fields=["expires_at"],
                name="outbox_expiring",
            ),
        ),
    ]
