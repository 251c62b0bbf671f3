"""What no page of the admin links to, sent all the same: it is refused or ignored, and never a failure."""

import re
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client as Browser

from devportal.console.models import AppReview, AuditEvent
from devportal.lib import clock
from oidc.models import Project
from tests.console.admin.conftest import World
from tests.security.forms_on_pages import Form, forms_on, send_all

# Forms that the admin has at least.
MOST_KNOWN = 20

QUERIES = (
    """
q=%00 q=%ff%fe q=%27%3B-- q=%5C q=@ q=prj_ q=op_client_ q=%E2%80%AE q=LONG
id__exact=1 pk=1 pk__in=1,2 account__password__startswith=p user__password=x client=x account__id__exact=-1
project__id__exact=x project__id__exact=MANY state__exact=%F0%9F%92%A5 state__exact= plan__isnull=x
plan__id__exact=x plan__id__exact=MANY _to_field=password _to_field=digest&_popup=1 _popup=1
_facets=1 _changelist_filters=q%3Dx which=&which= which=all&older_than=x o=-MANY p=MANY all=1 e=1 nothing=1 a[]=1 = %
older_than=1&newer_than=1
""".replace("MANY", "9" * 60)
    .replace("LONG", "%F0%9F%90%99" * 300)
    .split()
)


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_never_breaks_a_list(as_superuser: Browser, world: World, query: str) -> None:
    for model in admin.site._registry:
        url = f"/admin/{model._meta.app_label}/{model._meta.model_name}/?{query}"
        assert as_superuser.get(url).status_code in (200, 302, 400, 403), url


@pytest.mark.parametrize(
    "query",
    [
        "",
        "app_label=x&model_name=y&field_name=z",
        "app_label=accounts&model_name=account&field_name=password&term=p",
        "app_label=auth&model_name=permission&field_name=content_type&term=",
        "app_label=oidc&model_name=clientsecret&field_name=client&term=",
        "app_label=mfa&model_name=authenticator&field_name=user&term=%F0%9F%90%99",
        "app_label=accounts&model_name=family&field_name=owner&term=%25&page=0",
        "app_label=accounts&model_name=family&field_name=owner&page=last",
        "app_label=accounts&model_name=family&field_name=owner&page=" + "9" * 50,
    ],
)
def test_offering_rows_is_for_fields_of_the_admin(as_operator: Browser, world: World, query: str) -> None:
    assert as_operator.get(f"/admin/autocomplete/?{query}").status_code in (200, 400, 403, 404)


FORMS: list[dict[str, Any]] = [
    {"reason": "\x00"},
    {"reason": "a" * 100_000},
    {"reason": "🐙" * 2001},
    {"text": "\x00", "reasons": ["\x00"], "revision": "9" * 40, "confirm": "1"},
    {"what": ["everything"] * 50, "reasons": ["harmful"], "text": "‮", "confirm": "1"},
    {"name": "\u202eOpenport", "email": "@" * 300, "roles": ["operator"] * 90, "assignee": "9" * 40, "confirm": "1"},
    {"scope_account.read": "maybe", "revision": "-1", "confirm": "1", "edit": "1"},
]


@pytest.mark.parametrize("form", FORMS)
def test_a_form_never_breaks_an_act(as_superuser: Browser, world: World, form: dict[str, Any]) -> None:
    for model, page in admin.site._registry.items():
        row = model._default_manager.order_by("-pk").first()
        if row is None:
            continue
        base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        for act in page.acts:  # type: ignore[attr-defined]
            if act.name in ("delete", "activate", "deactivate", "export"):
                continue  # of a person: below
            response = as_superuser.post(f"{base}{row.pk}/do/{act.name}/", form)
            assert response.status_code in (200, 302, 400), (base, act.name)


@pytest.mark.parametrize("reason", ["", "%00", "%20%0a%09", "a" * 2001, "%F0%9F%90%99" * 2001])
def test_a_reason_that_is_none_deactivates_nobody(as_superuser: Browser, world: World, reason: str) -> None:
    url = f"/admin/accounts/account/{world.person.pk}/do/deactivate/"
    response = as_superuser.post(url, f"reason={reason}", content_type="application/x-www-form-urlencoded")
    assert response.status_code in (200, 400)
    world.person.refresh_from_db()
    assert world.person.is_active
    assert not AuditEvent.objects.filter(action="account.deactivated").exists()


@pytest.mark.parametrize(
    "path", ["r/1/1/", "r/x/y/", "r/999/999/", "no/such/", "accounts/", "auth/", "oidc/", "x/y/1/change/"]
)
def test_odd_addresses(as_operator: Browser, world: World, path: str) -> None:
    assert as_operator.get(f"/admin/{path}").status_code in (200, 302, 404)


def test_the_looser_policy_is_the_admins_alone(as_operator: Browser) -> None:
    policy = as_operator.get("/admin/")["Content-Security-Policy"]
    assert "'unsafe-inline'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'none'" in policy
    for path in ("/", "/account/", "/administration/", "/adminx"):
        assert "unsafe" not in as_operator.get(path)["Content-Security-Policy"]


def test_pages_of_the_admin_are_not_stored(as_operator: Browser, world: World) -> None:
    for path in ("", "accounts/account/", f"accounts/account/{world.person.pk}/change/", "console/auditevent/"):
        assert "no-store" in as_operator.get(f"/admin/{path}")["Cache-Control"]


# --- Every field of every form, read off the pages ---


def pages_with_forms() -> list[str]:
    """Return the pages of the admin on which forms stand: adding, changing, deleting, and every act."""
    found = []
    for model, page in admin.site._registry.items():
        base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        found.append(f"{base}add/")
        found += [f"{base}do/{act.name}/" for act in page.list_acts]  # type: ignore[attr-defined]
        rows = model._default_manager.order_by("-pk")
        for row in rows[:3]:
            found += [f"{base}{row.pk}/change/", f"{base}{row.pk}/delete/"]
            found += [f"{base}{row.pk}/do/{act.name}/" for act in page.acts]  # type: ignore[attr-defined]
    return found


@pytest.mark.slow
def test_no_field_of_any_form_breaks_the_admin(as_superuser: Browser, world: World) -> None:
    found: dict[tuple[str, tuple[str, ...]], Form] = {}

    def read() -> None:
        for url in pages_with_forms():
            for form in forms_on(as_superuser, url, "/admin/"):
                if "/do/" in form.action:
                    form.fields["confirm"] = ["1"]
                found.setdefault((re.sub(r"\d+", "N", form.action), tuple(form.fields)), form)

    read()
    # What is there to be done in another state of things; each of these forms is tried in the last one.
    AppReview.objects.update(status=AppReview.Status.IN_REVIEW)
    world.project.clients.update(verified_at=clock.now(), approved_scopes="account.read", enabled=False)
    Project.objects.update(suspended_at=clock.now())
    read()
    assert len(found) > MOST_KNOWN, "the forms are read off the pages: are there so few?"
    assert send_all(as_superuser, list(found.values())) == []
