"""The cap of unverified apps: how many people may authorize one before its review (docs/review.md).

It counts as well for a reviewed app with a redirect URI that its review did not take in (docs/review.md#hosts).
"""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import CharField, Count, Exists, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Cast, Coalesce

from accounts.models import Account
from devportal.lib.prepared_queries import PreparedQuery
from oidc.models import Client, Connection, ProjectMember


def is_capped(client: Client, outside: str = "") -> bool:
    """Return whether only so many people may authorize the client.

    `outside` is the host of the request's redirect URI if the app's review did not take it in, "" otherwise.
    """
    return not client.first_party and (not client.is_verified or bool(outside))


def is_user_cap_reached(account: Account, client: Client, outside: str = "") -> bool:
    """Return whether a capped client has its limit of people, and does not know `account` yet; `outside` as above."""
    return is_capped(client, outside) and find_place(account, client).is_full


@dataclass(frozen=True)
class Place:
    """What a capped client has for one person: whether it knows them, and whether there is no place for them."""

    is_known: bool
    is_full: bool


def find_place(account: Account, client: Client) -> Place:
    """Return whether a capped client knows the person and has a place for them, by one statement unless it is full."""
    if client.is_verified:
        return _find_place_among_many(account, client)
    people, is_known = next(iter(_PEOPLE.rows(client.client_id, str(account.pk))), (0, False))
    is_full = people >= settings.UNVERIFIED_APP_PEOPLE and not is_known and not _is_owner(account, client)
    return Place(bool(is_known), is_full)


def _find_place_among_many(account: Account, client: Client) -> Place:
    """The same for a reviewed client, which may know millions: no more of them are read than the cap."""
    cap = settings.UNVERIFIED_APP_PEOPLE
    everybody = Connection.objects.filter(client=client)
    owners = ProjectMember.objects.filter(project_id=client.project_id, role=ProjectMember.Role.OWNER)
    last = everybody.exclude(account__in=owners.values("account"))[max(cap - 1, 0) : max(cap, 1)]
    asked = Client.objects.filter(pk=client.pk).values_list(Exists(everybody.filter(account=account)), Exists(last))
    is_known, has_the_last = next(iter(asked), (False, False))
    is_full = (cap == 0 or has_the_last) and not is_known and not _is_owner(account, client)
    return Place(bool(is_known), bool(is_full))


def _is_owner(account: Account, client: Client) -> bool:
    owner = ProjectMember.Role.OWNER
    return ProjectMember.objects.filter(project_id=client.project_id, account=account, role=owner).exists()


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


def _place(client_id: str, account: str) -> "QuerySet[Any, Any]":
    # Prepared reads take texts alone. An index is not needed here: a capped client knows a hundred people or so.
    known = Connection.objects.alias(person=Cast("account", CharField())).filter(client=OuterRef("pk"), person=account)
    clients = annotate_people(Client.objects.filter(client_id=client_id))
    found: QuerySet[Any, Any] = clients.annotate(is_known=Exists(known)).values_list("people", "is_known")
    return found


_PEOPLE = PreparedQuery(("client_id", "account"), _place)
