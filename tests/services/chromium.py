"""An installed Chromium, driven without a screen through Playwright.

Playwright marks the thread it is used on as running an event loop, and Django gives such a thread other
database connections than the test has: what the test wrote in its transaction would be gone. So the browser
has a separate thread, and a test hands it the steps to take there.
"""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright

T = TypeVar("T")

# The shell is Chromium without the program around its pages, and takes half the processor time or less.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
MAC_APPS = ("Chromium.app/Contents/MacOS/Chromium", "Google Chrome.app/Contents/MacOS/Google Chrome")
# How long `expect` waits: other tests run at the same time, and a page's answer may take some seconds then.
PATIENCE = 15_000  # milliseconds
# The tests talk to loopback only; without these, Chromium calls its maker's hosts at every start.
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def why_missing() -> str | None:
    """Says why no browser can be started here, or None when one can."""
    return None if path() else f"no browser: none of {', '.join(NAMES)} is on the PATH"


def path() -> str | None:
    """Returns the browser's program, or None."""
    on_path = next(filter(None, map(shutil.which, NAMES)), None)
    apps = (str(Path("/Applications") / app) for app in MAC_APPS)
    return on_path or next((app for app in apps if os.access(app, os.X_OK)), None)


def flags() -> list[str]:
    """Returns the flags to start it with. Its sandbox refuses to work for root."""
    return [*FLAGS, "--no-sandbox"] if os.geteuid() == 0 else list(FLAGS)


class Chromium:
    """A running browser; what is handed to it runs on its thread, where the database is not to be used."""

    def __init__(self, thread: ThreadPoolExecutor, browser: Browser) -> None:
        self._thread = thread
        self._browser = browser

    def visit(self, steps: Callable[[Page], T], **options: Any) -> T:
        """Returns what `steps` return for a page of a new profile, made with Playwright's context options."""

        def take() -> T:
            with self._browser.new_context(**options) as context:
                return steps(context.new_page())

        return self._thread.submit(take).result()

    def use(self, steps: Callable[[Browser], T]) -> T:
        """Returns what `steps` return for the browser: for several profiles, or one kept for later."""
        return self._thread.submit(steps, self._browser).result()


@contextlib.contextmanager
def start() -> Iterator[Chromium]:
    """Yields a browser without a profile; each visit has a new one."""
    with ThreadPoolExecutor(1, thread_name_prefix="chromium") as thread:
        playwright, browser = thread.submit(_launch).result()
        try:
            yield Chromium(thread, browser)
        finally:
            thread.submit(browser.close).result()
            thread.submit(playwright.stop).result()


def _launch() -> tuple[Playwright, Browser]:
    expect.set_options(timeout=PATIENCE)
    playwright = sync_playwright().start()
    try:
        return playwright, playwright.chromium.launch(executable_path=path(), args=flags())
    except BaseException:
        playwright.stop()
        raise
