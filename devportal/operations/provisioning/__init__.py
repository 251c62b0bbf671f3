"""`manage.py provision`: parse a TOML file strictly and apply it (docs/provisioning.md).

One module a kind of section: a serializer that declares its table, and a function that applies what was read. To add
one, write its module and name it here, after the modules that it needs.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from rest_framework import serializers

from accounts import files
from core.http.strict_fields import StrictListField, first_error
from core.storage.stored_files import StoreUnavailable
from devportal.operations.provisioning.people import (
    FamilyTable,
    OrganizationTable,
    PersonTable,
    apply_family,
    apply_organization,
    apply_person,
)
from devportal.operations.provisioning.plans import PlanTable, apply_plan
from devportal.operations.provisioning.projects import ProjectTable, apply_project
from devportal.operations.provisioning.toml_tables import InvalidFile, Table, read_toml

__all__ = ["InvalidFile", "provision"]


class FileTable(Table):
    """A whole file, with its sections in the order of their dependencies."""

    plans = StrictListField(child=PlanTable(), default=list)
    people = StrictListField(child=PersonTable(), default=list)
    families = StrictListField(child=FamilyTable(), default=list)
    organizations = StrictListField(child=OrganizationTable(), default=list)
    projects = StrictListField(child=ProjectTable(), default=list)


def provision(file: Path, *, rotate_secrets: bool = False) -> dict[str, Any]:
    """Apply `file` in one transaction; return what it declares, in its order.

    Secrets appear only if they were just created. Raises InvalidFile, naming the key; then nothing is changed, and no
    picture that was stored meanwhile stays.
    """
    document = read_toml(file)
    apply: dict[str, Callable[[dict[str, Any]], Any]] = {
        "plans": apply_plan,
        "people": apply_person,
        "families": apply_family,
        "organizations": apply_organization,
        "projects": partial(apply_project, rotate_secrets=rotate_secrets),
    }
    try:
        with files.discarded_on_failure(), transaction.atomic():
            done = _apply_sections(FileTable(context={"folder": file.parent}), document, apply)
    except serializers.ValidationError as error:
        raise InvalidFile(first_error(error, "the file")) from error
    except StoreUnavailable as error:
        raise InvalidFile("a picture can't be stored: the store of uploaded files does not respond") from error
    return {
        "issuer": settings.ISSUER,
        "base_url": settings.BASE_URL,
        "people": done["people"],
        "projects": done["projects"],
    }


def _apply_sections(
    table: FileTable, document: dict[str, Any], apply: dict[str, Callable[[dict[str, Any]], Any]]
) -> dict[str, list[Any]]:
    """Read each section once those before it are in place, because it may name what they declare.

    Raises the serializers' ValidationError.
    """
    table.refuse_unknown(document)
    done = {}
    for name, section in table.fields.items():
        try:
            declared = section.run_validation(section.get_value(document))
        except serializers.ValidationError as error:
            raise serializers.ValidationError({name: error.detail}) from error
        done[name] = [apply[name](values) for values in declared]
    return done
