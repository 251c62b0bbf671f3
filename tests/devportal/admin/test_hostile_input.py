"""What no page of the admin links to, sent all the same: it is refused or ignored, and never a failure."""

import re
from itertools import product
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.test import Client as Browser
from django.test import RequestFactory

from accounts.models import Account, Plan, Subscription
from core import clock
from core.admin.actions import ActionRefused
from devportal.review.admin.project_admin import NameForm, _rename
from devportal.review.models import AppReview
from oidc.models import Project
from oidc.projects import lifecycle
from tests.devportal.admin.conftest import World
from tests.factories import make_account
from tests.security.forms_on_pages import Form, forms_on, send_all

# The models and the queries are divided, so that several processes try them.
PARTS = 4
# Forms that each part has at least.
MOST_KNOWN = 5

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


@pytest.mark.parametrize("part", range(PARTS))
def test_a_query_never_breaks_a_list(as_superuser: Browser, world: World, part: int) -> None:
    for query, model in product(QUERIES[part::PARTS], admin.site._registry):
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
    {"reason": "a" * 300_000},  # more than a form may hold
    {"reason": "🐙" * 2001},
    {"text": "\x00", "reasons": ["\x00"], "revision": "9" * 40, "confirm": "1"},
    {"what": ["the whole approval"] * 50, "reasons": ["harmful"], "text": "‮", "confirm": "1"},
    {"name": "\u202eOpenport", "email": "@" * 300, "roles": ["operator"] * 90, "assignee": "9" * 40, "confirm": "1"},
    {"scope_account.read": "maybe", "revision": "-1", "confirm": "1", "edit": "1"},
]


@pytest.mark.parametrize("form", FORMS)
def test_malformed_forms_break_no_action(as_superuser: Browser, world: World, form: dict[str, Any]) -> None:
    for model, page in admin.site._registry.items():
        row = model._default_manager.order_by("-pk").first()
        if row is None:
            continue
        base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        for act in page.row_actions:  # type: ignore[attr-defined]
            if act.name in ("delete", "activate", "deactivate", "export"):
                continue  # of a person: below
            response = as_superuser.post(f"{base}{row.pk}/do/{act.name}/", form)
            assert response.status_code in (200, 302, 400), (base, act.name)


TO_FIELDS = ["", "%20", "%00", "x", "password", "pk", "a" * 5000, "%F0%9F%90%99", "id__exact", "_meta", "emailaddress"]


def test_an_unknown_popup_field_is_handled(as_superuser: Browser, world: World) -> None:
    as_superuser.raise_request_exception = False
    for model in admin.site._registry:
        base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        row = model._default_manager.order_by("-pk").first()
        relations = [field.name for field in model._meta.get_fields(include_hidden=True) if not field.concrete]
        for field in (*TO_FIELDS[: 11 if model is Account else 1], *relations[:2]):
            urls = [f"{base}?_to_field={field}"]
            urls += [f"{base}{row.pk}/{page}/?_to_field={field}" for page in ("change", "delete") if row]
            for url in urls:
                assert as_superuser.get(url).status_code in (200, 302, 400, 403, 404), url
        if row is not None:
            posted = as_superuser.post(f"{base}{row.pk}/change/", {"_to_field": ""})
            assert posted.status_code in (200, 302, 400, 403, 404), base


def test_only_the_admin_has_the_looser_content_policy(as_operator: Browser) -> None:
    policy = as_operator.get("/admin/")["Content-Security-Policy"]
    assert "'unsafe-inline'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'none'" in policy
    for path in ("/", "/account/", "/administration/", "/adminx"):
        assert "unsafe" not in as_operator.get(path)["Content-Security-Policy"]


def test_filters_by_words_instead_of_keys_are_rejected(as_superuser: Browser, world: World) -> None:
    for model, page in admin.site._registry.items():
        base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        for name in page.link_filters:  # type: ignore[attr-defined]
            assert as_superuser.get(f"{base}?{name}__id__exact=words").status_code == 302, (base, name)
        assert as_superuser.get(f"{base}?id__exact=words").status_code in (302, 400), base
        assert as_superuser.get(f"{base}words/change/").status_code in (302, 404), base


