import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0013_security_events"),
    ]

    operations = [
        migrations.CreateModel(
            name="AccountRecovery",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("reason", models.TextField()),
                ("checked", models.TextField()),
                ("new_email", models.EmailField(blank=True, max_length=254)),
                ("started_at", models.DateTimeField()),
                ("remind_at", models.DateTimeField(null=True)),
                ("due_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("done", "done"),
                            ("stopped", "stopped by the person"),
                            ("cancelled", "cancelled by an operator"),
                            ("lapsed", "given up by the service"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="recoveries",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "started_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "account recoveries",
                "indexes": [
                    models.Index(fields=["account"], name="recoveries_of_account"),
                    models.Index(fields=["started_by"], name="recoveries_by_operator"),
                    models.Index(condition=models.Q(("ended_at", None)), fields=["due_at"], name="open_recoveries"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at", None)), fields=("account",), name="one_open_recovery"
                    )
                ],
            },
        ),
    ]
