"""Plans, features and entitlements, and the add-ons of subscriptions: `{name: {"quantity": n}}`."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import Q
from rest_framework import serializers

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
        "shown to everybody", default=True, help_text="among what else there is, on people's plan page"
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
