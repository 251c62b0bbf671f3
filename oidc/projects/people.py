"""Count the people who count toward a project's user limit (docs/review.md#people).

Everyone who has authorized an app of the project that is not reviewed counts once. So does everyone who joined a
reviewed app through a host that its review does not cover. They are found by `Connection` rows, or by `TakenPlace`
rows if the app or the account was deleted.
"""

from typing import Any, TypedDict

from django.conf import settings
from django.db.models import (
    BooleanField,
    Count,
    Exists,
    ExpressionWrapper,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.functions import Coalesce
from django_stubs_ext import WithAnnotations

from accounts.models import Account
from oidc.models import Client, Connection, Project, ProjectMember, TakenPlace

_UNREVIEWED = Q(client__verified_at=None, client__first_party=False)


def counted_connections(project: Any) -> "QuerySet[Connection]":
    """Return the connections whose people count in a project, which may be an OuterRef."""
    rows = Connection.objects.filter(client__project=project, account__isnull=False)
    return rows.filter(_UNREVIEWED | Q(joined_outside_review=True))


def number_of_people(project: OuterRef) -> Any:
    """Return an expression for the number of people who count in a project: deleted accounts do, owners do not."""
    # Three parts, each of which uses an index: a reviewed app may have millions of people.
    rows = Connection.objects.filter(client__project=project, account__isnull=False)
    unreviewed = rows.filter(_UNREVIEWED)
    owners = ProjectMember.objects.filter(role=ProjectMember.Role.OWNER)
    own = owners.filter(project=OuterRef("client__project"))
    in_unreviewed = Connection.objects.filter(
        _UNREVIEWED, client__project=OuterRef("client__project"), account=OuterRef("account")
    )
    outside = rows.filter(
        ~Exists(own.filter(account=OuterRef("account"))), ~Exists(in_unreviewed), joined_outside_review=True
    )
    places = TakenPlace.objects.filter(
        ~Exists(owners.filter(project=OuterRef("project"), account=OuterRef("account"))),
        ~Exists(counted_connections(OuterRef("project")).filter(account=OuterRef("account"))),
        project=project,
    )
    people = Count("account", distinct=True)
    # All people minus the owners: filtering out owners would need a subquery per person.
    joined = _number_of(unreviewed, people) - _number_of(unreviewed.filter(account__in=own.values("account")), people)
    return joined + _number_of(outside, people) + _number_of(places, Count("pk"))


def _number_of(rows: "QuerySet[Any]", number: Count) -> Coalesce:
    counted = rows.order_by().annotate(group=Value(1)).values("group").annotate(number=number).values("number")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


class _PeopleCounted(TypedDict):
    people_counted: int


def annotate_people_counted(projects: "QuerySet[Project]") -> "QuerySet[WithAnnotations[Project, _PeopleCounted]]":
    """Annotate projects with `people_counted`, the number of people who count toward their user limit."""
    return projects.annotate(people_counted=number_of_people(OuterRef("pk")))


def people_counted(project: Project) -> int:
    """Return the number of people who count toward the project's user limit."""
    return annotate_people_counted(Project.objects.filter(pk=project.pk)).get().people_counted


def is_counted(project: OuterRef, account: Any) -> "ExpressionWrapper[Q]":
    """Return the condition that the person already counts in the project."""
    places = TakenPlace.objects.filter(project=project, account=account)
    counts = Q(Exists(counted_connections(project).filter(account=account))) | Q(Exists(places))
    return ExpressionWrapper(counts, output_field=BooleanField())


def keep_places_of_client(client: Client) -> None:
    """Keep counting the people of a client that is about to be deleted. The caller has locked the client's row.

    If the app had more people than the limit, only as many as the limit are kept, which is enough to reach it. Owners
    are kept as well, because they count once they are no longer owners, and until then they take nobody's place.
    """
    TakenPlace.objects.bulk_create(
        [TakenPlace(project_id=client.project_id, account_id=account) for account in people_to_keep(client)],
        ignore_conflicts=True,
    )


def people_to_keep(client: Client) -> list[int]:
    """Return the primary keys of the people who `keep_places_of_client` keeps counting."""
    rows = counted_connections(client.project_id).filter(client=client).order_by("pk")
    people = rows.values_list("account", flat=True)
    members = ProjectMember.objects.filter(project=client.project_id, role=ProjectMember.Role.OWNER)
    owners = set(members.values_list("account", flat=True))
    return [*people.exclude(account__in=owners)[: settings.UNVERIFIED_APP_PEOPLE], *people.filter(account__in=owners)]


def keep_places_of_account(account: Account) -> None:
    """Keep counting an account that is about to be deleted, anonymously and once in each project."""
    connected = Connection.objects.filter(_UNREVIEWED | Q(joined_outside_review=True), account=account)
    projects = set(connected.values_list("client__project", flat=True))
    # Existing rows of the account stay: the deletion only sets their `account` to null.
    projects -= set(TakenPlace.objects.filter(account=account).values_list("project", flat=True))
    TakenPlace.objects.bulk_create([TakenPlace(project_id=project) for project in sorted(projects)])
