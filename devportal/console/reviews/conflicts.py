"""Who has a conflict of interest in a review or a project: one rule, for one row and for a list of them.

Each condition is a query on the people who take part, with references to the row that is looked at. The page of one
review, the lists of the desk and the steps themselves all evaluate these same queries, so that none of them can allow
what another refuses (docs/review.md#conflicts-of-interest).
"""

from typing import Any

from django.db.models import Case, CharField, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.lookups import IsNull

from accounts.models import Account, FamilyMember, OrganizationMember
from devportal.console.models import AppReview, ReviewEntry, ReviewRevision
from oidc.models import FormerMember, Project, ProjectMember

MEMBER, TOOK_PART, REJECTED, FAMILY, ORGANIZATION = "member", "took_part", "rejected", "family", "organization"
# What the desk says of each, to the person themselves.
MESSAGES = {
    MEMBER: "You are a member of this project: others decide on it.",
    TOOK_PART: "You were a member of this project since this was drafted, or sent it or wrote in it: others decide on "
    "it.",
    REJECTED: "You rejected this, and its developers appealed: somebody else decides on the appeal.",
    FAMILY: "You share a family with somebody who takes part in this project: others decide on it.",
    ORGANIZATION: "You share an organization with somebody who takes part in this project: others decide on it.",
}
# In a project as a whole it counts whenever it was.
EVER = "You were once a member of this project, or sent or wrote something in one of its reviews: others decide on it."
# Rows that name somebody, and the column that does.
_Parts = list[tuple["QuerySet[Any]", str]]


def _parts_in_review() -> _Parts:
    """Return who takes part in the review that the outer query is at; without the project's present members."""
    left = FormerMember.objects.filter(project=OuterRef("client__project"), left_at__gte=OuterRef("created_at"))
    return [
        (left, "account"),
        (ReviewEntry.objects.filter(review=OuterRef("pk"), side=ReviewEntry.Side.DEVELOPER), "author"),
        (ReviewRevision.objects.filter(review=OuterRef("pk")), "sent_by"),
        (AppReview.objects.filter(pk=OuterRef("pk")), "submitted_by"),
    ]


def _parts_in_project(project: str) -> _Parts:
    """Return who ever took part in the project that the outer query names; without its present members."""
    return [
        (FormerMember.objects.filter(project=OuterRef(project)), "account"),
        (ReviewEntry.objects.filter(project=OuterRef(project), side=ReviewEntry.Side.DEVELOPER), "author"),
        (ReviewRevision.objects.filter(review__client__project=OuterRef(project)), "sent_by"),
        (AppReview.objects.filter(client__project=OuterRef(project)), "submitted_by"),
    ]


def _any(parts: _Parts, relation: str, value: Any) -> Q:
    """Return the condition that one of these people is, or by `relation` is in, `value`.

    Each is a scalar subquery, which PostgreSQL evaluates for the rows of a page alone: for EXISTS it would read the
    whole tables into a hash, however few rows are shown.
    """
    condition = Q()
    for rows, column in parts:
        found = Subquery(rows.filter(**{f"{column}{relation}": value}).order_by().values("pk")[:1])
        condition |= Q(IsNull(found, False))
    return condition


def _groups_of(account: int) -> list[tuple[str, str, list[int]]]:
    """Return the families and organizations of a person: the conflict that each makes, its relation, and their keys."""
    families = FamilyMember.objects.filter(account=account).values_list("family", flat=True)
    organizations = OrganizationMember.objects.filter(account=account).values_list("organization", flat=True)
    return [
        (FAMILY, "__family_memberships__family__in", list(families)),
        (ORGANIZATION, "__organization_memberships__organization__in", list(organizations)),
    ]


def _conflict(account: int, members: "QuerySet[Any]", parts: _Parts, *more: When) -> Case:
    present: _Parts = [(members, "account")]
    everybody = [*present, *parts]
    return Case(
        When(_any(present, "", account), then=Value(MEMBER)),
        When(_any(parts, "", account), then=Value(TOOK_PART)),
        *more,
        *(When(_any(everybody, path, keys), then=Value(code)) for code, path, keys in _groups_of(account) if keys),
        default=Value(""),
        output_field=CharField(),
    )


def review_conflict(account: int) -> Case:
    """Return the annotation of an AppReview with this account's conflict of interest: a key of MESSAGES, or "".

    Takes part in a review: who submitted any revision of it, wrote in it as a developer, or was a member of the project
    since its draft was begun. Whoever shares a family or an organization with one of these is in conflict too, and so
    is who rejected what is appealed.
    """
    members = ProjectMember.objects.filter(project=OuterRef("client__project"))
    rejected = When(Q(appealed_from=account), then=Value(REJECTED))
    return _conflict(account, members, _parts_in_review(), rejected)


def project_conflict(account: int, project: str = "pk") -> Case:
    """Return the annotation of a row with this account's conflict of interest in a project as a whole.

    `project` names the column with the project. Here it counts whenever somebody took part.
    """
    members = ProjectMember.objects.filter(project=OuterRef(project))
    return _conflict(account, members, _parts_in_project(project))


def conflict_of(account: Account, project: Project, review: AppReview | None = None) -> str:
    """Return this person's conflict of interest in a review, or in a whole project: a key of MESSAGES, or "".

    Three statements. What can't be found any more is nobody's to decide, and counts as a conflict.
    """
    rows: QuerySet[Any]
    if review is not None:
        rows = AppReview.objects.filter(pk=review.pk).annotate(conflict=review_conflict(account.pk))
    else:
        rows = Project.objects.filter(pk=project.pk).annotate(conflict=project_conflict(account.pk))
    found = rows.order_by().values_list("conflict", flat=True).first()
    return TOOK_PART if found is None else str(found)


def message_of(conflict: str, *, ever: bool = False) -> str:
    """Return what the desk says of a conflict; "" for none. `ever`: it concerns a whole project."""
    return EVER if ever and conflict == TOOK_PART else MESSAGES.get(conflict, "")
