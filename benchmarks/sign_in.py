"""Measure each step of a sign-in and each page for people: python benchmarks/sign_in.py.

The whole WSGI application runs in this process, with a separate PostgreSQL and Redis and a fast password hash. Exits
with 1 if an aim is missed (docs/architecture.md#budgets).
"""

import argparse
import cProfile
import logging
import os
import pstats
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.page_browser import HOST, Answer, PageBrowser
from benchmarks.services import services

AIM_MS, AIM_STATEMENTS = 15.0, 12
PEOPLE = 40
# These pages only respond once, so they can't be measured.
SHOWN_ONCE = ("/account/2fa/recovery-codes/download/",)
REQUESTS = 25
# These limits are set higher than any run reaches, so that no step is rejected. Requests are still counted.
LIMITS = (
    "API_GUESSES_PER_MINUTE",
    "FAILURES_PER_MINUTE",
    "FORMS_PER_ADDRESS_PER_MINUTE",
    "FORMS_PER_PERSON_PER_MINUTE",
    "GUESSES_PER_ACCOUNT_AND_ADDRESS",
    "GUESSES_PER_ACCOUNT_PER_HOUR",
    "GUESSES_PER_ADDRESS_PER_MINUTE",
    "GUESSES_PER_KNOWN_BROWSER",
    "SIGN_INS_PER_MINUTE",
)


@dataclass
class Figures:
    """Figures of a step or page: milliseconds of each request; SQL statements and Redis commands of one request."""

    processor: list[float] = field(default_factory=list)
    clock: list[float] = field(default_factory=list)
    statements: int = 0
    trips: int = 0


class Meter:
    """Measures requests by name. With `counting`, it counts statements instead, which also warms up the caches."""

    def __init__(self, profiled: str = "") -> None:
        self.steps: dict[str, Figures] = {}
        self.counting = True
        self.show = ""
        self._profiled, self.profile = profiled, cProfile.Profile()

    def step(self, name: str, send: Callable[[], Answer], status: int) -> Answer:
        """Send a request and add its figures to those of `name`. Raises RuntimeError if the status is different."""
        figures = self.steps.setdefault(name, Figures())
        if self.counting:
            with counted() as (statements, trips):
                answer = send()
            figures.statements, figures.trips = len(statements), len(trips)
            if self.show and name.startswith(self.show):
                print(f"\n{name}:", *statements, f"Redis: {trips}", sep="\n  ")
        elif self._profiled and name.startswith(self._profiled):
            answer = self.profile.runcall(send)
        else:
            started, processor = time.perf_counter(), time.process_time()
            answer = send()
            figures.processor.append(1000 * (time.process_time() - processor))
            figures.clock.append(1000 * (time.perf_counter() - started))
        if answer.status != status:
            raise RuntimeError(f"{name} answered {answer.status}: {answer.text[:600]}")
        return answer


@contextmanager
def counted() -> Iterator[tuple[list[str], list[str]]]:
    """Collect the SQL statements, without transaction control, and the commands that go to Redis."""
    from redis.connection import AbstractConnection

    from tests.oidc.test_budgets import Counted

    statements: list[str] = []
    trips: list[str] = []
    real = AbstractConnection.send_packed_command

    def note(self: Any, command: Any, *args: Any, **kwargs: Any) -> Any:
        trips.append(str(command)[:120])
        return real(self, command, *args, **kwargs)  # type: ignore[no-untyped-call]

    AbstractConnection.send_packed_command = note  # type: ignore[method-assign]
    try:
        with Counted() as queries:
            yield statements, trips
    finally:
        AbstractConnection.send_packed_command = real  # type: ignore[method-assign]
    statements.extend(queries.statements)


class Walk:
    """Complete sign-ins of one person to one app, from /connect/authorize to the tokens."""

    def __init__(self, meter: Meter, application: Any, app: Any, email: str) -> None:
        self.meter, self.app, self.email = meter, app, email
        self.browser = PageBrowser(application)

    def new(self) -> None:
        """Sign in for the first time, with the consent page."""
        from tests.factories import PASSWORD

        address = self._address()
        step, browser = self.meter.step, self.browser
        came = step("new: authorize", lambda: browser.get(address), 302)
        page = step("new: sign-in page", lambda: browser.get(came.location), 200)
        form = page.form | {"login": self.email, "password": PASSWORD}
        signed_in = step("new: password form", lambda: browser.post("/account/login/", form), 302)
        back = step("new: resume", lambda: browser.get(signed_in.location), 302)
        consent = step("new: consent page", lambda: browser.get(back.location), 200)
        allowed = consent.form | {"decision": "allow"}
        answer = step("new: consent form", lambda: browser.post("/connect/consent", allowed), 200)
        step("new: token", lambda: self._exchange(answer), 200)

    def returning(self) -> None:
        """Sign in again in the same browser, with remembered consent. Then sign in once more while still signed in."""
        from tests.factories import PASSWORD

        self.browser.cookies.pop("openport_session")
        address = self._address()
        step, browser = self.meter.step, self.browser
        came = step("returning: authorize", lambda: browser.get(address), 302)
        page = step("returning: sign-in page", lambda: browser.get(came.location), 200)
        form = page.form | {"login": self.email, "password": PASSWORD}
        signed_in = step("returning: password form", lambda: browser.post("/account/login/", form), 302)
        back = step("returning: resume", lambda: browser.get(signed_in.location), 302)
        answer = step("returning: authorize, signed in", lambda: browser.get(back.location), 200)
        step("returning: token", lambda: self._exchange(answer), 200)
        again = self._address()
        answer = step("signed in: authorize", lambda: browser.get(again), 302)
        step("signed in: token", lambda: self._exchange(answer), 200)

    def _address(self) -> str:
        from urllib.parse import urlencode

        from core.credentials import random_text

        self.app.state = random_text(16)
        return f"/connect/authorize?{urlencode(self.app.parameters())}"

    def _exchange(self, answer: Answer) -> Answer:
        from urllib.parse import parse_qs, urlsplit

        code = parse_qs(urlsplit(answer.location).query)["code"][0]
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.app.redirect_uri,
            "code_verifier": self.app.verifier,
        }
        return PageBrowser(self.browser.application).post("/connect/token", form | self.app.credentials())


