"""Groups that share a plan: families and organizations, their members and invitations."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from core import clock


class Family(models.Model):
    """People who share the plan of one of them; its owner is a member too."""

    owner = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="owned_family")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "families"

    def __str__(self) -> str:
        return f"Family of {self.owner}"

    @property
    def called(self) -> str:
        """The name that members see; the owner's email address distinguishes families with the same name."""
        owner = self.owner
        return f"{owner.given_name}’s family ({owner.email})" if owner.given_name else f"The family of {owner.email}"


class FamilyMember(models.Model):
    family = models.ForeignKey(Family, models.CASCADE, related_name="members")
    account = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="family_memberships")
    joined_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["family", "account"], name="one_membership_per_family")]

    def __str__(self) -> str:
        return str(self.account)


class Organization(models.Model):
    """An organization whose members have a seat in its plan."""

    name = models.CharField(max_length=100, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class OrganizationMember(models.Model):
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="members")
    account = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="organization_memberships")
    joined_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "account"], name="one_membership_per_organization")
        ]

    def __str__(self) -> str:
        return str(self.account)


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self) -> "InvitationQuerySet":
        """Return the invitations that can still be accepted."""
        return self.filter(accepted_at=None, declined_at=None, withdrawn_at=None, expires_at__gt=clock.now())


class Invitation(models.Model):
    """An email address that may join one family or organization.

    It contains no secret: people who sign in with that email address, once it is verified, may answer. There is one row
    per group and email address; inviting again opens it again.
    """

    family = models.ForeignKey(Family, models.CASCADE, null=True, blank=True, related_name="invitations")
    organization = models.ForeignKey(Organization, models.CASCADE, null=True, blank=True, related_name="invitations")
    email = models.EmailField("email address", db_index=True)  # in lower case, as in accounts
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="invitations_sent"
    )
    created_at = models.DateTimeField()
    mailed_at = models.DateTimeField()  # a group sends at most one mail an hour to an email address
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    declined_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(family__isnull=True, organization__isnull=False)
                | Q(family__isnull=False, organization__isnull=True),
                name="an_invitation_is_to_one_group",
            ),
            models.UniqueConstraint(fields=["family", "email"], name="one_invitation_per_family_and_address"),
            models.UniqueConstraint(
                fields=["organization", "email"], name="one_invitation_per_organization_and_address"
            ),
        ]

    def __str__(self) -> str:
        return self.email

    @property
    def group(self) -> Family | Organization:
        """The family or organization that it invites to."""
        group = self.family or self.organization
        assert group is not None
        return group

    @property
    def is_open(self) -> bool:
        """Return whether it can still be accepted."""
        answered = self.accepted_at or self.declined_at or self.withdrawn_at
        return answered is None and self.expires_at > clock.now()
