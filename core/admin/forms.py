"""Admin forms: validation errors where Django would raise an exception, and audit events for changes."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django import forms
from django.contrib.admin.widgets import AutocompleteSelect
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Model
from django.forms.fields import InvalidJSONInput
from django.http import HttpRequest
from unfold.forms import PaginationInlineFormSet
from unfold.widgets import UnfoldBooleanWidget

from core.audit import Event
from core.database.storable import check_json, check_moment, is_key

MAX_LENGTH = 500


def change_event(action: str, page: Any, actor: int, row: Any, fields: Any = None) -> Event:
    """Return the audit event of a change in the admin; `fields` is the result of `form_changes`."""
    before, after = fields or ({}, {})
    kind = page.opts.model_name
    project = page.audit_project(row)
    return Event(action, actor, project, page.audit_target(row), {"kind": kind}, before=before, after=after)


def form_changes(
    form: Any, formsets: Any, private: tuple[str, ...] = ()
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the changed fields of a form and its inline rows, before and after; None if nothing changed.

    The values of `private` fields are left out; only the fact that they changed is returned.
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
        if formset.deleted_objects:  # their primary keys are already None
            before[f"{kind} deleted"] = [plain_value(row) for row in formset.deleted_objects]
        for row, names in formset.changed_objects:
            of_row = next(form for form in formset.initial_forms if form.instance == row)
            _compare(of_row, names, f"{kind} {row.pk} ", before, after)
    return (before, after) if before or after else None


def _compare(form: Any, names: list[str], prefix: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    for name in names:
        was, now = form.initial.get(name), form.cleaned_data.get(name)
        if str(was) != str(now):  # a form also reports fields as changed that only have another type
            before[prefix + name], after[prefix + name] = plain_value(was), plain_value(now)


def plain_value(value: Any) -> Any:
    """Return a JSON-serializable form of a value: long texts are shortened, accounts are replaced by their keys.

    The audit trail outlives accounts, and names in it could not be found again to remove them.
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


class StorableJSONField(forms.JSONField):
    """JSONField that rejects JSON which can't be stored: too deep, or with very long numbers.

    `when_empty` returns the value for an empty field and for null (default: None).
    """

    def __init__(self, *args: Any, when_empty: Callable[[], Any] = lambda: None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.when_empty = when_empty

    def clean(self, value: Any) -> Any:
        found = super().clean(value)
        return self.when_empty() if found is None else found

    def to_python(self, value: Any) -> Any:
        try:
            found = super().to_python(value)
        except (RecursionError, ValueError) as error:
            raise ValidationError(self.error_messages["invalid"], code="invalid", params={"value": "…"}) from error
        check_json(found)
        return found

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Return the value to show in the field again: the submitted text if it is not valid JSON."""
        try:
            shown = super().bound_data(data, initial)
            check_json(shown)
            json.dumps(shown)
        except (RecursionError, ValueError, ValidationError):
            return InvalidJSONInput(data)
        return shown


class PointsWidget(UnfoldBooleanWidget):  # type: ignore[misc]  # the library is untyped
    """Checkbox whose value is the codes of the points that the page shows next to it."""

    def __init__(self, codes: Iterable[str]) -> None:
        self.codes = " ".join(codes)
        super().__init__(check_test=lambda value: value == self.codes)

    def format_value(self, value: Any) -> str:
        return self.codes

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        return data.get(name, "")


class PointsField(forms.Field):
    """One tick for several points; `points` maps their codes to sentences. Its value is the list of ticked codes.

    The tick counts only for the points that the page showed. If another point applies by then, the form asks again.
    """

    def __init__(self, points: Mapping[str, str], **kwargs: Any) -> None:
        self.points = points
        super().__init__(widget=PointsWidget(points), **kwargs)

    def to_python(self, value: Any) -> list[str]:
        return str(value or "").split()

    def validate(self, value: Any) -> None:
        super().validate(value)
        if set(self.points) - set(value):
            raise ValidationError("This list has changed since you opened it. Read it again before you tick it.")


class KeySelect(AutocompleteSelect):
    """Autocomplete select that ignores invalid keys; Django's would query the database with any text."""

    def optgroups(self, name: str, value: Any, attr: Any = None) -> Any:
        return super().optgroups(name, [each for each in value if is_key(each)], attr)


class RowsFormSet(PaginationInlineFormSet):  # type: ignore[misc]  # the library is untyped
    """Inline formset with paging; an invalid page number shows the first page."""

    def get_page_num(self) -> int:
        for given in (self.request.GET, self.request.POST):
            page = given.get(self.get_pagination_key(), "")
            if is_key(page) and int(page) > 0:
                return int(page)
        return 1


class StorableFields:
    """Mixin of admin pages and inlines: their forms accept only values that the database can store."""

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if isinstance(db_field, models.JSONField):
            kwargs.setdefault("form_class", StorableJSONField)
            if not db_field.null:
                kwargs.setdefault("when_empty", db_field.get_default)
        field: Any = super().formfield_for_dbfield(db_field, request, **kwargs)  # type: ignore[misc]
        if field is not None and isinstance(db_field, models.DateTimeField):
            field.validators.append(check_moment)
        return field

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        page: Any = self
        if db_field.name in page.get_autocomplete_fields(request):
            kwargs.setdefault("widget", KeySelect(db_field, page.admin_site, using=kwargs.get("using")))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)  # type: ignore[misc]