LOOKUPS = ("", "__exact", "__id__exact", "__pk__exact", "__in")
LONG = ("9223372036854775808", "9" * 400, "9" * 5000, "-1", "%D9%A3", "1e3", "1,2", "%C2%B2", "+1")


@pytest.mark.slow
@pytest.mark.parametrize("value", LONG)
def test_no_spelling_of_a_key_breaks_a_list_or_a_page(as_superuser: Browser, world: World, value: str) -> None:
    """Each list takes each value by two lookups of each field; the lookups take turns."""
    turn = LONG.index(value)
    for model, page in admin.site._registry.items():
        base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        for name in sorted({*page.link_filters, "id", "pk"}):  # type: ignore[attr-defined]
            for lookup in (LOOKUPS[turn % 5], LOOKUPS[(turn + 2) % 5]):
                status = as_superuser.get(f"{base}?{name}{lookup}={value}").status_code
                assert status in (302, 400), (base, name, lookup)
            turn += 1
        for paging in ("older_than", "newer_than"):
            # A list that is not paged by key refuses the parameter.
            assert as_superuser.get(f"{base}?{paging}={value}").status_code in (200, 302, 400), (base, paging)
        for path in ("change/", "do/export/", "delete/", "history/"):
            # Django takes the digits of every script for a number, and there may be a row of that number.
            assert as_superuser.get(f"{base}{value}/{path}").status_code in (200, 302, 403, 404), (base, path)


CHOSEN = ("", "words", "a\x00", "9" * 20, "9" * 5000, "-1", "1.5", "\ud800".encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("value", CHOSEN)
def test_invalid_keys_can_not_be_selected(as_operator: Browser, world: World, value: Any) -> None:
    forms = {
        "accounts/family/add/": {"owner": value, "members-0-account": value},
        "accounts/organizationmember/add/": {"account": value, "organization": value},
        "accounts/subscription/add/": {"account": value, "plan": value, "state": "Active", "addons": "{}"},
        f"accounts/plan/{Plan.objects.get().pk}/change/": {"entitlements-0-feature": value, "display_name": "x"},
    }
    management = {"TOTAL_FORMS": "1", "INITIAL_FORMS": "0"}
    for path, form in forms.items():
        for prefix in ("members", "entitlements"):
            form |= {f"{prefix}-{name}": number for name, number in management.items()}
        response = as_operator.post(f"/admin/{path}", form)
        assert response.status_code == 200, path
        assert "errorlist" in response.content.decode() or "error" in response.content.decode()


JSON = (
    '["\\ud800"]',
    '["\\u0000"]',
    "[" * 100_000,
    '{"a":' * 20_000,
    "[" + "9" * 5000 + "]",
    "[1e999]",
    "7",
    "null x",
)


@pytest.mark.parametrize("text", [*JSON, '{"\\ud800": {"quantity": 1}}', '{"\\u0000": {"quantity": 1}}'])
def test_invalid_json_shows_an_error(as_operator: Browser, world: World, text: str) -> None:
    plan = Plan.objects.get()
    other = make_account()
    new = {"account": other.pk, "plan": plan.pk, "state": "Active", "addons": text}
    assert as_operator.post("/admin/accounts/subscription/add/", new).status_code == 200
    changed = {"display_name": "Lumen", "rank": "1", "apps_known": text, "cache_max_age": "1"}
    changed |= {"entitlements-TOTAL_FORMS": "0", "entitlements-INITIAL_FORMS": "0"}
    assert as_operator.post(f"/admin/accounts/plan/{plan.pk}/change/", changed).status_code == 200
    assert not Subscription.objects.filter(account=other).exists()
    assert Plan.objects.get().apps == plan.apps


@pytest.mark.parametrize("text", ["", " \n "])
def test_an_empty_list_of_apps_is_accepted(as_operator: Browser, world: World, text: str) -> None:
    plan = Plan.objects.get()
    Plan.objects.update(apps=["notes"])
    changed = {"display_name": "Lumen", "rank": "1", "apps_others": text, "cache_max_age": "1"}
    changed |= {"entitlements-TOTAL_FORMS": "0", "entitlements-INITIAL_FORMS": "0"}
    assert as_operator.post(f"/admin/accounts/plan/{plan.pk}/change/", changed).status_code == 302
    assert Plan.objects.get().apps == []


@pytest.mark.parametrize("page", ["9" * 5000, "9" * 20, "%C2%B2", "0", "-1", "last", "%D9%A3"])
def test_an_invalid_page_shows_the_first_page(as_operator: Browser, world: World, page: str) -> None:
    for path, rows in (("plan", "entitlements"), ("subscription", "events")):
        url = f"/admin/accounts/{path}/{apps.get_model('accounts', path).objects.order_by('pk')[0].pk}/change/"
        assert as_operator.get(f"{url}?{rows}-page={page}").status_code == 200
        body = f"{rows}-page={page}&{rows}-TOTAL_FORMS=0&{rows}-INITIAL_FORMS=0"
        assert as_operator.post(url, body, content_type="application/x-www-form-urlencoded").status_code < 500


@pytest.mark.parametrize("rows", ["101", "1" + "0" * 30])
def test_a_form_with_too_many_rows_is_refused(as_operator: Browser, world: World, rows: str) -> None:
    for path, prefix in (("family/add/", "members"), (f"plan/{Plan.objects.get().pk}/change/", "entitlements")):
        form = {f"{prefix}-TOTAL_FORMS": rows, f"{prefix}-INITIAL_FORMS": "0"}
        response = as_operator.post(f"/admin/accounts/{path}", form)
        assert "Please submit at most 100 forms." in response.content.decode(), path
        assert len(response.context["inline_admin_formsets"][0].formset.forms) == 100, path


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "1969-12-31 00:00"])
def test_extreme_dates_show_an_error(as_operator: Browser, world: World, moment: str) -> None:
    row = Subscription.objects.get(account=world.person)
    for step in ("", "CancelledPeriodActive"):
        form = {"to": step, "period_end": moment}
        text = as_operator.post(f"/admin/accounts/subscription/{row.pk}/step", form, follow=True).content.decode()
        assert "must be a date from 1970" in text
    row.refresh_from_db()
    assert row.period_end is None
    new = {"account": make_account().pk, "plan": row.plan_id, "state": "Active", "addons": "{}"}
    new |= {"period_end_0": moment.replace("T", " ").split()[0], "period_end_1": "00:00:00"}
    assert "must be a date from 1970" in as_operator.post("/admin/accounts/subscription/add/", new).content.decode()


