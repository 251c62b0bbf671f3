"""Measures each page of the admin with a grown database: python benchmarks/admin_lists.py [--people … --tokens …].

The WSGI application answers in this process, on a PostgreSQL and a Redis of its own; a page is asked for once to warm
up and then several times. Ends with 1 if a page takes longer than the aim.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.profile_requests import services

AIM_MS = 500


def middle(model: Any) -> int:
    """Return the key in the middle of a table."""
    bounds: list[int] = [model.objects.order_by(order).values_list("pk", flat=True)[0] for order in ("pk", "-pk")]
    return sum(bounds) // 2


def pages_of(page: Any, base: str) -> Iterator[tuple[str, str]]:
    """Yield what is asked of one list: its first page, one in the middle, both ends, and the page of a row."""
    yield "first page", base
    model = page.model
    if not model.objects.exists():
        return
    if page.is_long:
        key = middle(model)
        yield "in the middle, older", f"{base}?older_than={key}"
        yield "in the middle, newer", f"{base}?newer_than={key}"
        yield "the oldest", f"{base}?older_than={model.objects.order_by('pk').values_list('pk', flat=True)[0] + 20}"
    for name in page.link_filters:
        for what, order in (("the busiest", name), ("the last", f"-{name}")):
            owner = model.objects.exclude(**{name: None}).order_by(order).values_list(name, flat=True).first()
            if owner is not None:
                yield f"of {what} {name}", f"{base}?{name}__id__exact={owner}"
    row = model.objects.order_by("pk").values_list("pk", flat=True)[0]
    yield "a row", f"{base}{row}/change/"
    for act in page.row_actions:
        yield f"before “{act.label}”", f"{base}{row}/do/{act.name}/"


SEARCHES = {
    "accounts_account": ["user77", "user777777@example.com", "u", "nobody", "c4ca4238a0b923820dcc509a6f75849b"],
    "accounts_family": ["user777@example.com", "nobody@example.com"],
    "accounts_organization": ["Organization 7", "Nothing"],
    "accounts_organizationmember": ["user777@example.com", "nobody@example.com"],
    "accounts_subscription": ["user777@example.com", "nobody@example.com", "Organization 7"],
    "accounts_invitation": ["guest777@example.com", "nobody@example.com"],
    "accounts_outbox": ["user777@example.com", "nobody@example.com"],
    "oidc_project": ["Project 77", "prj_c4ca4238a0b923820dcc50", "Nothing"],
    "oidc_client": ["App 77", "op_client_c4ca4238a0b923820dcc50", "a", "Nothing"],
    "oidc_projectdomain": ["host77.example.com", "prj_c4ca4238a0b923820dcc50", "nothing.example"],
    "oidc_connection": ["user777@example.com", "op_client_c4ca4238a0b923820dcc50", "op_client_x"],
    "oidc_accesstoken": ["user777@example.com", "nobody@example.com"],
    "oidc_refreshtoken": ["user777@example.com", "nobody@example.com"],
    "api_apikey": ["user777@example.com", "c4ca4238a0b9", "nothing"],
    "api_requestlog": ["c4ca4238a0b923820dcc", "prj_c4ca4238a0b923820dcc50", "nothing"],
    "console_signinevent": ["c4ca4238a0b923820dcc", "op_client_c4ca4238a0b923820dcc50", "nothing"],
    "console_auditevent": [
        "user7@example.com", "prj_c4ca4238a0b923820dcc50", "op_client_c4ca4238a0b923820dcc509a6f75849b",
        "c4ca4238a0b923820dcc", "nothing",
    ],
    "console_appreview": ["App 77", "op_client_c4ca4238a0b923820dcc50", "a", "Nothing"],
}  # fmt: skip
OTHERS = [
    ("the admin's first page", "/admin/"),
    ("subscriptions past due", "/admin/accounts/subscription/?state__exact=PastDue"),
    ("subscriptions of a plan", "/admin/accounts/subscription/?plan__id__exact=1"),
    ("a new subscription", "/admin/accounts/subscription/add/"),
    ("a field that offers people", "/admin/autocomplete/?app_label=accounts&model_name=family&field_name=owner&term=u"),
    ("the queue: mine", "/admin/console/appreview/?which=mine"),
    ("the queue: all", "/admin/console/appreview/?which=all"),
]


def asked() -> Iterator[tuple[str, str]]:
    """Yield every page that is measured: its name and its address."""
    from django.contrib import admin

    for model, page in sorted(admin.site._registry.items(), key=lambda entry: entry[0]._meta.label):
        name = f"{model._meta.app_label}_{model._meta.model_name}"
        base = f"/admin/{name.replace('_', '/')}/"
        for what, url in pages_of(page, base):
            yield f"{model._meta.verbose_name_plural}: {what}", url
        for term in SEARCHES.get(name, []):
            yield f"{model._meta.verbose_name_plural}: search for {term[:14]}", f"{base}?q={term}"
    yield from OTHERS


def measure(browser: Any, url: str, times: int) -> tuple[list[float], int, int]:
    """Return the milliseconds of each request but the first, the status, and how many statements the last one ran."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    browser.get(url)
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        response = browser.get(url)
        taken.append(1000 * (time.perf_counter() - begun))
    with CaptureQueriesContext(connection) as captured:
        response = browser.get(url)
    return taken, response.status_code, len(captured.captured_queries)


def run(sizes: Any, times: int) -> int:
    from benchmarks import admin_rows
    from tests.browsing import Browser
    from tests.factories import make_account

    begun = time.perf_counter()
    admin_rows.fill(sizes)
    print(f"{sizes.people:,} people, {sizes.tokens:,} access tokens: made in {time.perf_counter() - begun:.0f} s\n")
    browser = Browser(SERVER_NAME="127.0.0.1")
    browser.force_login(make_account("root@example.com", is_staff=True, is_superuser=True))
    slow = 0
    print("| page | median ms | longest ms | statements |\n|---|---|---|---|")
    for name, url in asked():
        taken, status, statements = measure(browser, url, times)
        median = statistics.median(taken)
        slow += median > AIM_MS
        if status not in (200, 302):  # an act that is not possible now leads back
            raise SystemExit(f"{url} answered {status}")
        mark = " **SLOW**" if median > AIM_MS else ""
        print(f"| {name} | {median:.0f}{mark} | {max(taken):.0f} | {statements} |", flush=True)
    print(f"\n{slow} pages are above {AIM_MS} ms")
    return 1 if slow else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--tokens", type=int, default=5_000_000)
    parser.add_argument("--times", type=int, default=5, help="how often each page is asked for")
    options = parser.parse_args()
    with services():
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        from benchmarks.admin_rows import Sizes

        failed = run(Sizes(options.people, options.tokens, options.people), options.times)
        from django.db import connections

        connections.close_all()
        return failed


if __name__ == "__main__":
    sys.exit(main())
