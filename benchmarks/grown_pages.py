"""Measure pages that read tables which grow, with many rows in PostgreSQL: python benchmarks/grown_pages.py --plans.

`grown_rows.py` creates the rows in a temporary PostgreSQL, or in the one of TEST_DATABASE_URL if it is still empty.
docs/scaling.md has the figures.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.services import services  # after the path

RUNS = 9  # PostgreSQL may choose another plan from the sixth run of a prepared statement on
MOST_MS = 300
# Pages of a project, for the biggest and for a small one: their names and paths, with the id of a client.
CONSOLE_PAGES = (
    ("overview of a {} project", "/"),
    ("people of a {} project", "/analytics/people"),
    ("sign-in log of a {} project", "/logs"),
    ("sign-in log of a {} project, refused", "/logs?outcome=refused"),
    ("sign-in log of a {} project, cancelled", "/logs?outcome=cancelled"),
    ("sign-in log of a client of a {} project", "/clients/{}/activity"),
    ("request log of a {} project", "/logs/requests"),
    ("request log of a {} project, only errors", "/logs/requests?status=errors"),
    ("request log of a {} project, 429", "/logs/requests?status=429"),
    ("request log of a {} project, text", "/logs/requests?q=nothing"),
    ("activity of a {} project", "/team/activity"),
)


def pages() -> list[tuple[str, Any, str]]:
    """Return the measured pages: their name, who opens them, and their path."""
    from accounts.models import Account
    from accounts.roles import set_roles
    from devportal.review.models import AppReview
    from oidc.models import Client, ProjectMember

    big = Client.objects.order_by("pk")[0]
    owned = Client.objects.filter(project__members__account__email_verified=True)
    small = owned.exclude(project=big.project).order_by("-pk")[0]
    staff = {}
    for role in ("operator", "reviewer"):
        staff[role], _ = Account.objects.get_or_create(email=f"{role}@example.com", email_verified=True)
        set_roles(staff[role], [role])
    owners = {
        client.pk: ProjectMember.objects.filter(project=client.project, role="owner")
        .select_related("account")[0]
        .account
        for client in (big, small)
    }
    busy = Account.objects.order_by("pk")[0]
    review = AppReview.objects.filter(status="submitted").order_by("pk")[0]
    console = [
        (name.format(size), owners[client.pk], f"/console/p/{client.project.public_id}{path.format(client.client_id)}")
        for size, client in (("big", big), ("small", small))
        for name, path in CONSOLE_PAGES
    ]
    trail, reviews = "/admin/console/auditevent/", "/admin/review/appreview/"
    return [
        *console,
        ("console home", owners[big.pk], "/console/"),
        ("audit trail", staff["operator"], trail),
        ("audit trail, a person", staff["operator"], f"{trail}?q={busy.email}"),
        ("audit trail, a person without events", staff["operator"], f"{trail}?q={staff['reviewer'].email}"),
        ("audit trail, by filter", staff["operator"], f"{trail}?person={busy.email}"),
        ("audit trail, an account", staff["operator"], f"{trail}?q=account:{busy.pk}"),
        ("audit trail of reviewers", staff["reviewer"], trail),
        ("sign-in log in the admin", staff["operator"], "/admin/console/signinevent/"),
        ("operator's overview", staff["operator"], "/admin/"),
        ("review queue", staff["reviewer"], reviews),
        ("all reviews", staff["reviewer"], f"{reviews}?which=all"),
        ("review", staff["reviewer"], f"{reviews}{review.pk}/change/"),
    ]


def measure(account: Any, path: str) -> tuple[list[float], list[tuple[float, str]], int]:
    """Return the milliseconds of each run, the statements of the last run, the slowest first, and the status."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from tests.browsing import Browser

    browser = Browser(SERVER_NAME="localhost")
    browser.force_login(account)
    taken = []
    for _ in range(RUNS):
        started = time.perf_counter()
        answer = browser.get(path)
        taken.append(1000 * (time.perf_counter() - started))
    with CaptureQueriesContext(connection) as queries:
        browser.get(path)
    return (
        taken,
        sorted(((1000 * float(each["time"]), each["sql"]) for each in queries), reverse=True),
        answer.status_code,
    )


def report(plans: bool, only: str) -> None:
    """Print the time of each page and its slowest statement."""
    from django.db import connection

    for name, account, path in pages():
        if only not in name:
            continue
        taken, statements, status = measure(account, path)
        middle, slowest = sorted(taken)[len(taken) // 2], statements[0] if statements else (0, "")
        mark = "SLOW" if middle > MOST_MS or status != 200 else ""
        print(
            f"{name:48} {status} {middle:7.0f} ms, at most {max(taken[1:]):6.0f}, "
            f"slowest statement {slowest[0]:6.0f} {mark}",
            flush=True,
        )
        if plans and mark:
            for ms, sql in statements[:2]:
                with connection.cursor() as cursor:
                    cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS) {sql}".replace("%", "%%"), [])
                    print(f"\n{ms:.0f} ms: {sql}\n", *(line for (line,) in cursor.fetchall()), sep="\n    ")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--log", type=int, default=10_000_000)
    parser.add_argument("--plans", action="store_true", help="print the plans of the slowest statements of slow pages")
    parser.add_argument("--only", default="", help="measure only pages whose name contains this")
    given = parser.parse_args()
    with services():
        import django

        django.setup()
        from django.core.management import call_command
        from django.db import connections

        from benchmarks.grown_rows import Sizes, fill
        from oidc.models import Project

        call_command("migrate", verbosity=0)
        if not Project.objects.exists():
            fill(Sizes(people=given.people, tokens=given.people, log=given.log))
        report(given.plans, given.only)
        connections.close_all()
    return 0


if __name__ == "__main__":
    sys.exit(main())
