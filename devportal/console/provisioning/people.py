"""`[[people]]`: accounts, known by their address."""

from typing import Any

from allauth.account.models import EmailAddress
from django.core.validators import EmailValidator
from rest_framework.fields import empty

from accounts import pictures
from accounts.models import Account
from accounts.profile import clean_picture
from accounts.roles import ROLES, set_roles
from devportal.console.provisioning.account_lookup import LONGEST_ADDRESS
from devportal.console.provisioning.subscriptions import SubscriptionTable, apply_subscription
from devportal.console.provisioning.toml_tables import Table
from devportal.lib.strict_fields import StrictBooleanField, StrictCharField, StrictChoiceField, StrictListField


class PictureField(StrictCharField):
    """The name of a file beside the one that is read, whose folder is in the context; read as a clean picture."""

    default_error_messages = {"unreadable": "can't be read: {reason}"}

    def run_validation(self, data: Any = empty) -> Any:
        name = super().run_validation(data)
        try:
            with (self.context["folder"] / name).open("rb") as upload:
                return clean_picture(upload)
        except OSError as error:
            self.fail("unreadable", reason=error.strerror)


class PersonTable(Table):
    email = StrictCharField(max_length=LONGEST_ADDRESS, validators=[EmailValidator("is not an address")])
    password = StrictCharField(max_length=4096, allow_blank=True, default=None)
    given_name = StrictCharField(max_length=100, allow_blank=True, required=False)
    family_name = StrictCharField(max_length=100, allow_blank=True, required=False)
    picture = PictureField(max_length=254, required=False)
    email_verified = StrictBooleanField(required=False)
    roles = StrictListField(child=StrictChoiceField(ROLES), unique=True, required=False)
    subscription = SubscriptionTable(required=False)

    def validate_email(self, email: str) -> str:
        return email.lower()


def apply_person(values: dict[str, Any]) -> dict[str, Any]:
    """Create or update one person. A password counts at creation only; a key left out changes nothing."""
    email, password = values["email"], values["password"]
    # Locked: all columns are written, and somebody may close their account at this moment.
    account = Account.objects.select_for_update(no_key=True).filter(email=email).first()
    if account is None:
        account = Account.objects.create_user(email, password)
    for name in ("given_name", "family_name"):
        if name in values:
            setattr(account, name, values[name])
    if "picture" in values and not pictures.has_picture(account, values["picture"]):
        pictures.replace_picture(account, pictures.store_picture(values["picture"]), account.picture.name)
    account.save()
    if "email_verified" in values or not EmailAddress.objects.filter(user=account).exists():
        verified = values.get("email_verified", True)
        EmailAddress.objects.update_or_create(
            user=account, email=email, defaults={"verified": verified, "primary": True}
        )
    if "roles" in values:
        set_roles(account, values["roles"])
    apply_subscription(values.get("subscription"), account)
    return {"email": email, "password": password}
