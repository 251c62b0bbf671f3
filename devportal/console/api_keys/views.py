"""A project's API keys: the list, and creating one."""

from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from api.keys import create_key_for_member, permissions
from api.models import ApiKey
from core import clock
from core.limits.middleware import limited_by_person
from devportal.console import idempotency, rotation
from devportal.console.access import Membership, get_membership, member_email
from devportal.console.api_keys.forms import NewKeyForm
from devportal.console.credentials import list_key
from devportal.console.filter_bar import Selects, build_bar
from devportal.console.logs.filters import LogFilters, choice_filter, parse_filters
from devportal.console.navigation import console_page, render_page
from devportal.console.pagination import paginate
from devportal.console.rotation import KEY_PAGES
from oidc.projects.lifecycle import QuotaExceeded
from oidc.projects.roles import Role, lock_for_change

UNUSED = timedelta(days=90)


def _selects() -> Selects:
    names = {scope.name: scope.name for scope in permissions()}
    return (
        ("state", "State", {"live": "Live", "expired": "Expired", "revoked": "Revoked"}),
        ("permission", "Scope", names | {"none": "None"}),
        ("used", "Last use", {"lately": "Last 90 days", "before": "Before that, or never"}),
    )


def _has(permission: str) -> Q:
    """Return the condition for keys with exactly this permission: a longer name that contains it does not match."""
    held = Q(permissions=permission) | Q(permissions__startswith=f"{permission} ")
    return held | Q(permissions__endswith=f" {permission}") | Q(permissions__contains=f" {permission} ")


def _filters(request: HttpRequest) -> LogFilters:
    now = clock.now()
    expired = Q(revoked_at=None, expires_at__lte=now)
    used = Q(last_used_at__gte=now - UNUSED)
    chosen = {scope.name: _has(scope.name) for scope in permissions()} | {"none": Q(permissions="")}
    return parse_filters(
        request,
        {
            "q": lambda text: Q(name__icontains=text) | Q(public_id=text) | Q(owner_email__istartswith=text),
            "state": choice_filter(
                {"live": Q(revoked_at=None) & ~expired, "expired": expired, "revoked": Q(revoked_at__isnull=False)}
            ),
            "permission": choice_filter(chosen),
            "used": choice_filter({"lately": used, "before": ~used}),
        },
    )


@console_page()
def keys(request: HttpRequest, project_id: str) -> HttpResponse:
    """GET …/keys: the keys that match the filters, including revoked and expired ones, without their values."""
    membership = get_membership(request, project_id)
    filters = _filters(request)
    project = membership.project
    found = ApiKey.objects.filter(project=project).annotate(owner_email=member_email(project, "owner"))
    page = paginate(found.filter(filters.where), request)
    rows = [list_key(membership, key) for key in page.rows]
    # The first key is created on this page, without a separate form page.
    is_empty = not rows and not page.newer and not filters.is_any and membership.may_edit
    first: dict[str, Any] = {"form": NewKeyForm(), "once": idempotency.new_token()} if is_empty else {}
    shown: dict[str, Any] = {
        "page": page,
        "rows": rows,
        "filters": filters,
        "bar": build_bar(filters, _selects(), search="Name, owner or id"),
    } | first
    leaked = [each for each in rows if each.row.leaked_at and each.row.state == "live"]
    return render_page(request, "console/keys.html", membership, leaked=leaked, **shown)


@limited_by_person
@console_page("GET", "HEAD", "POST")
def key_new(request: HttpRequest, project_id: str) -> HttpResponse:
    """…/keys/new: the form. The response shows the new key once."""
    membership = get_membership(request, project_id, Role.DEVELOPER)
    form = NewKeyForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            return _make(request, membership, form)
        except idempotency.AlreadyProcessed:
            messages.info(request, KEY_PAGES.sent_before_text)
            return HttpResponseRedirect(reverse("console:keys", args=[project_id]))
        except idempotency.MissingToken:
            form.add_error(None, "No key was created. Please send the form again.")
        except QuotaExceeded as too_many:
            form.add_error(None, str(too_many))
    return render_page(request, "console/key_new.html", membership, form=form, once=idempotency.new_token())


def _make(request: HttpRequest, membership: Membership, form: NewKeyForm) -> HttpResponse:
    given = form.cleaned_data
    with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
        sent = idempotency.consume_token(request)
        key, raw = create_key_for_member(
            membership.project, membership.account, given["name"], given["permissions"], form.expires_at
        )
        idempotency.record_result(sent, key.public_id)
    return rotation.show_api_key(request, membership, key, raw, f"{key.name} is created")
