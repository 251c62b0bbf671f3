"""`[[people]]`: accounts, known by their address."""

from pathlib import Path
from typing import Any

from allauth.account.models import EmailAddress
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from accounts.models import Account
from accounts.profile import clean_picture
from accounts.roles import ROLES, set_roles
from devportal.console.provisioning.subscriptions import apply_subscription, read_subscription
from devportal.console.provisioning.toml_tables import InvalidFile, Table


def apply_person(table: Table, folder: Path) -> dict[str, Any]:
    """Create or update one person. A password counts at creation only; a key left out changes nothing."""
    email = table.text("email").lower()
    try:
        validate_email(email)
    except ValidationError as error:
        raise InvalidFile(f"{table.at('email')}: is not an address") from error
    password: str | None = table.text("password", None, longest=4096)
    given_name = table.text("given_name", "", longest=100)
    family_name: str | None = table.text("family_name", None, longest=100)
    picture: str | None = table.text("picture", None)
    verified = table.flag("email_verified", True)
    roles = table.texts("roles", _known_role)
    subscription = read_subscription(table)
    table.refuse_unknown()

    account = Account.objects.filter(email=email).first()
    if account is None:
        account = Account.objects.create_user(email, password)
    for name, value in (("given_name", given_name), ("family_name", family_name)):
        if name in table:
            setattr(account, name, value)
    if picture is not None:
        _set_picture(account, table, folder / picture)
    account.save()
    if "email_verified" in table or not EmailAddress.objects.filter(user=account).exists():
        EmailAddress.objects.update_or_create(
            user=account, email=email, defaults={"verified": verified, "primary": True}
        )
    if "roles" in table:
        set_roles(account, roles)
    apply_subscription(subscription, account)
    return {"email": email, "password": password}


def _known_role(role: str) -> None:
    if role not in ROLES:
        raise ValidationError(f"must be one of {', '.join(ROLES)}")


def _set_picture(account: Account, table: Table, file: Path) -> None:
    try:
        with file.open("rb") as upload:
            account.picture = clean_picture(upload)
    except OSError as error:
        raise InvalidFile(f"{table.at('picture')}: can't be read: {error.strerror}") from error
    except ValidationError as error:
        raise InvalidFile(f"{table.at('picture')}: {' '.join(error.messages)}") from error
