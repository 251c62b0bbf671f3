"""Who shares a plan: families and organizations, their members, and those who are invited."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from devportal.lib import clock


class Family(models.Model):
    """People who share the plan of one of them; its owner is a member too."""

    owner = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="owned_family")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "families"

    def __str__(self) -> str:
        return f"Family of {self.owner}"


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


class Invitation(models.Model):
    """An address that may join one family or organization; the token that proves it is stored as a hash."""

    family = models.ForeignKey(Family, models.CASCADE, null=True, blank=True, related_name="invitations")
    organization = models.ForeignKey(Organization, models.CASCADE, null=True, blank=True, related_name="invitations")
    email = models.EmailField()
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(family__isnull=True, organization__isnull=False)
                | Q(family__isnull=False, organization__isnull=True),
                name="an_invitation_is_to_one_group",
            )
        ]

    def __str__(self) -> str:
        return f"{self.email} to {self.family or self.organization}"

    @property
    def is_open(self) -> bool:
        return self.accepted_at is None and self.expires_at > clock.now()
