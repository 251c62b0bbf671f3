from typing import Any

from django.db import migrations
from django.db.models import Exists, OuterRef
from django.utils import timezone


def revoke_keys_of_closed_accounts(apps: Any, schema_editor: Any) -> None:
    """Keys used to sleep with their owner's account, and to wake with it; or with a membership that is gone."""
    members = apps.get_model("oidc", "ProjectMember").objects
    still = Exists(members.filter(project=OuterRef("project"), account=OuterRef("owner"), account__is_active=True))
    apps.get_model("api", "ApiKey").objects.filter(revoked_at=None).exclude(still).update(revoked_at=timezone.now())


class Migration(migrations.Migration):
    dependencies = [
        ("api", "0003_usage_by_hour_and_day"),
        ("oidc", "0002_deleted_projects_and_invitations"),
    ]

    operations = [migrations.RunPython(revoke_keys_of_closed_accounts, migrations.RunPython.noop, elidable=True)]
