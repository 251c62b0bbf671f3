"""Declared state: reading a TOML file strictly, and putting what it declares in place.

One module a kind of section; `SECTIONS` says which exist. To add one, write its module and name it here.
"""

import tomllib
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from devportal.console.provisioning.people import apply_person
from devportal.console.provisioning.projects import apply_project
from devportal.console.provisioning.reading import BadFile, Table

__all__ = ["BadFile", "provision"]

NOT_BUILT = ("plans", "families", "organizations")


def provision(file: Path, *, rotate_secrets: bool = False) -> dict[str, Any]:
    """Put in place what `file` declares, in one transaction, and return it in the file's order.

    Secrets appear only where they were made just now. Raises BadFile, naming the key, and then nothing changed.
    """
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadFile(str(error)) from error
    root = Table(document, "")
    for name in NOT_BUILT:
        if name in document:
            raise BadFile(f"{name}: this section is not supported yet")
    people, projects = root.tables("people"), root.tables("projects")
    root.refuse_unknown()
    with transaction.atomic():
        return {
            "issuer": settings.ISSUER,
            "base_url": settings.BASE_URL,
            "people": [apply_person(person, file.parent) for person in people],
            "projects": [apply_project(project, rotate_secrets=rotate_secrets) for project in projects],
        }
