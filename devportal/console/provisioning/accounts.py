"""Finding the people that a file names."""

from accounts.models import Account
from devportal.console.provisioning.reading import BadFile, Table


def account_named(table: Table, key: str) -> Account:
    """Return the person whose address stands under `key`. Raises BadFile."""
    email = table.text(key).lower()
    account = Account.objects.filter(email=email).first()
    if account is None:
        raise BadFile(f"{table.at(key)}: nobody has the address {email}")
    return account
