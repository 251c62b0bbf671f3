"""How long each page of the console takes for a busy project: python benchmarks/console_pages.py [--only usage].

The whole application answers in this process, on a PostgreSQL of its own. Exits with 1 when a page's median is above
the aim, its HTML is larger than a page may be once it is compressed, or a page fails.
"""

import argparse
import contextlib
import gzip
import logging
import os
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.services import keeper, plugin, postgres

AIM_MS = 300
MOST_COMPRESSED = 60_000  # bytes of HTML
GZIP_LEVEL = 6  # as Django's middleware has it
REQUESTS = 9
# Beyond the plain pages: every stretch of time, every filter that has to look for few rows among many, deep pages.
QUERIES = {
    "jump": ("?q=busy+usage", "?q=client+0500+sign-in+log"),
    "project_analytics": ("?range=24h", "?range=30d", "?range=90d"),
    "client_analytics": ("?range=24h", "?range=30d", "?range=90d"),
    "usage": (
        "?range=1h",
        "?range=24h",
        "?range=7d",
        "?range=30d",
        "?range=30d&endpoint=me",
        "?range=7d&client={client}",
        "?range=30d&client={client}",
        "?range=30d&key={key}",
    ),
    "usage_csv": ("?range=1h", "?range=7d", "?range=30d"),
    "requests": (
        "?status=5xx",
        "?code=upstream_unavailable",
        "?code=internal_error",
        "?who={client}",
        "?who={rare}",
        "?who={key}",
        "?request_id=request-77",
        "?from=2000-01-01T00:00",
        "?before=500",
        "?after=500",
    ),
    "sign_ins": ("?outcome=cancelled", "?error=app_full", "?request_id=sign-in-77", "?endpoint=token", "?before=500"),
    "clients": ("?after=500",),
    "activity": ("?kind=client", "?by=others", "?before=500"),
}


@dataclass(frozen=True)
class Figures:
    """What was measured of one address: milliseconds of each request, and the statements of one."""

    name: str
    took: list[float]
    statements: int
    size: int  # bytes
    compressed: int  # bytes

    @property
    def median(self) -> float:
        return statistics.median(self.took)

    @property
    def is_heavy(self) -> bool:
        return self.compressed > MOST_COMPRESSED


@contextlib.contextmanager
def service() -> Iterator[None]:
    """Run a PostgreSQL, and set Django up on it."""
    with contextlib.ExitStack() as stack:
        folder, database = stack.enter_context(keeper.folder()), stack.enter_context(postgres.start())
        for name in plugin.SETTINGS:
            os.environ.pop(name, None)
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "devportal.settings",
            "DATABASE_URL": f"{database.rpartition('/')[0]}/postgres",
            "DATA_DIR": str(folder / "data"),
            "CLIENTS_PER_PROJECT": "2000",
        }
        import django
        from django.core.management import call_command

        django.setup()
        from django.conf import settings

        settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # nobody signs in here
        logging.disable(logging.WARNING)
        call_command("migrate", verbosity=0)
        yield


def addresses(filled: Any) -> Iterator[tuple[str, str]]:
    """Yield name and address of each page that a GET opens: all routes of the console, with queries, and the docs."""
    from django.urls import reverse

    from devportal.console.docs.pages import PAGES
    from tests.console.test_who_may_what import ROUTES
    from tests.security.crawling import CONSOLE

    things = {
        "project_id": filled.project.public_id,
        "client_id": filled.client.client_id,
        "secret_id": filled.secret.pk,
        "key_id": filled.key.public_id,
        "member_id": filled.member.pk,
    }
    entries = {"request_detail": filled.call.pk, "sign_in_detail": filled.sign_in.pk}
    words = {"client": filled.client.client_id, "key": filled.key.public_id, "rare": "op_client_none"}
    for name, arguments in ROUTES.items():
        known = things | {"entry_id": str(entries.get(name, ""))}
        opens_for_owners = CONSOLE[name].get["owner"] == 200 or name in entries
        if not opens_for_owners or not set(arguments) <= set(known):
            continue
        address = reverse(f"console:{name}", kwargs={argument: known[argument] for argument in arguments})
        yield name, address
        for query in QUERIES.get(name, ()):
            yield f"{name} {query}", address + query.format(**words)
    for name in PAGES:
        yield f"docs {name}", reverse(f"docs_{name}")
    yield "docs try it", reverse("api_try_it")
    yield "docs search", f"{reverse('docs_search')}?q=refresh+token"


def measure(browser: Any, name: str, address: str) -> Figures:
    """Ask for an address some times, after a first time that does not count. Raises RuntimeError if it fails."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    took, body = [], b""
    with CaptureQueriesContext(connection) as queries:
        _read(browser, address)
        statements = len(queries)
    for _ in range(REQUESTS):
        started = time.perf_counter()
        body = _read(browser, address)
        took.append((time.perf_counter() - started) * 1000)
    return Figures(name, took, statements, len(body), len(gzip.compress(body, GZIP_LEVEL)))


def _read(browser: Any, address: str) -> bytes:
    """Read an answer, of a streamed one the first kilobytes: the rest is as long as its reader takes."""
    response = browser.get(address)
    if response.status_code != 200:
        raise RuntimeError(f"{address} answers {response.status_code}")
    if not response.streaming:
        return bytes(response.content)
    body = b""
    for part in response.streaming_content:
        body += part
        if len(body) > 8192:
            break
    response.close()
    return body


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="pages whose name begins so")
    parser.add_argument("--aim", type=float, default=AIM_MS, help="milliseconds that no page's median may exceed")
    options = parser.parse_args()
    with service():
        from benchmarks import console_data
        from tests.browsing import Browser

        started = time.perf_counter()
        filled = console_data.fill()
        print(f"Filled in {time.perf_counter() - started:.0f} s:")
        for name, number in console_data.totals().items():
            print(f"  {number:>12,} {name}")
        browser = Browser(SERVER_NAME="localhost")
        browser.force_login(filled.owner)
        print(f"\n| page | median ms | slowest ms | statements | kB | compressed |\n|{'---|' * 6}")
        over = []
        for name, address in addresses(filled):
            if not name.startswith(options.only):
                continue
            found = measure(browser, name, address)
            mark = " **over**" if found.median > options.aim else ""
            heavy = " **over**" if found.is_heavy else ""
            print(
                f"| {name} | {found.median:.0f}{mark} | {max(found.took):.0f} | {found.statements} "
                f"| {found.size / 1000:.0f} | {found.compressed / 1000:.1f}{heavy} |",
                flush=True,
            )
            over += [name] if mark or heavy else []
        aim = f"{options.aim:.0f} ms and {MOST_COMPRESSED / 1000:.0f} kB"
        print(f"\nAim, {aim}: {'MISSED by ' + ', '.join(over) if over else 'met by every page'}.")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
