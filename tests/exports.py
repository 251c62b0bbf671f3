"""Create and read a person's data export."""

import io
import json
from typing import Any
from zipfile import ZipFile

from accounts.data_export import archive
from accounts.models import Account


def unzipped(zipped: bytes) -> dict[str, bytes]:
    """Return the files of a ZIP by name."""
    with ZipFile(io.BytesIO(zipped)) as opened:
        assert opened.testzip() is None
        return {name: opened.read(name) for name in opened.namelist()}


def files_of(account: Account) -> dict[str, bytes]:
    """Create the account's export, and return its files by name."""
    written = io.BytesIO()
    archive.write_archive(account, written)
    return unzipped(written.getvalue())


def exported(account: Account) -> dict[str, Any]:
    """Create the account's export, and return its JSON document."""
    document: dict[str, Any] = json.loads(files_of(account)[archive.DOCUMENT])
    return document
