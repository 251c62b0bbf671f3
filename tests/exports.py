"""Reads a person's export as its owner gets it."""

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
    """Return the files of the account's export, made now."""
    written = io.BytesIO()
    archive.write_archive(account, written)
    return unzipped(written.getvalue())


def exported(account: Account) -> dict[str, Any]:
    """Return the JSON document of the account's export, made now."""
    document: dict[str, Any] = json.loads(files_of(account)[archive.DOCUMENT])
    return document
