"""`manage.py provision`: parse a TOML file strictly and apply it (docs/provisioning.md).

Each kind of section has a serializer for its table, and a function that applies the parsed table. To add a kind, write
both in a module, and add them here after the sections that the new one refers to.
"""

import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from rest_framework import serializers

from accounts.profile import files
from core.http.strict_fields import StrictListField, every_error
from core.storage.stored_files import StoreUnavailable
from devportal.operations.provisioning.apis import ApisField, apply_api
from devportal.operations.provisioning.people import (
    FamilyTable,
    OrganizationTable,
    PersonTable,
    PlanTable,
    apply_family,
    apply_organization,
    apply_person,
    apply_plan,
)
from devportal.operations.provisioning.projects import ProjectTable, apply_project, lock_projects
from devportal.operations.provisioning.toml_tables import InvalidFile, Table, TablesField, apply_rows, read_toml
from oidc.apis.registry import registry_in_transaction

__all__ = ["InvalidFile", "provision"]


class FileTable(Table):
    """A whole file, with its sections in the order of their dependencies."""

    apis = ApisField()
    plans = TablesField("id", child=PlanTable())
    people = TablesField("email", child=PersonTable())
    families = TablesField("owner", child=FamilyTable())
    organizations = TablesField("name", child=OrganizationTable())
    projects = TablesField("owner", "name", child=ProjectTable())


class _DryRun(Exception):
    """Ends the transaction of a dry run."""


def provision(file: Path, *, rotate_secrets: bool = False, dry_run: bool = False) -> dict[str, Any]:
    """Apply `file` in one transaction; return what it declares, in its order.

    Secrets appear only if they were just created. With `dry_run` everything is checked and nothing is changed. Raises
    InvalidFile with every error of the file, each naming its key; then nothing is changed, and pictures that were
    stored meanwhile are deleted.
    """
    document = read_toml(file)
    apply: dict[str, Callable[[dict[str, Any]], Any]] = {
        "apis": partial(apply_api, rotate_secrets=rotate_secrets),
        "plans": apply_plan,
        "people": apply_person,
        "families": apply_family,
        "organizations": apply_organization,
        "projects": partial(apply_project, applied=set(), rotate_secrets=rotate_secrets),
    }
    try:
        with (
            contextlib.suppress(_DryRun),
            files.discarded_on_failure(),
            registry_in_transaction(),
            transaction.atomic(),
        ):
            _wait_for_others()
            done = _apply_sections(FileTable(context={"folder": file.parent}), document, apply)
            if dry_run:
                raise _DryRun
    except serializers.ValidationError as error:
        raise InvalidFile(*every_error(error, "the file")) from error
    except StoreUnavailable as error:
        raise InvalidFile("a picture can't be stored: the store of uploaded files does not respond") from error
    return {
        "issuer": settings.ISSUER,
        "base_url": settings.BASE_URL,
        "people": done["people"],
        "projects": done["projects"],
        "apis": done["apis"],
    }


def _wait_for_others() -> None:
    """Wait until no other process applies a file, until the end of the transaction.

    Otherwise two of them would each create a project or a client that neither of them has found. On SQLite every
    transaction waits.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('manage.py provision'))")


def _apply_sections(
    table: FileTable, document: dict[str, Any], apply: dict[str, Callable[[dict[str, Any]], Any]]
) -> dict[str, list[Any]]:
    """Parse and apply the sections one after the other, because a section may refer to what earlier ones declare.

    Raises the serializers' ValidationError with the errors of all sections.
    """
    table.refuse_unknown(document)
    done: dict[str, list[Any]] = {}
    errors: dict[str, Any] = {}
    for name, section in table.fields.items():
        if name == "people":
            lock_projects(document)
        assert isinstance(section, StrictListField)
        try:
            done[name] = apply_rows(section.run_validation(section.get_value(document)), apply[name])
        except serializers.ValidationError as error:
            errors[name] = error.detail
            _apply_valid_rows(section, document[name], apply[name])
    if errors:
        raise serializers.ValidationError(errors)
    return done


def _apply_valid_rows(section: StrictListField, declared: Any, apply: Callable[[dict[str, Any]], Any]) -> None:
    """Apply the valid rows, so that later sections find what they refer to; the transaction will be rolled back."""
    for row in declared if isinstance(declared, list) else ():
        with contextlib.suppress(serializers.ValidationError):
            apply(section.child.run_validation(row))
