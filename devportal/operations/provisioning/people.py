"""`[[people]]`, `[[families]]` and `[[organizations]]`, each with its `subscription`."""

from typing import Any

from allauth.account.models import EmailAddress
from django.core.validators import validate_slug
from rest_framework import serializers
from rest_framework.fields import empty

from accounts.models import Account, Feature, Organization, Plan, PlanEntitlement
from accounts.models.plans import MAX_CACHE_SECONDS, AddonsField, State
from accounts.plans import lifecycle, members
from accounts.plans.lifecycle import Actor, Holder
from accounts.profile import files
from accounts.profile.claims import clean_picture
from accounts.roles import ROLES, set_roles
from accounts.sessions.browser_sessions import end_all_sessions
from core.email_addresses import MAX_LENGTH, address_to_find, stored_address
from core.http.strict_fields import (
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictDictField,
    StrictIntegerField,
    StrictListField,
    StrictNumberField,
)
from core.invisible import validate_visible
from devportal.operations.provisioning.toml_tables import NameField, Table

_UNKNOWN = "nobody has the email address {email}"


class AccountField(StrictCharField):
    """The email address of an existing person, deserialized to the person."""

    default_error_messages = {"unknown": _UNKNOWN}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=MAX_LENGTH, **kwargs)

    def run_validation(self, data: Any = empty) -> Any:
        email = address_to_find(super().run_validation(data))
        account = Account.objects.filter(email=email).first()
        if account is None:
            self.fail("unknown", email=email)
        return account


