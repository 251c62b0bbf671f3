from typing import Any
from urllib.parse import urlsplit

from django.db import migrations
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from devportal.lib.backfill import backfill


def hosts_of(addresses: list[str]) -> str:
    hosts = (urlsplit(address).hostname or "" for address in addresses)
    return " ".join(dict.fromkeys(host for host in hosts if host))


def keep_hosts(apps: Any, schema_editor: Any) -> None:
    """The hosts of the last approval are those that were sent with it; without a review, those of today."""
    clients = apps.get_model("oidc", "Client").objects.using(schema_editor.connection.alias)
    reviews = apps.get_model("console", "AppReview").objects.using(schema_editor.connection.alias)
    approved = reviews.filter(client=OuterRef("pk"), status="approved").order_by("-number")

    def fill(rows: "QuerySet[Any]") -> int:
        known = rows.annotate(
            sent=Subquery(approved.values("snapshot")[:1]),
            reviewed=Coalesce(Subquery(approved.values("decided_at")[:1]), F("verified_at")),
        )
        for client in known.select_for_update(of=("self",), no_key=True):
            addresses = (client.sent or {}).get("redirect_urls", client.redirect_uris.split())
            client.approved_hosts = client.reviewed_hosts = hosts_of(addresses)
            client.last_reviewed_at = client.reviewed
            client.save(update_fields=["approved_hosts", "reviewed_hosts", "last_reviewed_at"])
        return len(known)

    backfill(clients.filter(verified_at__isnull=False, last_reviewed_at=None), fill)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("console", "0011_desk")]

    operations = [migrations.RunPython(keep_hosts, migrations.RunPython.noop, elidable=True)]
