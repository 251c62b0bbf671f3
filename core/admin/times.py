"""Times in the admin, as on other pages: in the reader's zone, with UTC as the tooltip."""

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib import admin
from django.core.exceptions import FieldDoesNotExist
from django.db.models import DateTimeField, Model
from django.http import HttpRequest

from core.http.template_tags import moment_in


def _column(field: Any, request: HttpRequest) -> Callable[[Model], str]:
    @admin.display(description=field.verbose_name)
    def column(row: Model) -> str:
        at = getattr(row, field.attname)
        return moment_in(request, at) if at else "-"

    column.__name__ = field.name  # of the CSS class, and of the field's help text
    return column


def time_columns(model: type[Model], names: Iterable[Any], request: HttpRequest) -> dict[str, Callable[[Model], str]]:
    """Return what Django's admin shows in place of each of the names that is a field with a time."""
    found = {}
    for name in names:
        try:
            field = model._meta.get_field(name)
        except FieldDoesNotExist:
            continue
        if isinstance(field, DateTimeField):
            found[name] = _column(field, request)
    return found


def replace_times(part: Any, model: type[Model], request: HttpRequest, *, in_all: bool = False) -> None:
    """Show the read-only times of a form or of the forms of an inline. With `in_all`, all fields are read-only."""
    fields = [name for _, options in part.fieldsets for name in options["fields"]]
    columns = time_columns(model, fields if in_all else part.readonly_fields, request)
    part.readonly_fields = [columns.get(name, name) for name in part.readonly_fields]
    part.fieldsets = [
        (title, {**options, "fields": [columns.get(name, name) for name in options["fields"]]})
        for title, options in part.fieldsets
    ]
