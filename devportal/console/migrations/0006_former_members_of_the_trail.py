from typing import Any

from django.db import migrations
from django.db.models import Max
from django.utils import timezone

LEFT = ("member.left", "member.removed")
CAME = ("project.created", "invitation.accepted")


def remember_former_members(apps: Any, schema_editor: Any) -> None:
    """Find in the trail who worked on which project, and does so no more; for as long as it goes back.

    Somebody who came and is not there any more, without a row that says when they went, counts as having left now.
    """
    events = apps.get_model("console", "AuditEvent").objects.exclude(project="")
    accounts = apps.get_model("accounts", "Account").objects
    went: dict[tuple[str, int], Any] = {}
    for project, person, email, at in (
        events.filter(action__in=LEFT).values_list("project", "person", "target").annotate(last=Max("at")).order_by()
    ):
        # Rows from before there was a column for the person name them by their address.
        person = person or accounts.filter(email=email).values_list("pk", flat=True).first()
        if person:
            went[project, person] = max(at, went.get((project, person), at))
    came = set(events.filter(action__in=CAME).exclude(actor=None).values_list("project", "actor").distinct().order_by())
    now = timezone.now()
    ids = dict(apps.get_model("oidc", "Project").objects.values_list("public_id", "pk"))
    members = set(apps.get_model("oidc", "ProjectMember").objects.values_list("project", "account"))
    former = apps.get_model("oidc", "FormerMember")
    rows = [
        former(project_id=ids[project], account_id=person, left_at=went.get((project, person), now))
        for project, person in {*went, *came}
        if project in ids and ((project, person) in went or (ids[project], person) not in members)
    ]
    former.objects.bulk_create(rows, batch_size=500, ignore_conflicts=True)


class Migration(migrations.Migration):
    dependencies = [
        ("console", "0005_person_in_the_trail"),
        ("oidc", "0007_former_members"),
    ]

    operations = [migrations.RunPython(remember_former_members, migrations.RunPython.noop, elidable=True)]
