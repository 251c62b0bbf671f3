"""Projects: groups of clients with the same pairwise subject identifiers; their members and connected people."""

from datetime import datetime

from django.conf import settings
from django.db import models

from core import clock
from core.credentials import random_text
from core.database.words import WordIndex

PROJECT_PREFIX = "prj_"


def new_public_id() -> str:
    """Return a random public id for a project. It is also the sector of its pairwise subject identifiers."""
    return f"{PROJECT_PREFIX}{random_text(22)}"


class Project(models.Model):
    """A product of one developer or team. Its public id is the sector identifier of OpenID Connect Core 8.1."""

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    name = models.CharField(max_length=100)
    suspended_at = models.DateTimeField(null=True, blank=True)
    # When it was deleted. It can be restored for PROJECT_RESTORE_DAYS.
    deleted_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        # For the operators' search by the beginning of a name. PostgreSQL needs this operator class for LIKE.
        indexes = [WordIndex(fields=["name"], name="projects_by_name")]  # the search of the staff

    def __str__(self) -> str:
        return self.name

    @property
    def is_suspended(self) -> bool:
        return self.suspended_at is not None

    @property
    def is_deleted(self) -> bool:
        return self.deleted_at is not None


class ProjectMember(models.Model):
    """A person's membership and role in a project."""

    class Role(models.TextChoices):
        OWNER = "owner"
        DEVELOPER = "developer"
        VIEWER = "viewer"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="members")
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="project_memberships")
    role = models.CharField(max_length=10, choices=Role.choices)
    created_at = models.DateTimeField(auto_now_add=True)
    # When this person stopped being an owner; None for people who are owners now or never were.
    owner_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "account"], name="one_role_per_project_and_account")]

    def __str__(self) -> str:
        return f"{self.account} ({self.role})"


class FormerMember(models.Model):
    """A former membership, whose ProjectMember row is deleted. A person who joined and left several times has one row.

    Former members may not review the project's apps. People who shared a project with an owner may not do so for a year
    (docs/review.md#conflicts-of-interest).
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="former_members")
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    joined_at = models.DateTimeField()
    left_at = models.DateTimeField()
    # When this person was last an owner; None for people who never were.
    owner_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "account"], name="one_departure_per_project_and_account")
        ]

    def __str__(self) -> str:
        return f"{self.account} until {self.left_at}"


class MemberOfRemovedProject(models.Model):
    """A membership of a permanently deleted project, kept for a year (oidc/projects/colleagues.py).

    Without it, two people could hide that they shared a project by deleting it.
    """

    project_key = models.BigIntegerField()  # the former primary key of the project, which is never used again
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    joined_at = models.DateTimeField()
    left_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["project_key"], name="members_of_removed_project"),
            models.Index(fields=["left_at"], name="removed_memberships_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.account} until {self.left_at}"


class ProjectInvitation(models.Model):
    """An invitation to a project. The person who verifies the email address may answer it."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField(db_index=True)
    role = models.CharField(max_length=10, choices=ProjectMember.Role.choices)
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    mailed_at = models.DateTimeField()
    # When it was accepted, declined or withdrawn. The row is kept for a while for rate limits and idempotent answers.
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "email"], name="one_invitation_per_project_and_address")
        ]

    def __str__(self) -> str:
        return f"{self.email} to {self.project}"

    @property
    def is_open(self) -> bool:
        return self.ended_at is None and self.expires_at > clock.now()


class Connection(models.Model):
    """A person's consent to an app, shown under Connected apps.

    Removing access moves `scopes` to `removed_scopes` and sets `removed_at`. The row stays, because the project's user
    limit counts everyone who has ever authorized one of its apps without a review. It also stays, anonymized, when the
    account is deleted.
    """

    # Both columns are the first of another index.
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="connections", db_index=False
    )
    client = models.ForeignKey(
        settings.OAUTH2_PROVIDER_APPLICATION_MODEL,
        models.CASCADE,
        verbose_name="app",
        related_name="connections",
        db_index=False,
    )
    subject = models.ForeignKey("accounts.PairwiseSubject", models.SET_NULL, null=True, blank=True)
    # Space-separated: the scopes that the person has granted and not revoked.
    scopes = models.TextField(blank=True, default="")
    # Space-separated: the scopes of the access that the person removed last, for their data export.
    removed_scopes = models.TextField(blank=True, default="", db_default="", editable=False)
    # Space-separated: the optional scopes that the person was asked for and left out. None of them is in `scopes`.
    left_out = models.TextField(blank=True, default="")
    # The part of `scopes` that the person granted at hosts that the app's review did not cover: space-separated scopes
    # by host (docs/review.md#hosts). Null for none.
    scopes_outside_review = models.JSONField(null=True, blank=True, editable=False)
    # Whether the first consent was given at such a host, so that the person counts toward the project's user limit.
    joined_outside_review = models.BooleanField(default=False, editable=False)
    first_authorized_at = models.DateTimeField()
    last_authorized_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True, blank=True)

    # Whether the row was created in this transaction, so that nothing refers to it yet. Not a column.
    is_first_consent = False
    # `last_authorized_at` before this transaction changed it; None if it did not. Not a column.
    authorized_before: datetime | None = None

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "client"], name="one_connection_per_account_and_client")
        ]
        indexes = [
            # The console counts the people of an app. With these columns it does not read the rows.
            models.Index(fields=["client", "account", "removed_at"], name="people_of_a_client"),
            models.Index(
                fields=["client"], condition=models.Q(joined_outside_review=True), name="joined_outside_review"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.account} → {self.client}"


class TakenPlace(models.Model):
    """A person who permanently counts toward a project's user limit (docs/review.md#people).

    The app that they authorized was deleted, or their account was. In the second case `account` is null.
    """

    project = models.ForeignKey("oidc.Project", models.CASCADE, related_name="taken_places")
    account = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "account"], name="one_place_per_project_and_account")]

    def __str__(self) -> str:
        return f"{self.account} in {self.project}"