class AccountsField(StrictListField):
    """The email addresses of existing people, deserialized to the people with one query."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=StrictCharField(max_length=MAX_LENGTH), unique=True, **kwargs)

    def to_internal_value(self, data: Any) -> list[Any]:
        emails = [address_to_find(email) for email in super().to_internal_value(data)]
        found = {account.email: account for account in Account.objects.filter(email__in=emails)}
        for position, email in enumerate(emails):
            if email not in found:
                unknown: Any = {position: _UNKNOWN.format(email=email)}
                raise serializers.ValidationError(unknown)
        return list(found.values())


class PlanField(StrictCharField):
    """The id of an existing plan, deserialized to the plan."""

    default_error_messages = {"unknown": "there is no plan {plan_id}"}

    def run_validation(self, data: Any = empty) -> Any:
        plan_id = super().run_validation(data)
        plan = Plan.objects.filter(plan_id=plan_id).first()
        if plan is None:
            self.fail("unknown", plan_id=plan_id)
        return plan


class SubscriptionTable(Table):
    plan = PlanField(max_length=64)
    state = StrictChoiceField(State.values)
    trial_end = StrictDateTimeField(required=False)
    period_end = StrictDateTimeField(required=False)
    read_only_until = StrictDateTimeField(required=False)
    addons = AddonsField(required=False)


def apply_subscription(values: dict[str, Any] | None, holder: Holder) -> None:
    """Set the subscription of `holder`. Without a table, leave it unchanged."""
    if values is not None:
        details = {name: value for name, value in values.items() if name != "state"}
        lifecycle.declare_subscription(holder, values["state"], Actor("provision"), **details)


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
    email = StrictCharField(max_length=MAX_LENGTH)
    password = StrictCharField(max_length=4096, allow_blank=True, default=None)
    given_name = StrictCharField(max_length=100, allow_blank=True, required=False, validators=[validate_visible])
    family_name = StrictCharField(max_length=100, allow_blank=True, required=False, validators=[validate_visible])
    picture = PictureField(max_length=254, required=False)
    email_verified = StrictBooleanField(required=False)
    roles = StrictListField(child=StrictChoiceField(ROLES), unique=True, required=False)
    subscription = SubscriptionTable(required=False)

    def validate_email(self, email: str) -> str:
        return stored_address(email)


def apply_person(values: dict[str, Any]) -> dict[str, Any]:
    """Create or update one person. A missing key changes nothing.

    The password is used only at creation, and if the file verifies an account that nobody has verified or used.
    """
    email, password = values["email"], values["password"]
    # Locked, because all columns are written and the account may be closed at the same time.
    account = Account.objects.select_for_update(no_key=True).filter(email=email).first()
    if account is None:
        account = Account.objects.create_user(email, password or None)
    elif values.get("email_verified") and not account.email_verified and account.last_login is None:
        _forget_sign_up(account, password or None)
    for name in ("given_name", "family_name"):
        if name in values:
            setattr(account, name, values[name])
    if "picture" in values and not files.has_picture(account, values["picture"]):
        files.replace_picture(account, files.store_picture(values["picture"]))
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


def _forget_sign_up(account: Account, password: str | None) -> None:
    """Remove what strangers may have entered who signed up with an email address that they can't verify.

    Otherwise they could sign in with their own password once the operator declares the email address verified.
    """
    account.given_name, account.family_name = "", None
    account.set_password(password)
    end_all_sessions(account)


class FamilyTable(Table):
    owner = AccountField()
    members = AccountsField(required=False)
    subscription = SubscriptionTable(required=False)


def apply_family(values: dict[str, Any]) -> None:
    """Create or update one family. Its members become the named people and its owner."""
    family = members.get_or_create_family(values["owner"])
    if "members" in values:
        members.set_members(family, values["members"])
    apply_subscription(values.get("subscription"), family)


class OrganizationTable(Table):
    name = NameField()
    members = AccountsField(required=False)
    subscription = SubscriptionTable(required=False)


def apply_organization(values: dict[str, Any]) -> None:
    """Create or update one organization. Its members become the named people."""
    organization, _ = Organization.objects.get_or_create(name=values["name"])
    if "members" in values:
        members.set_members(organization, values["members"])
    apply_subscription(values.get("subscription"), organization)


MAX_RANK = 2**31 - 1
MAX_LIMIT = 2**53  # larger integers lose digits in JSON parsers that use floating-point numbers


class EntitlementTable(Table):
    status = StrictChoiceField(PlanEntitlement.Status.values)
    limit = StrictNumberField(min_value=-MAX_LIMIT, max_value=MAX_LIMIT, default=None)
    unit = StrictCharField(max_length=50, allow_blank=True, default=None)
    display_name = NameField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["limit"] is None and attrs["status"] == PlanEntitlement.Status.GRANTED_WITH_LIMIT:
            raise serializers.ValidationError({"limit": "is missing"})
        return attrs | {"unit": attrs["unit"] or None}


class PlanTable(Table):
    id = StrictCharField(max_length=64, validators=[validate_slug])
    display_name = NameField()
    rank = StrictIntegerField(min_value=-MAX_RANK, max_value=MAX_RANK, required=False)
    apps = StrictListField(
        child=StrictCharField(max_length=64, validators=[validate_slug]), unique=True, required=False
    )
    listed = StrictBooleanField(source="is_listed", required=False)
    cache_max_age = StrictIntegerField(min_value=0, max_value=MAX_CACHE_SECONDS, required=False)
    entitlements = StrictDictField(key=StrictCharField(max_length=100), child=EntitlementTable(), required=False)


def apply_plan(values: dict[str, Any]) -> None:
    """Create or update one plan. A missing key changes nothing. Declared features replace the plan's former ones."""
    columns = {name: value for name, value in values.items() if name not in ("id", "entitlements")}
    plan, _ = Plan.objects.update_or_create(plan_id=values["id"], defaults=columns)
    if "entitlements" in values:
        granted = values["entitlements"]
        plan.entitlements.exclude(feature__name__in=granted).delete()
        for name, entitlement in granted.items():
            called = {"display_name": entitlement.pop("display_name")} if "display_name" in entitlement else {}
            feature, _ = Feature.objects.update_or_create(
                name=name, defaults=called, create_defaults={"unit": entitlement["unit"], **called}
            )
            PlanEntitlement.objects.update_or_create(plan=plan, feature=feature, defaults=entitlement)
