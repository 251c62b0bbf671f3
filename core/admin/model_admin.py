"""ModelAdmin base classes: keyset-paged lists, indexed search, actions with confirmation, and audit events."""

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.exceptions import DisallowedModelAdminToField
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import SEARCH_VAR
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.functional import cached_property
from django.utils.http import urlencode
from unfold.admin import ModelAdmin, TabularInline
from unfold.views import ChangeList

from core.admin import forms
from core.admin.actions import ActionRefused, RowAction
from core.admin.forms import RowsFormSet, StorableFields
from core.admin.theme import may_view
from core.admin.times import replace_times, time_columns
from core.audit import report
from core.database.batches import keyset_page, parse_key
from core.database.postgres.replica import page_from_replica
from core.database.storable import is_key

OLDER, NEWER = "older_than", "newer_than"
# The most rows that an autocomplete field pages through. To reach other rows, people type more of the name.
MAX_ROWS = 2000
# The most rows of an inline that one form may send, new ones included. Django's 2,000 would take seconds to render.
MAX_INLINE_ROWS = 100


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """Paginator of autocomplete fields: without COUNT, and for at most 2,000 rows."""

    template_name = "admin/older_newer.html"  # the theme shows it below the list

    @cached_property
    def count(self) -> int:
        return MAX_ROWS


class ExplainedChangeList(ChangeList):  # type: ignore[misc]  # the library is untyped
    """ChangeList that says what it would hold if it is empty, and shows times in the reader's zone."""

    def __init__(self, request: HttpRequest, model: Any, list_display: Any, links: Any, *args: Any, **kw: Any) -> None:
        times = time_columns(model, list_display, request)
        shown, links = ([times.get(name, name) for name in names] for names in (list_display, links))
        super().__init__(request, model, shown, links, *args, **kw)

    @property
    def is_narrowed(self) -> bool:
        """Whether a search or a filter leaves rows out."""
        return bool(self.query or self.params)

    @property
    def empty_text(self) -> str:
        """The text in place of rows."""
        if self.is_narrowed:
            return "Nothing matches the search and the filters."
        return str(self.model_admin.empty_text)


class KeysetChangeList(ExplainedChangeList):
    """ChangeList with keyset pagination, newest rows first: links to older and newer rows instead of page numbers."""

    _keys: tuple[int | None, int | None] | None = None
    older_than: int | None = None
    newer_than: int | None = None
    parts: Sequence[Q] = ()  # as for keyset_page

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """Remove the key from the parameters first: it is not a filter, and links must not repeat it."""
        if self._keys is None:
            older_than, newer_than = (parse_key(self.params.pop(name, None)) for name in (OLDER, NEWER))
            for name in (OLDER, NEWER):
                self.filter_params.pop(name, None)
            self._keys = older_than, newer_than
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        return rows

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[str]:
        return ["-pk"]

    def get_results(self, request: HttpRequest) -> None:
        rows = self._page()
        self.result_list = rows
        self.result_count = len(rows)
        self.show_full_result_count = False
        self.full_result_count = len(rows)  # the theme shows a count text if the two differ
        self.show_admin_actions = False
        self.can_show_all = self.multi_page = False
        self.paginator = self.model_admin.get_paginator(request, rows, self.list_per_page)

    def _page(self) -> list[Model]:
        assert self._keys is not None
        page = keyset_page(self.queryset, *self._keys, self.list_per_page, self.parts)
        self.older_than, self.newer_than = page.older_than, page.newer_than
        return page.rows

    @property
    def older_url(self) -> str:
        """The URL of the page with older rows; "" if there are none."""
        return "" if self.older_than is None else self.get_query_string({OLDER: self.older_than})

    @property
    def newer_url(self) -> str:
        """The URL of the page with newer rows; "" on the first page."""
        return "" if self.newer_than is None else self.get_query_string({NEWER: self.newer_than})

    @property
    def newest_url(self) -> str:
        return "" if self.newer_than is None else str(self.get_query_string())


