"""The history of an app and its owners for reviewers, in a fixed number of statements and bounded lists."""

from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, Subquery

from devportal.review.models import AppReview, ReviewEntry
from devportal.review.timeline import Kind
from oidc.models import Client, Project, ProjectMember

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


def history_of(review: AppReview) -> History:
    """Return the history of a review's app, its project, and the other projects of its owners."""
    client = review.client
    projects = _projects_of_owners(client.project)
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