def walk_sign_ins(meter: Meter, application: Any, number_of_people: int) -> None:
    """Let many people sign in to one app, each three times."""
    from tests import factories
    from tests.relying_party import RelyingParty

    client, secret = factories.make_web_client()
    people = [factories.make_account() for _ in range(number_of_people)]
    for number, person in enumerate(people):
        meter.counting = number < 2
        walk = Walk(meter, application, RelyingParty(client, PageBrowser(application), secret), person.email)  # type: ignore[arg-type]
        walk.new()
        walk.returning()


def _make_world() -> Any:
    """Return the world of the tests: people with browsers, and the objects whose pages they open."""
    from django.test import Client
    from django.test.utils import setup_test_environment, teardown_test_environment

    from tests.browsing import Browser
    from tests.people_pages import make_world

    for name in ("session", "_set_login_cookies"):
        setattr(Client, name, vars(Browser)[name])
    setup_test_environment()
    try:
        return make_world()
    finally:
        teardown_test_environment()


def ask_for_pages(meter: Meter, application: Any, only: str) -> None:
    """Request every page for people and every page of the console that responds to GET."""
    from tests.people_pages import PAGES, console_pages

    world = _make_world()
    asked = [(page.address, page.role) for page in PAGES] + [(address, "owner") for address in console_pages()]
    for name, role in asked:
        if not name.startswith(only) or name in SHOWN_ONCE:
            continue
        browser, address = PageBrowser(application), world.url(name)
        browser.cookies = {kept: morsel.value for kept, morsel in world.walkers[role].browser.cookies.items()}
        for number in range(REQUESTS + 2):
            meter.counting = number < 2
            meter.step(name, partial(browser.get, address), 200)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only steps and pages with this prefix")
    parser.add_argument("--statements", default="", help="print the statements of steps and pages with this prefix")
    parser.add_argument("--profile", default="", help="print the cProfile output of steps and pages with this prefix")
    parser.add_argument("--people", type=int, default=PEOPLE, help="how many sign in, each three times")
    options = parser.parse_args()
    with services():
        os.environ |= dict.fromkeys(LIMITS, str(10**6)) | dict.fromkeys(("AUTH_URL", "BASE_URL"), f"http://{HOST}")
        os.environ |= {"DATABASE_STATEMENT_TIMEOUT_SECONDS": "60", "REDIS_TIMEOUT_SECONDS": "1"}
        import django

        django.setup()
        from django.conf import settings
        from django.core.management import call_command

        settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
        logging.disable(logging.CRITICAL)  # the database stops before this process, which would log errors
        call_command("migrate", verbosity=0)
        from devportal.wsgi import application

        meter = Meter(options.profile)
        meter.show = options.statements
        if not options.only or options.only.startswith(("new", "returning", "signed in")):
            walk_sign_ins(meter, application, options.people)
        if not options.only or options.only.startswith("/"):
            ask_for_pages(meter, application, options.only)
        from django.db import connections

        connections.close_all()
    if options.profile:
        for order in ("cumulative", "tottime"):
            pstats.Stats(meter.profile).sort_stats(order).print_stats(90)
        return 0
    return report(meter)


def report(meter: Meter) -> int:
    """Print the table and the missed aims, and return the exit code."""
    print(f"| | statements | trips to Redis | processor ms | clock ms |\n|{'---|' * 5}")
    missed = []
    for name, found in meter.steps.items():
        if not found.processor:
            continue
        processor = statistics.median(found.processor)
        few_enough = found.statements <= AIM_STATEMENTS or name.startswith("/console/")
        over = "" if processor <= AIM_MS and few_enough else " **over**"
        print(
            f"| {name} | {found.statements} | {found.trips} | {processor:.1f}{over} "
            f"| {statistics.median(found.clock):.1f} |"
        )
        missed += [name] if over else []
    result = f"MISSED by {', '.join(missed)}" if missed else "met"
    print(f"\nAims, {AIM_STATEMENTS} statements and {AIM_MS:.0f} ms: {result}.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
