"""Declared state: reading a TOML file strictly, and putting what it declares in place.

One module a kind of section. To add one, write its module and name it here, after those that it needs.
"""

import tomllib
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from devportal.console.provisioning.families import apply_family
from devportal.console.provisioning.organizations import apply_organization
from devportal.console.provisioning.people import apply_person
from devportal.console.provisioning.plans import apply_plan
from devportal.console.provisioning.projects import apply_project
from devportal.console.provisioning.toml_tables import InvalidFile, Table

__all__ = ["InvalidFile", "provision"]


def provision(file: Path, *, rotate_secrets: bool = False) -> dict[str, Any]:
    """Put in place what `file` declares, in one transaction, and return it in the file's order.

    Secrets appear only where they were made just now. Raises InvalidFile, naming the key, and then nothing changed.
    """
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidFile(str(error)) from error
    root = Table(document, "")
    plans, people, families, organizations, projects = (
        root.tables(name) for name in ("plans", "people", "families", "organizations", "projects")
    )
    root.refuse_unknown()
    with transaction.atomic():
        for plan in plans:
            apply_plan(plan)
        declared = [apply_person(person, file.parent) for person in people]
        for family in families:
            apply_family(family)
        for organization in organizations:
            apply_organization(organization)
        return {
            "issuer": settings.ISSUER,
            "base_url": settings.BASE_URL,
            "people": declared,
            "projects": [apply_project(project, rotate_secrets=rotate_secrets) for project in projects],
        }