class ShortChangeList(ExplainedChangeList):
    """ChangeList of a small table: all rows on one page, in the model's order."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.full_result_count = self.result_count  # the theme shows a count text if the two differ


Row = TypeVar("Row", bound=Model)
Below = TypeVar("Below", bound=Model)


class ServiceModelAdmin(StorableFields, ModelAdmin, admin.ModelAdmin[Row]):  # type: ignore[misc]  # the library is untyped
    """Base of all admin pages.

    Lists don't count rows. They are paged by key, newest first, and are searched only through `search_filter`, which
    uses indexed columns. A query string filters only by `list_filter` and `link_filters`: with other columns, people
    could guess stored values letter by letter, including digests.
    """

    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    list_max_show_all = 0
    list_filter_submit = False
    sortable_by = ()
    actions = None
    ordering: ClassVar[tuple[str, ...]] = ("-pk",)
    # False for small tables, which are shown on one page in the model's order.
    is_long = True
    # What the list would hold, for an empty one.
    empty_text: ClassVar[str] = "There is nothing yet."
    # The help text of the search; without one, the list has no search.
    search_help_text: ClassVar[str | None] = None
    # Foreign keys that links on other pages use to filter this list.
    link_filters: tuple[str, ...] = ()
    # Actions on one row, and actions on the whole list (their row is None).
    row_actions: tuple[RowAction, ...] = ()
    list_actions: tuple[RowAction, ...] = ()
    # Fields whose values are left out of audit events, because the events outlive them.
    private_fields: tuple[str, ...] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # Django needs a non-empty `search_fields` to offer a search; search_filter() does the search.
        cls.search_fields = ("pk",) if cls.search_help_text else ()

    def to_field_allowed(self, request: HttpRequest, to_field: str) -> bool:
        """Return whether a popup may name a row by this field; Django assumes that it is a column."""
        columns = {field.name for field in self.opts.concrete_fields}
        return to_field in columns and bool(super().to_field_allowed(request, to_field))

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Row | None:
        if from_field == "":  # Django checks only names that are not empty, and then fails
            raise DisallowedModelAdminToField("_to_field is empty.")
        # First, so that the response does not tell which ids exist.
        if not self.has_view_permission(request):
            raise PermissionDenied
        found: Row | None = super().get_object(request, object_id, from_field)
        return found

    def search_filter(self, term: str) -> Q:
        """Return the filter of a search for `term`, on one indexed column."""
        raise NotImplementedError

    # --- Lists ---

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        return KeysetChangeList if self.is_long else ShortChangeList

    def get_paginator(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        return BoundedPaginator(*args, **kwargs) if self.is_long else Paginator(*args, **kwargs)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip() if self.search_help_text else ""
        return (queryset.filter(self.search_filter(term)) if term else queryset), False

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        if lookup in {getattr(entry, "parameter_name", None) for entry in self.list_filter}:
            return True
        name, _, rest = lookup.partition("__")
        fields = {*self.link_filters, *(entry for entry in self.list_filter if isinstance(entry, str))}
        if name not in fields or rest not in ("", "exact", "id__exact", "pk__exact"):
            return False
        if self.opts.get_field(name).is_relation and not is_key(value):
            raise IncorrectLookupParameters  # no query needed: no row can have such a key
        return True

    # --- Actions ---

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.action_view)
        return [
            path("do/<slug:action_name>/", view, {"object_id": None}, name=f"{self._name}_list_act"),
            path("<path:object_id>/do/<slug:action_name>/", view, name=f"{self._name}_act"),
            *super().get_urls(),
        ]

    @property
    def _name(self) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}"

    def has_row_action_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether this person may use actions, also on pages without editing."""
        return request.user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}")

    def _may(self, request: HttpRequest, action: RowAction, row: Row | None) -> bool:
        allowed: bool = getattr(self, f"has_{action.permission}_permission")(request, row)
        return allowed

    def available_actions(self, request: HttpRequest, row: Row | None) -> list[dict[str, Any]]:
        """Return the actions available to this person for this row, or for the list, as the theme's buttons."""
        place, actions = ([row.pk], self.row_actions) if row is not None else ([], self.list_actions)
        name = f"admin:{self._name}_act" if row is not None else f"admin:{self._name}_list_act"
        return [
            {
                "name": action.name,
                "title": action.label,
                "icon": action.icon,
                "variant": action.variant,
                "path": reverse(name, args=[*place, action.name]),
            }
            for action in actions
            if self._may(request, action, row) and action.is_open(request, row)
        ]

    def why_not(self, request: HttpRequest, action: RowAction, row: Any) -> str:
        """Return why this person may not take an action on this row, or "". The form and its preview stay closed."""
        return ""

    def action_view(self, request: HttpRequest, object_id: str | None, action_name: str) -> HttpResponseBase:
        """Show the confirmation page of an action (GET), or do the action (POST)."""
        row = None if object_id is None else self.get_object(request, unquote(object_id))
        actions = self.list_actions if object_id is None else self.row_actions
        action = next((action for action in actions if action.name == action_name), None)
        if action is None or (row is None and object_id is not None):
            raise Http404
        if not self._may(request, action, row):
            raise PermissionDenied
        closed = f"“{action.label}” is not possible now; the page shows the current state."
        refusal = self.why_not(request, action, row) if action.is_open(request, row) else closed
        if refusal:
            messages.error(request, refusal)
            return redirect(self._page_of(row))
        form = action.form(request.POST if request.method == "POST" else None, request=request, row=row)
        preview = None
        if request.method == "POST" and form.is_valid() and "edit" not in request.POST:
            if action.preview is None or "confirm" in request.POST:
                return self._do(request, action, row, form)
            preview = action.preview(request, row, form)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": action.label,
            "original": row,
            "action": action,
            "consequence": action.consequence_for(row),
            "form": form,
            "preview": preview,
            "has_preview": action.preview is not None,
            "back_url": self._page_of(row),
        }
        return TemplateResponse(request, action.template, context)

    def _do(self, request: HttpRequest, action: RowAction, row: Row | None, form: Any) -> HttpResponseBase:
        try:
            if action.prepare is not None:
                action.prepare(request, row, form)
            with transaction.atomic():
                done = action.do(request, row, form)
        except ActionRefused as refusal:
            messages.error(request, str(refusal))
            return redirect(self._page_of(row))
        if isinstance(done, HttpResponseBase):
            return done
        messages.success(request, done)
        return redirect(self._page_of(row))

    def _page_of(self, row: Row | None) -> str:
        """Return the URL of the row's page, or of the list if the row was deleted or is None."""
        is_there = row is not None and row.pk and self.model._base_manager.filter(pk=row.pk).exists()
        if is_there:
            assert row is not None
            return reverse(f"admin:{self._name}_change", args=[row.pk])
        return reverse(f"admin:{self._name}_changelist")

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        return super().changelist_view(
            request, {"row_actions": self.available_actions(request, None)} | (extra_context or {})
        )

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        row = context.get("original")
        replace_times(context["adminform"], self.model, request)
        for inline in context["inline_admin_formsets"]:
            replace_times(inline, inline.opts.model, request, in_all=not inline.has_change_permission)
        if row is not None:
            links = [*self._links(request, row), *self._history(request, row)]
            context |= {"row_actions": self.available_actions(request, row), "links": links}
        return super().render_change_form(request, context, *args, **kwargs)

    def _links(self, request: HttpRequest, row: Row) -> list[tuple[str, str]]:
        """Return links to the lists of related rows that this person may view."""
        related = settings.ADMIN_RELATED_LISTS.get(self._name, ())
        return [
            (title, f"{reverse(f'admin:{model}_changelist')}?{self._related_query(key, row)}")
            for title, model, key in related
            if may_view(model)(request)
        ]

    def _related_query(self, key: str, row: Row) -> str:
        return urlencode({key: self.search_term(row)} if key == SEARCH_VAR else {f"{key}__id__exact": row.pk})

    def search_term(self, row: Row) -> str:
        """Return the term that finds what belongs to the row in lists that are searched for it."""
        raise NotImplementedError

    # --- Deletion ---

    def deletion_consequence(self, row: Row) -> str:
        """Return the consequence of deleting the row, for the confirmation page."""
        return "Everything that belongs to it is deleted immediately and permanently."

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        # Django would load and list all related rows; there may be millions.
        return [self.deletion_consequence(row) for row in objs], {}, set(), []

    # --- The audit trail replaces Django's own log of changes ---

    def _history(self, request: HttpRequest, row: Row) -> list[tuple[str, str]]:
        if not may_view(settings.ADMIN_HISTORY_LIST)(request):
            return []
        query = urlencode({"q": self.audit_target(row)})
        return [("History", f"{reverse(f'admin:{settings.ADMIN_HISTORY_LIST}_changelist')}?{query}")]

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Redirect to the audit trail of the row."""
        row = self.get_object(request, unquote(object_id))
        if row is None or not self.has_view_permission(request, row):
            raise Http404
        for _, url in self._history(request, row):
            return redirect(url)
        raise PermissionDenied

    def audit_target(self, row: Any) -> str:
        """Return the `target` of the row's audit events."""
        return f"{self.opts.model_name}:{row.pk}"

    def audit_project(self, row: Any) -> str | None:
        """Return the public id of the row's project, whose members can read its audit events, or None."""
        return None

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        return forms.form_changes(form, formsets, self.private_fields)

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> None:  # type: ignore[override]
        self._report("admin.added", request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> None:  # type: ignore[override]
        if message is not None:
            self._report("admin.changed", request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> None:  # type: ignore[override]
        for row in queryset:
            self._report("admin.deleted", request, row, ({"name": forms.plain_value(row)}, {}))

    def _report(self, action: str, request: HttpRequest, row: Any, fields: Any) -> None:
        assert request.user.pk is not None
        report(forms.change_event(action, self, request.user.pk, row, fields))


class ServiceTabularInline(StorableFields, TabularInline, admin.TabularInline[Below, Row]):  # type: ignore[misc]
    """Base of inlines: rows edited on their parent's page, 20 at a time."""

    formset = RowsFormSet
    per_page = 20  # DATA_UPLOAD_MAX_NUMBER_FIELDS limits the size of a form
    max_num = MAX_INLINE_ROWS

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        return super().get_formset(request, obj, **{"absolute_max": MAX_INLINE_ROWS, **kwargs})

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None:
            # A column heading does not label its fields, and the select is inside a wrapper with links.
            widget: Any = getattr(field.widget, "widget", field.widget)
            widget.attrs.setdefault("aria-label", str(field.label))
        return field


class ReadOnlyModelAdmin(ServiceModelAdmin[Row]):
    """Base of pages without add, change and delete: only actions change these rows."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class LogModelAdmin(ReadOnlyModelAdmin[Row]):
    """Base of pages of logs, whose list may be read from a replica."""

    @page_from_replica
    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        return super().changelist_view(request, extra_context)
