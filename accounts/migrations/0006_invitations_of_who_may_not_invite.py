from typing import Any

from django.db import migrations
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone


def end_invitations_of_who_may_not_invite(apps: Any, schema_editor: Any) -> None:
    """An invitation used to stay open when its sender was deactivated, or was an operator no more."""
    people = apps.get_model("accounts", "Account").objects.filter(pk=OuterRef("invited_by"), is_active=True)
    operators = people.filter(Q(is_superuser=True) | Q(groups__name="operator"), is_staff=True)
    owners = Q(family__isnull=False, invited_by=F("family__owner")) & Exists(people)
    invitations = apps.get_model("accounts", "Invitation").objects.filter(
        accepted_at=None, declined_at=None, withdrawn_at=None
    )
    invitations.exclude(owners | Q(organization__isnull=False) & Exists(operators)).update(withdrawn_at=timezone.now())


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0005_session_keys_by_hash"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [migrations.RunPython(end_invitations_of_who_may_not_invite, migrations.RunPython.noop, elidable=True)]
