"""People that a file names by their address."""

from typing import Any

from rest_framework import serializers
from rest_framework.fields import empty

from accounts.models import Account
from devportal.lib.strict_fields import StrictCharField, StrictListField

LONGEST_ADDRESS = 254
_UNKNOWN = "nobody has the address {email}"


class AccountField(StrictCharField):
    """The address of a person who exists; read as the person."""

    default_error_messages = {"unknown": _UNKNOWN}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=LONGEST_ADDRESS, **kwargs)

    def run_validation(self, data: Any = empty) -> Any:
        email = super().run_validation(data).lower()
        account = Account.objects.filter(email=email).first()
        if account is None:
            self.fail("unknown", email=email)
        return account


class AccountsField(StrictListField):
    """Addresses of people who exist; read as the people, in one query."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=StrictCharField(max_length=LONGEST_ADDRESS), unique=True, **kwargs)

    def to_internal_value(self, data: Any) -> list[Any]:
        emails = [email.lower() for email in super().to_internal_value(data)]
        found = {account.email: account for account in Account.objects.filter(email__in=emails)}
        for position, email in enumerate(emails):
            if email not in found:
                unknown: Any = {position: _UNKNOWN.format(email=email)}
                raise serializers.ValidationError(unknown)
        return list(found.values())
