"""Conflicts of interest in a review or a project: one rule, for a single row and for lists.

Each condition is a query on the people who take part, with references to the outer row. The page of a review, the lists
and the steps all evaluate these same queries, so that none of them allows what another one refuses
(docs/review.md#conflicts-of-interest). For a single row the query is compiled once: compiling it takes much longer than
running it, and every step of a review runs it.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db.models import Case, CharField, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.lookups import IsNull

from accounts.models import Account, FamilyMember, OrganizationMember
from core import clock
from core.database.prepared_queries import PreparedQuery, as_number, as_time
from devportal.review.models import AppReview, ReviewEntry, ReviewRevision
from oidc.models import FormerMember, Project, ProjectInvitation, ProjectMember
from oidc.projects.colleagues import colleagues_of, remembered_since


class Conflict(StrEnum):
    """The reason why a reviewer may not decide on a review, a project or a case."""

    MEMBER = "member"
    TOOK_PART = "took_part"
    INVITED = "invited"
    FAMILY = "family"
    ORGANIZATION = "organization"
    SHARED_PROJECT = "project"
    REJECTED = "rejected"  # of a review
    APPEALED = "appealed"  # of a case, as the next one
    APPROVED = "approved"


# The admin's message about each conflict, for the reviewer.
MESSAGES: Mapping[str, str] = {
    Conflict.MEMBER: "You are a member of this project, so other reviewers decide on it.",
    Conflict.TOOK_PART: "You were a member of this project, or submitted or wrote something in one of its reviews, "
    "so other reviewers decide on it.",
    Conflict.INVITED: "You are invited to this project, so other reviewers decide on it. If you decline the invitation "
    "on the console’s home, you can decide.",
    Conflict.FAMILY: "You share a family with someone who takes part in this project, so other reviewers decide on it.",
    Conflict.ORGANIZATION: "You share an organization with someone who takes part in this project, so other "
    "reviewers decide on it.",
    Conflict.SHARED_PROJECT: "You share another project with an owner of this one, or did within the last year, so "
    "other reviewers decide on it.",
    Conflict.REJECTED: "You rejected this, and its developers appealed. Another reviewer decides on the appeal.",
    Conflict.APPEALED: "This is an appeal against your decision, so another reviewer answers it.",
    Conflict.APPROVED: "You gave the first approval, so another reviewer gives the second one.",
}

# Rows that name a person, and the column that holds the person.
_Parts = list[tuple["QuerySet[Any]", str]]
# The families and organizations of a person: for each kind the conflict, the relation, and the primary keys as a list
# or as a query.
_Groups = list[tuple[Conflict, str, Any]]


def _parts(project: str) -> _Parts:
    """Return the people who ever took part in the project of the outer query, without its present members."""
    return [
        (FormerMember.objects.filter(project=OuterRef(project)), "account"),
        (ReviewEntry.objects.filter(project=OuterRef(project), side=ReviewEntry.Side.DEVELOPER), "author"),
        (ReviewRevision.objects.filter(review__client__project=OuterRef(project)), "sent_by"),
        (AppReview.objects.filter(client__project=OuterRef(project)), "submitted_by"),
    ]


def _shares_project(account: Any, since: Any, project: str) -> Q:
    """Return the condition that the account shares a project with an owner, or did since then.

    People who stopped being owners since then still count, so that a transfer hides nobody.
    """
    lately, colleagues = Q(owner_until__gte=since), colleagues_of(account, since)
    members = ProjectMember.objects.filter(Q(role=ProjectMember.Role.OWNER) | lately, project=OuterRef(project))
    former = FormerMember.objects.filter(lately, project=OuterRef(project))
    return _there_is(members.filter(colleagues)) | _there_is(former.filter(colleagues))


def _is_invited(account: Any, now: Any, project: str) -> Q:
    """Return the condition that the account can answer an open invitation to the project."""
    address = Account.objects.filter(pk=account).values("email")[:1]
    rows = ProjectInvitation.objects.filter(project=OuterRef(project), email=Subquery(address))
    return _there_is(rows.filter(ended_at=None, expires_at__gt=now))


def _any(parts: _Parts, relation: str, value: Any) -> Q:
    """Return the condition that one of these people is `value`, or is related to it by `relation`."""
    condition = Q()
    for rows, column in parts:
        condition |= _there_is(rows.filter(**{f"{column}{relation}": value}))
    return condition


def _there_is(rows: "QuerySet[Any]") -> Q:
    """Return the condition that there is such a row.

    It is a scalar subquery, which PostgreSQL evaluates only for the rows of a page. For EXISTS it would read the whole
    tables into a hash, however few rows are shown.
    """
    return Q(IsNull(Subquery(rows.order_by().values("pk")[:1]), False))


def _groups_of(account: Any) -> _Groups:
    families = FamilyMember.objects.filter(account=account).values_list("family", flat=True)
    organizations = OrganizationMember.objects.filter(account=account).values_list("organization", flat=True)
    return [
        (Conflict.FAMILY, "__family_memberships__family__in", families),
        (Conflict.ORGANIZATION, "__organization_memberships__organization__in", organizations),
    ]


def _read_groups_of(account: int) -> _Groups:
    """Return the groups with their keys, without the kinds that this person has none of. This makes lists faster."""
    read = [(code, path, list(keys)) for code, path, keys in _groups_of(account)]
    return [(code, path, keys) for code, path, keys in read if keys]


def _conflict(account: Any, times: tuple[Any, Any], groups: _Groups, project: str, *more: When) -> Case:
    """Return the annotation. `times` are now, and the time since when shared projects are remembered."""
    now, since = times
    present: _Parts = [(ProjectMember.objects.filter(project=OuterRef(project)), "account")]
    parts = _parts(project)
    everyone = [*present, *parts]
    return Case(
        When(_any(present, "", account), then=Value(Conflict.MEMBER.value)),
        When(_any(parts, "", account), then=Value(Conflict.TOOK_PART.value)),
        When(_is_invited(account, now, project), then=Value(Conflict.INVITED.value)),
        *more,
        *(When(_any(everyone, path, keys), then=Value(code.value)) for code, path, keys in groups),
        When(_shares_project(account, since, project), then=Value(Conflict.SHARED_PROJECT.value)),
        default=Value(""),
        output_field=CharField(),
    )


def _of_appeal(account: Any) -> When:
    """Return the condition that adds to the project's: the review is an appeal against this account's rejection."""
    return When(Q(appealed_from=account), then=Value(Conflict.REJECTED.value))


def review_conflict(account: int) -> Case:
    """Return the annotation of an AppReview with this account's conflict of interest: a Conflict, or "".

    A conflict in the project applies to each of its reviews. In addition, reviewers have a conflict in an appeal
    against their own rejection.
    """
    groups = _read_groups_of(account)
    return _conflict(account, _times(), groups, "client__project", _of_appeal(account))


def project_conflict(account: int, project: str = "pk") -> Case:
    """Return the annotation of a row with this account's conflict of interest in a project; `project` names its column.

    The people who take part in a project are its members, its former members, and anyone who ever submitted or wrote
    something in one of its reviews. They have a conflict, and so has anyone with an open invitation. So does anyone who
    shares a family or an organization with one of them, or another project with one of the owners.
    """
    return _conflict(account, _times(), _read_groups_of(account), project)


def _times() -> tuple[datetime, datetime]:
    return clock.now(), remembered_since()


def _of_review(review: str, account: str, now: str, since: str) -> "QuerySet[Any, Any]":
    reader, times = as_number(account), (as_time(now), as_time(since))
    conflict = _conflict(reader, times, _groups_of(reader), "client__project", _of_appeal(reader))
    return AppReview.objects.filter(pk=as_number(review)).order_by().values_list(conflict)


def _of_project(project: str, account: str, now: str, since: str) -> "QuerySet[Any, Any]":
    reader, times = as_number(account), (as_time(now), as_time(since))
    conflict = _conflict(reader, times, _groups_of(reader), "pk")
    return Project.objects.filter(pk=as_number(project)).order_by().values_list(conflict)


_OF_REVIEW = PreparedQuery(("review", "account", "now", "since"), _of_review)
_OF_PROJECT = PreparedQuery(("project", "account", "now", "since"), _of_project)


def conflict_of(account: Account, project: Project, review: AppReview | None = None) -> str:
    """Return this person's conflict of interest in a review, or in a whole project: a Conflict, or "".

    Takes one statement. A project or review that no longer exists counts as a conflict.
    """
    query, row = (_OF_PROJECT, project.pk) if review is None else (_OF_REVIEW, review.pk)
    found = query.rows(str(row), str(account.pk), *(time.isoformat() for time in _times()))
    return str(found[0][0]) if found else Conflict.TOOK_PART


def message_of(conflict: str) -> str:
    """Return the admin's message about a conflict, or "" for none."""
    return MESSAGES[conflict] if conflict else ""
