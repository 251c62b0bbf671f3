"""Until when people were owners, as far as the audit trail tells; where nothing is known, as long as they were members."""

from typing import Any

from django.db import migrations
from django.db.models import F, Q

from devportal.lib.backfill import backfill


def remember_former_owners(apps: Any, schema_editor: Any) -> None:
    """Store until when present and former members were owners; what is stored already stays."""
    members = apps.get_model("oidc", "ProjectMember").objects
    ended = _ends_of_ownership(apps.get_model("console", "AuditEvent").objects)

    def fill(rows: Any) -> int:
        changed = 0
        for row in rows.select_related("project"):
            if at := ended.get((row.project.public_id, row.account_id)):
                changed += members.filter(pk=row.pk, owner_until=None).update(owner_until=at)
        return changed

    projects = {project for project, _ in ended}
    backfill(members.filter(owner_until=None, project__public_id__in=projects).exclude(role="owner"), fill)
    # Rows of this version have `joined_at`.
    former = apps.get_model("oidc", "FormerMember").objects.filter(owner_until=None, joined_at=None)
    backfill(former, lambda rows: rows.update(owner_until=F("left_at")))


def _ends_of_ownership(events: Any) -> dict[tuple[str, int], Any]:
    """Return when people stopped being owners and stayed members, by the project's public id and the person's key."""
    rows = events.exclude(project="").filter(Q(action="project.transferred") | Q(action="member.role_changed"))
    ended: dict[tuple[str, int], Any] = {}
    for row in rows.order_by("at").values("action", "project", "actor", "person", "before", "at").iterator(1000):
        handed_over = row["action"] == "project.transferred"
        person = row["actor"] if handed_over else row["person"]
        if person and (handed_over or (row["before"] or {}).get("role") == "owner"):
            ended[row["project"], person] = row["at"]
    return ended


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("console", "0016_sign_in_counts"),
        ("oidc", "0024_former_owners"),
    ]

    operations = [migrations.RunPython(remember_former_owners, migrations.RunPython.noop, elidable=True)]
