"""The timeline of a review and the history of an app. Each step adds an entry, an audit event and emails."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.dispatch import receiver

from accounts.data_export.archive import moment, rows_of
from accounts.models import Account
from accounts.signals import exporting
from core import clock
from devportal.review.models import AppReview, ReviewEntry
from devportal.review.rules import notifications
from devportal.review.rules.reasons import OTHER, REASONS
from devportal.review.rules.workflow import IncompleteSubmission
from oidc.models import Client, Project, ProjectMember
from oidc.projects.roles import report_project_event

Kind = ReviewEntry.Kind
Side = ReviewEntry.Side

# Audit actions on projects, which have the same names outside of reviews.
ACTIONS: dict[str, str] = {Kind.SUSPENDED: "project.suspended", Kind.SUSPENSION_LIFTED: "project.suspension_lifted"}
MAX_TEXT_LENGTH = 4000  # characters of a note, an answer or a justification
MAX_SHOWN = 200


def action_of(kind: str) -> str:
    """Return the action of the audit event of an entry."""
    return ACTIONS.get(kind, f"review.{kind}")


def clean_text(text: str) -> str:
    """Return the text stripped, without control characters. Raises IncompleteSubmission if it is too long."""
    kept = "".join(letter for letter in text.replace("\r\n", "\n") if letter >= " " or letter in "\n\t").strip()
    if len(kept) > MAX_TEXT_LENGTH:
        raise IncompleteSubmission(f"Write at most {MAX_TEXT_LENGTH} characters.")
    return kept.encode("utf-8", "replace").decode()  # a lone surrogate can't be encoded


def required_text(text: str) -> str:
    """Return the text as `clean_text`. Raises IncompleteSubmission also if it is empty."""
    if not (kept := clean_text(text)):
        raise IncompleteSubmission("Write something first.")
    return kept


def record_entry(
    kind: str,
    side: str,
    actor: Account,
    project: Project,
    client: Client | None = None,
    review: AppReview | None = None,
    *,
    text: str = "",
    reasons: Iterable[str] = (),
    details: dict[str, Any] | None = None,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> ReviewEntry:
    """Add a step to the timeline and the audit trail, and queue its mails, all in the caller's transaction."""
    entry = ReviewEntry.objects.create(
        project=project,
        client=client,
        review=review,
        at=clock.now(),
        author=actor,
        side=side,
        kind=kind,
        text=text,
        reasons=list(reasons),
        details=details or {},
    )
    hidden = {"answers", "despite"}  # texts of people are stored in the timeline, not in the audit trail
    if kind in notifications.REVIEWERS_ONLY:
        # The second reviewer can read the audit trail (docs/review.md#two-approvals).
        hidden |= {"scopes", "checked", "failing"}
    recorded = {"side": side, **{name: value for name, value in (details or {}).items() if name not in hidden}}
    if review is not None:
        recorded |= {"review": review.number, "revision": review.revision}
    if entry.reasons:
        recorded["reasons"] = entry.reasons
    target = client.client_id if client else ""
    report_project_event(
        action_of(kind), project, actor, target, details=recorded, before=before or {}, after=after or {}
    )
    notifications.notify(entry)
    return entry


@receiver(exporting)
def export_review_texts(sender: Any, account: Account, **kwargs: Any) -> dict[str, Any]:
    """Return the person's messages in reviews, for the data export."""
    wrote = ~Q(text="") | Q(details__has_key="answers")
    rows = ReviewEntry.objects.filter(wrote, author=account).select_related("client", "project")
    return {
        "written_in_reviews": (
            {
                "at": moment(row.at),
                "project": row.project.name,
                "app": row.client.name if row.client else None,
                "kind": row.kind,
                "text": row.text,
                "answers": row.details.get("answers", {}),
                "reason_despite_failing_checks": row.details.get("despite", ""),
            }
            for row in rows_of(rows)
        )
    }


def timeline(client: Client, *, for_reviewers: bool = False) -> list[ReviewEntry]:
    """Return the timeline of an app and its project, oldest first; at most the newest 200 entries of each side.

    `for_reviewers` includes the entries that only reviewers read. `by_member` tells whether the author is a member now.
    """
    rows = ReviewEntry.objects.filter(project=client.project_id, client=client) | ReviewEntry.objects.filter(
        project=client.project_id, client=None
    )
    if not for_reviewers:
        rows = rows.exclude(kind__in=notifications.REVIEWERS_ONLY)
    members = ProjectMember.objects.filter(project=OuterRef("project"), account=OuterRef("author"))
    newest: Any = newest_of_each_side(rows, MAX_SHOWN).annotate(by_member=Exists(members))
    return list(newest.select_related("author", "review"))


def newest_of_each_side(rows: "QuerySet[ReviewEntry]", most: int) -> "QuerySet[ReviewEntry]":
    """Return the newest entries of developers and those of reviewers, oldest first.

    Each side has a separate limit, so that developers can't push the steps of reviewers out of sight.
    """
    newest = (rows.filter(side=side).order_by("-pk").values("pk")[:most] for side in Side)
    # One union instead of two conditions: with OR, PostgreSQL reads all entries. SQLite allows no limit in a union.
    first, *others = (ReviewEntry.objects.filter(pk__in=keys).values("pk") for keys in newest)
    return ReviewEntry.objects.filter(pk__in=first.union(*others, all=True)).order_by("pk")


