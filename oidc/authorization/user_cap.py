"""The user limit: how many people may authorize a project's apps without a review (docs/review.md#people).

It also applies to a reviewed app if the redirect URI leads to a host that its review does not cover
(docs/review.md#hosts).
"""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet, Value

from accounts.models import Account
from core.database.prepared_queries import PreparedQuery, as_number
from oidc.models import Client, Connection, ProjectMember
from oidc.projects.people import is_counted, number_of_people


def is_capped(client: Client, outside: str = "") -> bool:
    """Return whether the user limit applies to the client.

    `outside` is the host of the request's redirect URI if the app's review does not cover it, "" otherwise.
    """
    return not client.first_party and (not client.is_verified or bool(outside))


def is_user_cap_reached(account: Account, client: Client, outside: str = "") -> bool:
    """Return whether the limit keeps `account` from authorizing the client. `outside` is as in `is_capped`."""
    return is_capped(client, outside) and find_place(account, client).is_full


@dataclass(frozen=True)
class Place:
    """One person's place in a capped client: whether they authorized it before, and whether the limit excludes them."""

    is_known: bool
    is_full: bool


def find_place(account: Account, client: Client) -> Place:
    """Return the person's place in a capped client, with one statement unless the limit is reached."""
    found = (
        _find_place_among_many(account, client)
        if client.is_verified
        else _PLACE.rows(client.client_id, str(account.pk))
    )
    people, is_known, is_counted, has_too_many = next(iter(found), (0, False, False, False))
    if is_known:
        return Place(is_known=True, is_full=False)
    is_full = has_too_many or (people >= settings.UNVERIFIED_APP_PEOPLE and not is_counted)
    return Place(is_known=False, is_full=bool(is_full) and not _is_owner(account, client))


def _find_place_among_many(account: Account, client: Client) -> Any:
    """Return the row of `_place` for a reviewed client.

    Everyone who ever authorized it counts toward the limit as well. They may be millions, so no more rows are read than
    the limit.
    """
    cap = settings.UNVERIFIED_APP_PEOPLE
    everyone = Connection.objects.filter(client=client)
    owners = ProjectMember.objects.filter(project_id=client.project_id, role=ProjectMember.Role.OWNER)
    last = everyone.exclude(account__in=owners.values("account"))[max(cap - 1, 0) : max(cap, 1)]
    has_too_many = Exists(last) if cap else Value(value=True)
    return _places(Client.objects.filter(pk=client.pk), Value(account.pk), has_too_many)


def _is_owner(account: Account, client: Client) -> bool:
    owner = ProjectMember.Role.OWNER
    return ProjectMember.objects.filter(project_id=client.project_id, account=account, role=owner).exists()


def _places(clients: "QuerySet[Client]", person: Any, has_too_many: Any) -> "QuerySet[Any, Any]":
    """Return a query for the number of counted people, and for three conditions.

    These are: the person has authorized the client, the project counts the person, and `has_too_many`.
    """
    found: QuerySet[Any, Any] = clients.values_list(
        number_of_people(OuterRef("project")),
        Exists(Connection.objects.filter(client=OuterRef("pk"), account=person)),
        is_counted(OuterRef("project"), person),
        has_too_many,
    )
    return found


def _place(client_id: str, account: str) -> "QuerySet[Any, Any]":
    return _places(Client.objects.filter(client_id=client_id), as_number(account), Value(value=False))


_PLACE = PreparedQuery(("client_id", "account"), _place)
