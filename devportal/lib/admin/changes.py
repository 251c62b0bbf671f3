"""Audit events for changes made with admin forms: each changed field, before and after."""

from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Model

from devportal.lib.audit import Event

MAX_LENGTH = 500


def change_event(action: str, page: Any, actor: int, row: Any, fields: Any = None) -> Event:
    """Return the event of a change that somebody made in the admin; `fields` is what changes() returned."""
    before, after = fields or ({}, {})
    kind = page.opts.model_name
    project = page.audit_project(row)
    return Event(action, actor, project, page.audit_target(row), {"kind": kind}, before=before, after=after)


def form_changes(
    form: Any, formsets: Any, private: tuple[str, ...] = ()
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the changed fields before and after, of a form and its inline rows; None if nothing changed.

    Of `private` fields the values are left out: only that they changed.
    """
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    _compare(form, form.changed_data, "", before, after)
    for name in set(private) & set(after):
        before[name], after[name] = "", "(changed)"
    for formset in formsets or []:
        kind = formset.model._meta.model_name
        for row in formset.new_objects:
            after[f"{kind} {row.pk}"] = plain_value(row)
        if formset.deleted_objects:  # they have lost their keys
            before[f"{kind} deleted"] = [plain_value(row) for row in formset.deleted_objects]
        for row, names in formset.changed_objects:
            of_row = next(form for form in formset.initial_forms if form.instance == row)
            _compare(of_row, names, f"{kind} {row.pk} ", before, after)
    return (before, after) if before or after else None


def _compare(form: Any, names: list[str], prefix: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    for name in names:
        was, now = form.initial.get(name), form.cleaned_data.get(name)
        if str(was) != str(now):  # a form takes some fields for changed that only look different
            before[prefix + name], after[prefix + name] = plain_value(was), plain_value(now)


def plain_value(value: Any) -> Any:
    """Return a JSON-serializable form of a value: long texts shortened, people by their keys.

    Keys, because the audit trail outlives accounts, and names could not be found in it to remove them.
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Model) and (whose := _people(value)) is not None:
        return " ".join([f"{value._meta.model_name}:{value.pk or '-'}", *whose])
    return str(value)[:MAX_LENGTH]


def _people(row: Model) -> list[str] | None:
    """Return the account keys that a row refers to, None if it refers to no account."""
    person = get_user_model()
    if isinstance(row, person):
        return []
    keys = [field for field in row._meta.concrete_fields if field.remote_field and field.remote_field.model is person]
    return [f"{field.name}:{getattr(row, field.attname)}" for field in keys] if keys else None
