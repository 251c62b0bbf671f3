"""The cap of unverified apps: how many people may authorize one before its review (docs/review.md)."""

from django.conf import settings
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.models import Account
from oidc.models import Client, Connection, ProjectMember


def is_user_cap_reached(account: Account, client: Client) -> bool:
    """Return whether the client is unverified, has reached its limit of people, and does not know `account` yet."""
    if client.is_verified or client.first_party:
        return False
    if Connection.objects.filter(account=account, client=client).exists() or _is_owner(account, client):
        return False
    return count_people(client) >= settings.UNVERIFIED_APP_PEOPLE


def _is_owner(account: Account, client: Client) -> bool:
    owner = ProjectMember.Role.OWNER
    return ProjectMember.objects.filter(project_id=client.project_id, account=account, role=owner).exists()


def count_people(client: Client) -> int:
    """Return how many people count towards the client's cap."""
    rows = annotate_people(Client.objects.filter(pk=client.pk))
    return next(iter(rows.values_list("people", flat=True)), 0)


def annotate_people(clients: "QuerySet[Client]") -> "QuerySet[Client]":
    """Return clients with `people`, whom the cap counts, and `people_now`, who have not removed the app.

    The cap counts whoever ever authorized the app: deleted accounts included, the project's owners not.
    """
    everybody = Connection.objects.filter(client=OuterRef("pk"))
    owners = ProjectMember.objects.filter(project=OuterRef("client__project"), role=ProjectMember.Role.OWNER)
    annotated: QuerySet[Client] = clients.annotate(
        # All people minus the owners: filtering out owners would need a subquery per person.
        people=_number_of(everybody) - _number_of(everybody.filter(account__in=owners.values("account"))),
        people_now=_number_of(everybody.filter(removed_at=None, account__isnull=False)),
    )
    return annotated


def _number_of(connections: "QuerySet[Connection]") -> Coalesce:
    counted = connections.order_by().values("client").annotate(number=Count("pk")).values("number")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)
