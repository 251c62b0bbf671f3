"""Finding the people that a file names."""

from accounts.models import Account
from devportal.console.provisioning.toml_tables import InvalidFile, Table


def account_named(table: Table, key: str) -> Account:
    """Return the person whose address stands under `key`. Raises InvalidFile."""
    email = table.text(key).lower()
    account = Account.objects.filter(email=email).first()
    if account is None:
        raise InvalidFile(f"{table.at(key)}: nobody has the address {email}")
    return account


def accounts_named(table: Table, key: str) -> list[Account]:
    """Return the people whose addresses are listed under `key`, which may be left out. Raises InvalidFile."""
    emails = [email.lower() for email in table.texts(key)]
    found = {account.email: account for account in Account.objects.filter(email__in=emails)}
    for position, email in enumerate(emails):
        if email not in found:
            raise InvalidFile(f"{table.at(key)}[{position}]: nobody has the address {email}")
    return list(found.values())
