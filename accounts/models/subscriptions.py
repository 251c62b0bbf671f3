"""Subscriptions, their history, and the billing events that were applied."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.models.plans import check_addons


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
    """A billing event that was applied, so that one with the same id is not applied again."""

    event_id = models.CharField(max_length=200, unique=True)
    digest = models.CharField(max_length=64)
    subscription = models.ForeignKey(Subscription, models.SET_NULL, null=True, related_name="+")
    received_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.event_id
