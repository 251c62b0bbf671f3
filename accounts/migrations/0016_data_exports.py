import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0015_address_changes"),
    ]

    operations = [
        migrations.CreateModel(
            name="DataExport",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("asked_at", models.DateTimeField()),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("claimed_until", models.DateTimeField(null=True)),
                ("ready_at", models.DateTimeField(null=True)),
                ("failed_at", models.DateTimeField(null=True)),
                ("expires_at", models.DateTimeField(db_index=True, null=True)),
                ("file", models.CharField(blank=True, max_length=100)),
                ("size", models.PositiveBigIntegerField(default=0)),
                (
                    "account",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="data_exports",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("failed_at", None), ("ready_at", None)),
                        fields=("account",),
                        name="one_export_is_made_at_a_time",
                    )
                ],
            },
        ),
    ]
