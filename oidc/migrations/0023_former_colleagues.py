"""When former members joined, until when they were owners, and who was in projects that were deleted for good.

Nullable: processes of the version before insert rows without them.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("oidc", "0022_forgive_lost_responses"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField("formermember", "joined_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("formermember", "owner_until", models.DateTimeField(blank=True, null=True)),
        migrations.CreateModel(
            name="MemberOfRemovedProject",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("project_key", models.BigIntegerField()),
                ("joined_at", models.DateTimeField(blank=True, null=True)),
                ("left_at", models.DateTimeField()),
                (
                    "account",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["project_key"], name="members_of_removed_project"),
                    models.Index(fields=["left_at"], name="removed_memberships_by_age"),
                ],
            },
        ),
    ]
