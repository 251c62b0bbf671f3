"""Admin form fields with validation errors where Django's would raise: JSON, datetimes and keys out of range."""

import json
from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib.admin.widgets import AutocompleteSelect
from django.core.exceptions import ValidationError
from django.db import models
from django.forms.fields import InvalidJSONInput
from django.http import HttpRequest
from unfold.forms import PaginationInlineFormSet

from devportal.lib.storable import check_json, check_moment, is_key


class StorableJSONField(forms.JSONField):
    """JSONField that rejects JSON which can't be stored: too deep, or with very long numbers.

    `when_empty` is a factory of the value for an empty field and for null (default: None).
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
        """Return the value to show again: the typed text if it is not valid JSON."""
        try:
            shown = super().bound_data(data, initial)
            check_json(shown)
            json.dumps(shown)
        except (RecursionError, ValueError, ValidationError):
            return InvalidJSONInput(data)
        return shown


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