def test_a_deleted_project_keeps_its_name(as_operator: Browser, world: World) -> None:
    lifecycle.delete_project(world.project, world.person)
    url = f"/admin/oidc/project/{world.project.pk}/"
    assert "do/rename" not in as_operator.get(f"{url}change/").content.decode()
    assert as_operator.post(f"{url}do/rename/", {"name": "Phare"}).status_code == 302
    request = RequestFactory().post("/")
    request.user = Account.objects.get(email="opal@example.com")
    form = NameForm({"name": "Phare"}, request=request, row=world.project)
    assert form.is_valid()
    with pytest.raises(ActionRefused, match="deleted"):
        _rename(request, world.project, form)  # deleted while the page was open
    assert Project.objects.get().name == "Lighthouse"


# --- Every field of every form, read off the pages ---


def pages_with_forms(part: int) -> list[str]:
    """Return pages of the admin on which forms stand: adding, changing, deleting, and every act."""
    found = []
    for model, page in list(admin.site._registry.items())[part::PARTS]:
        base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        found.append(f"{base}add/")
        found += [f"{base}do/{act.name}/" for act in page.list_actions]  # type: ignore[attr-defined]
        rows = model._default_manager.order_by("-pk")
        for row in rows[:3]:
            found += [f"{base}{row.pk}/change/", f"{base}{row.pk}/delete/"]
            found += [f"{base}{row.pk}/do/{act.name}/" for act in page.row_actions]  # type: ignore[attr-defined]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_field_of_any_form_breaks_the_admin(as_superuser: Browser, world: World, part: int) -> None:
    found: dict[tuple[str, tuple[str, ...]], Form] = {}

    def read() -> None:
        for url in pages_with_forms(part):
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
