"""The list of the audit trail: its filters, and the names of the projects, clients and keys that events are about."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import Any

from django import forms
from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminEmailInputWidget, UnfoldAdminTextInputWidget

from accounts.models import Account
from api.models import ApiKey
from core.admin.model_admin import KeysetChangeList
from core.database.storable import FIRST_MOMENT, LAST_MOMENT
from core.email_addresses import EmailAddressField
from devportal.console.activity import SENTENCES
from devportal.console.models import AuditEvent
from oidc.models import Client, Project
from oidc.models.projects import PROJECT_PREFIX

# Actions of staff that the filter suggests beside those of developers.
STAFF_ACTIONS = (
    "account.activated", "account.deactivated", "account.deleted", "account.exported", "account.reset_sent",
    "account.roles_changed", "account.signed_out", "admin.added", "admin.changed", "admin.deleted", "api.changed",
    "api.declared", "api.deleted", "api.turned_off", "api.turned_on", "api_credential.created",
    "api_credential.leaked_ended", "api_credential.leaked_flagged", "api_credential.revoked",
    "api_credential.rotated", "mail.tried_again",
    "signing_key.activated", "signing_key.published", "signing_key.retired", "signing_key.withdrawn",
)  # fmt: skip
# Events are stored in the order of their ids, except in transactions that overlap. At most this many are out of order.
_OVERLAP = 1000


def _day(label: str) -> forms.DateField:
    between = [MinValueValidator(FIRST_MOMENT.date()), MaxValueValidator(LAST_MOMENT.date())]
    widget = UnfoldAdminTextInputWidget({"type": "date"})
    return forms.DateField(required=False, label=label, widget=widget, validators=between)


class AuditFilters(forms.Form):
    """The filters of the list. Days are in UTC."""

    action = forms.CharField(
        required=False, max_length=60, widget=UnfoldAdminTextInputWidget({"list": "audit-actions"})
    )
    since = _day("From (UTC)")
    until = _day("To (UTC)")
    person = EmailAddressField(required=False, max_length=254, widget=UnfoldAdminEmailInputWidget)
    about = forms.CharField(required=False, max_length=255, label="Object", widget=UnfoldAdminTextInputWidget)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        since, until = cleaned.get("since"), cleaned.get("until")
        if since and until and until < since:
            self.add_error("until", "Choose a day that is not before the first one.")
        return cleaned

    def condition(self) -> Q:
        """Return the condition of the valid filters."""
        given = {name: value for name, value in self.cleaned_data.items() if value}
        found = Q()
        if "action" in given:
            found &= Q(action=given["action"])
        if "since" in given:
            found &= Q(at__gte=_start_of(given["since"]))
        if "until" in given:
            found &= _before(_start_of(given["until"] + timedelta(days=1)))
        if "person" in given:
            found &= reduce(or_, _by_person(given["person"]))
        if "about" in given:
            found &= reduce(or_, _about(given["about"].strip()))
        return found

    def parts(self) -> list[Q]:
        """Return conditions as `search_parts` does, for the filter by person or by object; [] without one."""
        person, about = (self.cleaned_data.get(name, "") for name in ("person", "about"))
        return _by_person(person) if person else _about(about.strip()) if about else []


def search_parts(term: str) -> list[Q]:
    """Return conditions, each with an index in the order of the list; an event that meets one of them is found.

    The term is a whole email address, the id of an object, or a request id.
    """
    return _by_person(term) if "@" in term else [*_about(term.strip()), Q(request_id=term.strip())]


def _by_person(email: str) -> list[Q]:
    """Return the conditions for events of a person, or about them."""
    # Look up the key first: a condition across two tables would read the whole trail.
    people = list(Account.objects.filter(email=email).values_list("pk", flat=True))
    return [*(condition for key in people for condition in (Q(actor=key), Q(person=key))), Q(target=email)]


def _about(public_id: str) -> list[Q]:
    """Return the conditions for events about this object: a project with all that belongs to it, or a client or key.

    For an account, also return what the person did.
    """
    if person := re.fullmatch(r"account:([0-9]{1,18})", public_id):
        return [Q(target=public_id), Q(actor=int(person[1])), Q(person=int(person[1]))]
    return [Q(project=public_id) if public_id.startswith(PROJECT_PREFIX) else Q(target=public_id)]


def _start_of(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _before(moment: datetime) -> Q:
    """Return the condition for events before a time. Their ids are bounded too, so that newer rows are not read."""
    last = AuditEvent.objects.filter(at__lt=moment).order_by("-at").values_list("pk", flat=True).first() or 0
    return Q(at__lt=moment, pk__lte=last + _OVERLAP)


class AuditChangeList(KeysetChangeList):
    """The audit trail, narrowed by AuditFilters, with a name beside each id."""

    filters: AuditFilters | None = None
    # The filters as they were sent. Django builds links before it asks for rows.
    given: Mapping[str, str] = MappingProxyType({})

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[AuditEvent]:
        if self.filters is None:
            names = list(AuditFilters.base_fields)
            self.given = {name: self.params.pop(name) for name in names if name in self.params}
            for name in names:
                self.filter_params.pop(name, None)
            self.filters = AuditFilters(self.given)
            self.filters.is_valid()
            self.parts = search_parts(self.query) if self.query else self.filters.parts()
        rows: QuerySet[AuditEvent] = super().get_queryset(request, exclude_parameters)
        return rows.filter(self.filters.condition())

    @property
    def is_narrowed(self) -> bool:
        return bool(super().is_narrowed or any(self.given.values()))

    @property
    def actions(self) -> list[str]:
        """The actions that the field of the filter suggests."""
        return sorted({*SENTENCES, *STAFF_ACTIONS})

    def get_query_string(self, new_params: Any = None, remove: Any = None) -> str:
        """Return the query string with the filters added."""
        return str(super().get_query_string(dict(self.given) | (new_params or {}), remove))

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows: list[Any] = self.result_list
        names = names_of(rows)
        for row in rows:
            row.names = names


def names_of(rows: list[Any]) -> dict[str, str]:
    """Return the names of the projects, clients and keys of some events by their public ids, in three statements."""
    ids = {row.project for row in rows} | {row.target for row in rows}
    projects = {known for known in ids if known.startswith(PROJECT_PREFIX)}
    clients = {known for known in ids if known.startswith(settings.CLIENT_ID_PREFIX)}
    others = ids - projects - clients
    return (
        dict(Project.objects.filter(public_id__in=projects).values_list("public_id", "name"))
        | dict(Client.objects.filter(client_id__in=clients).values_list("client_id", "name"))
        | dict(ApiKey.objects.filter(public_id__in=others).values_list("public_id", "name"))
    )
