from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Exists, OuterRef
from django.utils import timezone


def end_invitations_of_who_may_not_invite(apps: Any, schema_editor: Any) -> None:
    """An invitation used to stay open when its sender left, was demoted or deactivated."""
    members = apps.get_model("oidc", "ProjectMember").objects
    owners = members.filter(project=OuterRef("project"), role="owner", account__is_active=True)
    still = Exists(owners.filter(account=OuterRef("invited_by")))
    invitations = apps.get_model("oidc", "ProjectInvitation").objects.filter(ended_at=None)
    invitations.exclude(still).update(ended_at=timezone.now())


class Migration(migrations.Migration):
    dependencies = [
        ("oidc", "0006_names_read_anew"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="FormerMember",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("left_at", models.DateTimeField()),
                (
                    "account",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="former_members", to="oidc.project"
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="formermember",
            constraint=models.UniqueConstraint(
                fields=("project", "account"), name="one_departure_per_project_and_account"
            ),
        ),
        migrations.RunPython(end_invitations_of_who_may_not_invite, migrations.RunPython.noop, elidable=True),
    ]
