from typing import Any

from django.db import migrations


def keep_places(apps: Any, schema_editor: Any) -> None:
    """Keep counting the deleted accounts that authorized an unreviewed app: their connections name nobody.

    Each such connection is one person, because nothing says which of them were the same. Nothing is left of clients
    that were deleted before; their people do not count.
    """
    connections, places = apps.get_model("oidc", "Connection").objects, apps.get_model("oidc", "TakenPlace")
    anonymous = connections.filter(account=None, client__verified_at=None, client__first_party=False)
    projects = anonymous.order_by("pk").values_list("client__project", flat=True)
    places.objects.bulk_create((places(project_id=project) for project in projects.iterator()), batch_size=1000)


class Migration(migrations.Migration):
    dependencies = [("oidc", "0027_index_of_people_outside_review")]

    operations = [migrations.RunPython(keep_places, migrations.RunPython.noop)]