# The code of the point for the reviewer's note. The other points have the codes of REASONS.
NOTE = "note"
NOTE_TITLE = "The reviewer’s note"


@dataclass(frozen=True)
class Point:
    """One request of the reviewers that needs an answer: a reason, or their note."""

    code: str
    title: str
    text: str


def points_of(review: AppReview | None) -> list[Point]:
    """Return the points to answer before a review is resubmitted. There are none unless changes were requested.

    The note stands for the reason `other`. Reasons that no longer exist are left out.
    """
    if review is None or review.status != AppReview.Status.CHANGES_REQUESTED:
        return []
    known = [REASONS[code] for code in review.reasons if code in REASONS and code != OTHER]
    points = [Point(reason.code, reason.title, reason.text) for reason in known]
    return [*points, Point(NOTE, NOTE_TITLE, review.reason_text)] if review.reason_text else points


def answers_to(points: Sequence[Point], given: Mapping[str, str]) -> dict[str, str]:
    """Return the answers to these points by code, in their order, without any other answers."""
    return {point.code: given[point.code] for point in points if given.get(point.code, "").strip()}


def answered_points(entry: ReviewEntry) -> list[tuple[str, str]]:
    """Return the title and the answer of each point that a submission answered, for the timeline."""
    return titled_answers(entry.details.get("answers") or {})


def titled_answers(answers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return pairs of a point's title and its answer."""
    titles = {code: reason.title for code, reason in REASONS.items()} | {NOTE: NOTE_TITLE}
    return [(titles.get(code, code), text) for code, text in answers.items()]


MAX_REVIEWS = 20
MAX_APPS = 20
MAX_OWNERS = 20
MAX_PROJECTS = 50  # of all owners together, the newest
MAX_MEASURES = 20
# Measures that reviewers took outside of a review.
MEASURES = (Kind.APPROVAL_WITHDRAWN, Kind.SUSPENDED, Kind.SUSPENSION_LIFTED)


@dataclass(frozen=True)
class OwnersApp:
    """Another app of the project or of its owners. `status` is that of its latest submitted review, or ""."""

    client: Client
    is_here: bool  # in the same project
    status: str

    @property
    def state(self) -> str:
        """The state of the app in a few words."""
        words = ["reviewed" if self.client.is_verified else "not reviewed"]
        if self.status and not (self.client.is_verified and self.status == AppReview.Status.APPROVED):
            words.append(f"latest review: {AppReview.Status(self.status).label.lower()}")
        words += ["project suspended"] if self.client.project.is_suspended else []
        return ", ".join(words + (["turned off"] if not self.client.enabled else []))


@dataclass(frozen=True)
class History:
    """Earlier reviews of the app, other apps, and measures, newest first. `…_more` tells that there are others."""

    earlier: list[AppReview]
    apps: list[OwnersApp]
    apps_more: bool
    measures: list[ReviewEntry]


def history_of(review: AppReview, *, with_owners: bool) -> History:
    """Return the history of a review's app and its project; `with_owners` adds the other projects of its owners."""
    client = review.client
    projects = _projects_of_owners(client.project) if with_owners else [client.project_id]
    sent = AppReview.objects.filter(client=OuterRef("pk")).exclude(status=AppReview.Status.DRAFT)
    others = Client.objects.filter(project__in=projects).exclude(pk=client.pk).select_related("project")
    latest = Subquery(sent.order_by("-number").values("status")[:1])
    apps: list[Any] = list(others.annotate(latest=latest).order_by("-pk")[: MAX_APPS + 1])
    measures = ReviewEntry.objects.filter(project__in=projects, kind__in=MEASURES)
    return History(
        earlier=list(
            client.reviews.exclude(pk=review.pk)
            .exclude(status=AppReview.Status.DRAFT)
            .select_related("decided_by")
            .order_by("-number")[:MAX_REVIEWS]
        ),
        apps=[OwnersApp(app, app.project_id == client.project_id, app.latest or "") for app in apps[:MAX_APPS]],
        apps_more=len(apps) > MAX_APPS,
        measures=list(measures.select_related("project", "client", "author").order_by("-pk")[:MAX_MEASURES]),
    )


def _projects_of_owners(project: Project) -> list[int]:
    """Return the primary keys of the project and of other projects with one of its owners, without deleted ones."""
    owner = ProjectMember.Role.OWNER
    members = ProjectMember.objects.filter(role=owner)
    owners = list(members.filter(project=project).order_by("pk").values_list("account", flat=True)[:MAX_OWNERS])
    owned = members.filter(account__in=owners, project__deleted_at=None).exclude(project=project)
    others = owned.order_by("-project").values_list("project", flat=True).distinct()[:MAX_PROJECTS]
    return [project.pk, *others]
