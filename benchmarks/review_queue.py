"""Measures the review queue with 20,000 reviews beside the same queue with 200: python benchmarks/review_queue.py.

The WSGI application answers in this process, templates included, on a PostgreSQL and a Redis of its own. Nine of twenty
reviews wait, and half of those are late; 200 fill a page. A page of the audit trail, which stays as it is, is asked for
in the same rounds, and tells how busy the machine was. Ends with 1 if a page takes longer than the aim.
"""

import argparse
import html
import re
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.profile_requests import services

AIM_MS = 300
FEW = 200
QUEUE = "/admin/console/appreview/"
AUDIT = "/admin/console/auditevent/"
PAGES = {
    "waiting": "",
    "waiting, the second page": "",
    "late": "?late=1",
    "resubmitted, asks for account.read": "?kind=resubmitted&asks=account.read",
    "appeals": "?kind=appeal",
    "mine": "?which=mine",
    "nobody's": "?which=nobodys",
    "all": "?which=all",
    "(the audit trail)": AUDIT,
}


def fill(count: int, reviewer: int) -> None:
    """Make `count` apps with a review each, in projects of their own, instead of those that are there."""
    from benchmarks.admin_rows import first_key, insert
    from devportal.console.models import AppReview
    from oidc.models import Client, Project

    for model in (AppReview, Client, Project):
        model.objects.all().delete()
    insert(Project, count, public_id="'prj_' || left(md5(n::text), 22)", name="'Project ' || n")
    insert(
        Client, count, project=f"{first_key(Project)} + n - 1", name="'App ' || n", type="'spa'",
        name_reading="'app' || n", client_id="'op_client_' || left(md5(n::text), 22)", enabled="true",
    )  # fmt: skip
    insert(
        AppReview, count, client=f"{first_key(Client)} + n - 1", number="1", revision="1 + n % 3 / 2",
        status="CASE WHEN n % 20 < 6 THEN 'submitted' WHEN n % 20 < 9 THEN 'in_review' ELSE 'approved' END",
        submitted_at="now() - make_interval(hours => n % 240)", is_change="n % 4 = 0",
        assignee=f"CASE WHEN n % 7 = 0 THEN {reviewer} END", appealed_at="CASE WHEN n % 100 = 1 THEN now() END",
        snapshot="json_build_object('name', 'App ' || n, 'scopes', CASE WHEN n % 5 = 0 "
        "THEN json_build_object('account.read', repeat('Needed. ', 40)) ELSE json_build_object() END)",
    )  # fmt: skip


def measure(browser: Any, times: int) -> dict[str, tuple[float, int]]:
    """Return the median milliseconds and the statements of each page; every round asks for all of them."""
    from benchmarks import admin_lists

    following = re.search(r'rel="next" href="([^"]+)"', browser.get(QUEUE).content.decode())
    assert following is not None
    queries = PAGES | {"waiting, the second page": html.unescape(following[1])}
    taken: dict[str, list[float]] = {name: [] for name in queries}
    statements = {}
    for _ in range(times):
        for name, query in queries.items():
            (one,), status, statements[name] = admin_lists.measure(
                browser, QUEUE + query if query != AUDIT else AUDIT, 1
            )
            assert status == 200, (name, status)
            taken[name].append(one)
    return {name: (statistics.median(found), statements[name]) for name, found in taken.items()}


def run(count: int, times: int) -> int:
    from benchmarks.admin_rows import insert
    from devportal.console.models import AuditEvent
    from tests.browsing import Browser
    from tests.factories import make_account

    reviewer = make_account("root@example.com", is_staff=True, is_superuser=True)
    browser = Browser(SERVER_NAME="127.0.0.1")
    browser.force_login(reviewer)
    insert(AuditEvent, 1000, action="'client.created'", actor_email="'x@example.com'", target="'op_client_x'")
    results = []
    for number in (FEW, count):
        fill(number, reviewer.pk)
        results.append(measure(browser, times))
    few, many = results
    print(f"| the queue | median ms with {FEW} | with {count:,} | ratio | statements |\n|---|---|---|---|---|")
    for name, (taken, statements) in many.items():
        ratio = taken / few[name][0]
        print(f"| {name} | {few[name][0]:.0f} | {taken:.0f} | {ratio:.2f} | {few[name][1]}, {statements} |")
    slow = [name for name, (taken, _) in many.items() if taken > AIM_MS]
    print(f"\n{len(slow)} pages are above {AIM_MS} ms")
    return 1 if slow else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--reviews", type=int, default=20_000)
    parser.add_argument("--times", type=int, default=9, help="how often each page is asked for")
    options = parser.parse_args()
    with services():
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        failed = run(options.reviews, options.times)
        from django.db import connections

        connections.close_all()
        return failed


if __name__ == "__main__":
    sys.exit(main())
