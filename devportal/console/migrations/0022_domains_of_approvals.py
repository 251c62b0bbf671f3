from typing import Any
from urllib.parse import urlsplit

from django.db import migrations
from django.db.models import OuterRef, QuerySet, Subquery

from devportal.lib.backfill import backfill
from devportal.lib.public_suffixes import public_suffix

PAGES = ("home_page_url", "privacy_policy_url", "terms_url")


def hosts_of(addresses: list[str]) -> list[str]:
    hosts = (urlsplit(address).hostname or "" for address in addresses)
    return list(dict.fromkeys(host for host in hosts if host))


def covers(domain: Any, host: str) -> bool:
    """Return what `ProjectDomain.covers` does: no proof reaches past a public suffix."""
    if host == domain.name or domain.method == "file" or not host.endswith(f".{domain.name}"):
        return bool(host == domain.name)
    suffix = public_suffix(host)
    return suffix != domain.name and not suffix.endswith(f".{domain.name}")


def is_covered(host: str, domains: list[Any]) -> bool:
    return any(row.proven_at and not row.lost_at and covers(row, host) for row in domains)


def is_lost(host: str, domains: list[Any]) -> bool:
    return any(row.lost_at and covers(row, host) for row in domains) and not is_covered(host, domains)


def keep_domains(apps: Any, schema_editor: Any) -> None:
    """Write down for each reviewed app the domains that its last approval covers, and compute again where it counts.

    They are the project's proven domains that an address of that submission is on; without a review, those that an
    address of today is on. Hosts on other domains count as unreviewed from now on, and so does an app whose home page
    is on a domain that was lost or removed.
    """
    alias = schema_editor.connection.alias
    clients = apps.get_model("oidc", "Client").objects.using(alias)
    reviews = apps.get_model("console", "AppReview").objects.using(alias)
    domains = apps.get_model("oidc", "ProjectDomain").objects.using(alias)
    events = apps.get_model("console", "AuditEvent").objects.using(alias)
    approved = reviews.filter(client=OuterRef("pk"), status="approved").order_by("-number")

    def was_removed(project: str, host: str) -> Any:
        """Return when the project removed a domain that the host was on; None if it did not."""
        parents = [host.split(".", level)[-1] for level in range(host.count(".") + 1)]
        removed = events.filter(project=project, action="domain.removed", target__in=parents)
        return removed.order_by("-pk").values_list("at", flat=True).first()

    def fill(rows: "QuerySet[Any]") -> int:
        found = rows.annotate(
            sent=Subquery(approved.values("snapshot")[:1]), review_key=Subquery(approved.values("pk")[:1])
        )
        for client in found.select_related("project").select_for_update(of=("self",), no_key=True):
            known = list(domains.filter(project=client.project_id))
            sent, redirect_uris = client.sent or {}, client.redirect_uris.split()
            pages = [sent.get(field, getattr(client, field)) for field in PAGES]
            sign_outs = sent.get("sign_out_urls", client.post_logout_redirect_uris.split())
            seen = hosts_of([*sent.get("redirect_urls", redirect_uris), *pages, *sign_outs])
            covered = [row for row in known if row.proven_at and any(covers(row, host) for host in seen)]
            counting = [host for host in hosts_of(redirect_uris) if is_covered(host, covered)]
            standing = [host for host in client.approved_hosts.split() if not is_lost(host, known)]
            client.approved_domains = " ".join(sorted(row.name for row in covered))
            client.reviewed_hosts = " ".join(dict.fromkeys([*standing, *counting]))
            home = next(iter(hosts_of([client.home_page_url])), "")
            if home and not is_covered(home, known):
                lost = next((row.lost_at for row in known if row.lost_at and covers(row, home)), None)
                client.home_unproven_since = lost or was_removed(client.project.public_id, home)
            client.save(update_fields=["approved_domains", "reviewed_hosts", "home_unproven_since"])
            if client.review_key:
                kept = {"type": client.type} | sent | {"domains": client.approved_domains.split()}
                reviews.filter(pk=client.review_key).update(snapshot=kept)
        return len(found)

    backfill(clients.filter(verified_at__isnull=False, approved_domains="", home_unproven_since=None), fill)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("console", "0021_mails_about_cases_by_choice"), ("oidc", "0029_what_an_approval_covers")]

    operations = [migrations.RunPython(keep_domains, migrations.RunPython.noop, elidable=True)]
