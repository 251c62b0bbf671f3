"""Plans, features and entitlements, subscriptions with add-ons, and groups that share a plan."""

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import Q
from rest_framework import serializers

from core import clock
from core.database.storable import is_storable
from core.http.strict_fields import StrictDictField, StrictIntegerField, StrictSerializer, first_error

MAX_ADDONS = 100
MAX_QUANTITY = 2**31 - 1


class AddonSerializer(StrictSerializer):
    quantity = StrictIntegerField(min_value=1, max_value=MAX_QUANTITY)


class AddonsField(StrictDictField):
    """All add-ons of a subscription, by name."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=AddonSerializer(), max_length=MAX_ADDONS, **kwargs)


def check_addons(value: Any) -> None:
    """Validate add-ons with AddonsField. Raises Django's ValidationError, for forms."""
    try:
        AddonsField().run_validation(value)
    except serializers.ValidationError as error:
        raise ValidationError(first_error(error, "add-ons")) from error


CACHE_SECONDS = 300
MAX_CACHE_SECONDS = 24 * 3600


def validate_apps(value: Any) -> None:
    """Raise ValidationError unless `value` is a list of different slugs."""
    if not isinstance(value, list) or not all(isinstance(slug, str) and slug and is_storable(slug) for slug in value):
        raise ValidationError("must be a list of texts")
    if len(set(value)) != len(value):
        raise ValidationError("names an app twice")


class Plan(models.Model):
    """A plan. `free` is for people without a subscription; a row with that id overrides the built-in one."""

    plan_id = models.SlugField("id", max_length=64, unique=True)
    display_name = models.CharField(max_length=100)
    # If a person has several plans, the one with the highest rank counts.
    rank = models.IntegerField(default=0)
    apps = models.JSONField(default=list, blank=True, validators=[validate_apps])
    cache_max_age = models.PositiveIntegerField(
        default=CACHE_SECONDS, validators=[MaxValueValidator(MAX_CACHE_SECONDS)], help_text="seconds"
    )
    is_listed = models.BooleanField(
        "shown to everyone",
        default=True,
        help_text="Other people see this plan under “Other plans” on their plan page.",
    )

    def __str__(self) -> str:
        return self.display_name


class Feature(models.Model):
    """A feature that plans may grant; every response lists all features."""

    name = models.CharField(max_length=100, unique=True)
    # The name that people see; if it is empty, it is derived from `name`.
    display_name = models.CharField(max_length=100, blank=True, default="")
    # The default unit of this feature's limits.
    unit = models.CharField(max_length=50, null=True, blank=True)  # noqa: DJ001  (null in the response)

    def __str__(self) -> str:
        return self.name


class PlanEntitlement(models.Model):
    """The entitlement of one plan to one feature. A feature without a row is denied."""

    class Status(models.TextChoices):
        GRANTED = "granted"
        GRANTED_WITH_LIMIT = "granted_with_limit"
        DENIED = "denied"

    plan = models.ForeignKey(Plan, models.CASCADE, related_name="entitlements")
    feature = models.ForeignKey(Feature, models.CASCADE, related_name="entitlements")
    status = models.CharField(max_length=20, choices=Status.choices)
    limit = models.FloatField(null=True, blank=True)
    unit = models.CharField(max_length=50, null=True, blank=True)  # noqa: DJ001  (null in the answer)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["plan", "feature"], name="one_entitlement_per_plan_and_feature"),
            models.CheckConstraint(
                condition=~Q(status="granted_with_limit") | Q(limit__isnull=False), name="a_limit_has_a_number"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.feature}: {self.status}"

    def clean(self) -> None:
        """Use the feature's unit if a limit has none."""
        if self.limit is not None and not self.unit and self.feature_id:
            self.unit = self.feature.unit


class Catalogue(models.Model):
    """The version of the catalogue, in one row: a new random value whenever a plan, feature or entitlement changes.

    It is random instead of a counter, so that the version of a transaction that was rolled back never comes again.
    """

    version = models.CharField(max_length=32)


class State(models.TextChoices):
    """The states of docs/plans.md#states. Only accounts/plans/lifecycle.py moves a subscription between them."""

    TRIAL = "Trial", "Trial"
    ACTIVE = "Active", "Active"
    PAST_DUE = "PastDue", "Past due"
    CANCELLED_PERIOD_ACTIVE = "CancelledPeriodActive", "Cancelled, paid until the period's end"
    CANCELLED = "Cancelled", "Cancelled"
    EXPIRED = "Expired", "Expired"
    FREE = "free", "Free"


# Fields of Subscription: its holder (exactly one is set), and the ends of its states.
HOLDERS = ("account", "family", "organization")
DATES = ("trial_end", "period_end", "read_only_until")


def _exactly_one() -> Q:
    condition = Q()
    for holder in HOLDERS:
        condition |= Q(**{f"{other}__isnull": other != holder for other in HOLDERS})
    return condition


class Subscription(models.Model):
    """A plan that one holder has: a person, a family or an organization.

    `state` is the last stored one. Some states end at a date: accounts.plans.lifecycle.effective_state() returns the
    current state.
    """

    account = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="subscription"
    )
    family = models.OneToOneField("accounts.Family", models.CASCADE, null=True, blank=True, related_name="subscription")
    organization = models.OneToOneField(
        "accounts.Organization", models.CASCADE, null=True, blank=True, related_name="subscription"
    )
    plan = models.ForeignKey("accounts.Plan", models.PROTECT, related_name="subscriptions")
    state = models.CharField(max_length=21, choices=State.choices)
    trial_end = models.DateTimeField(null=True, blank=True)
    period_end = models.DateTimeField(null=True, blank=True)
    read_only_until = models.DateTimeField(null=True, blank=True)
    addons = models.JSONField(default=dict, blank=True, validators=[check_addons])
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=_exactly_one(), name="a_subscription_has_one_holder"),
            models.CheckConstraint(condition=Q(state__in=State.values), name="a_subscription_has_a_known_state"),
        ]
        # Used by the periodic task.
        indexes = [models.Index(fields=["state", name], name=f"subscription_{name}") for name in DATES]

    def __str__(self) -> str:
        return f"{self.plan} of {self.holder}"

    @property
    def holder(self) -> Any:
        """The person, family or organization that holds the subscription."""
        return self.account or self.family or self.organization


class SubscriptionEvent(models.Model):
    """One state transition of a subscription, and its actor. Rows are never changed."""

    subscription = models.ForeignKey(Subscription, models.CASCADE, related_name="events")
    # "" for a new subscription; the same as the new state if only dates, plan or add-ons changed.
    from_state = models.CharField(max_length=21, blank=True)
    to_state = models.CharField(max_length=21)
    at = models.DateTimeField()
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    by = models.CharField(max_length=100)
    note = models.TextField(blank=True)

    class Meta:
        ordering = ("at", "pk")

    def __str__(self) -> str:
        return f"{self.from_state or 'nothing'} → {self.to_state}"


class BillingEvent(models.Model):
    """A billing event that was applied or is older than one, so that one with the same id is not applied again."""

    event_id = models.CharField(max_length=200, unique=True)
    digest = models.CharField(max_length=64)
    subscription = models.ForeignKey(Subscription, models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(default=clock.now)  # when the change happened in the billing system
    received_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.event_id


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
    mailed_at = models.DateTimeField()  # a group sends at most one email an hour to an email address
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
