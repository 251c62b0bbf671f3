"""An installed Chromium, driven without a screen through Playwright.

Playwright makes its thread look as if it ran an event loop. Django gives such a thread its own database connections,
which would not see what the test wrote in its transaction. So the browser runs in a separate thread, and a test passes
it the steps to take there.
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

# The headless shell is Chromium without its user interface, and takes at most half the processor time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
MAC_APPS = ("Chromium.app/Contents/MacOS/Chromium", "Google Chrome.app/Contents/MacOS/Google Chrome")
# How long `expect` waits. Other tests run at the same time, so a page may take some seconds to respond.
PATIENCE = 15_000  # milliseconds
# The tests only use loopback addresses. Without these flags, Chromium calls hosts of its vendor at every start.
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def why_missing() -> str | None:
    """Return why no browser can be started here, or None if one can."""
    return None if path() else f"no browser: none of {', '.join(NAMES)} is on the PATH"


def path() -> str | None:
    """Return the path of the browser's program, or None if there is none."""
    on_path = next(filter(None, map(shutil.which, NAMES)), None)
    apps = (str(Path("/Applications") / app) for app in MAC_APPS)
    return on_path or next((app for app in apps if os.access(app, os.X_OK)), None)


def flags() -> list[str]:
    """Return the flags to start the browser with. Its sandbox does not work for root."""
    return [*FLAGS, "--no-sandbox"] if os.geteuid() == 0 else list(FLAGS)


class Chromium:
    """A running browser. The steps that it gets run in its thread, where they must not use the database."""

    def __init__(self, thread: ThreadPoolExecutor, browser: Browser) -> None:
        self._thread = thread
        self._browser = browser

    def visit(self, steps: Callable[[Page], T], **options: Any) -> T:
        """Return the result of `steps` for a page of a new profile, which has these context options of Playwright."""

        def take() -> T:
            with self._browser.new_context(**options) as context:
                return steps(context.new_page())

        return self._thread.submit(take).result()

    def use(self, steps: Callable[[Browser], T]) -> T:
        """Return the result of `steps` for the browser: for several profiles, or for one that is kept for later."""
        return self._thread.submit(steps, self._browser).result()


@contextlib.contextmanager
def start() -> Iterator[Chromium]:
    """Yield a browser without a profile; each visit has a new one."""
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
