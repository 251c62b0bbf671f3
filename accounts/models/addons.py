"""What a subscription's add-ons are: `{name: {"quantity": n}}`."""

from typing import Any

from django.core.exceptions import ValidationError
from rest_framework import serializers

from devportal.lib.strict_fields import StrictDictField, StrictIntegerField, StrictSerializer, first_error

MAX_ADDONS = 100
MAX_QUANTITY = 2**31 - 1


class AddonSerializer(StrictSerializer):
    quantity = StrictIntegerField(min_value=1, max_value=MAX_QUANTITY)


class AddonsField(StrictDictField):
    """All add-ons of a subscription, by name."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=AddonSerializer(), max_length=MAX_ADDONS, **kwargs)


def check_addons(value: Any) -> None:
    """Refuse what AddonsField refuses. Raises Django's ValidationError, for forms."""
    try:
        AddonsField().run_validation(value)
    except serializers.ValidationError as error:
        raise ValidationError(first_error(error, "add-ons")) from error
