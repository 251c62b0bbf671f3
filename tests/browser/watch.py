"""Watch everything that a browser profile loads, and collect the faults."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Request, Response, WebError

# Chromium reports most violations of the policy on the console. This reports the others as well.
REPORT_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy violated: ${event.effectiveDirective} by ${event.blockedURI}`);
});
"""
ABORTED = "net::ERR_ABORTED"


@dataclass
class Watch:
    """The faults in one browser profile: console errors, policy violations, failed requests and error responses."""

    context: BrowserContext
    faults: list[str] = field(default_factory=list)
    _expected: set[tuple[str, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.context.add_init_script(REPORT_VIOLATIONS)
        self.context.on("console", self._console)
        self.context.on("weberror", self._error)
        self.context.on("response", self._response)
        self.context.on("requestfailed", self._failed)

    def expect(self, path: str, status: int) -> None:
        """Do not count responses with this status at this path as faults."""
        self._expected.add((path, status))

    def check(self) -> None:
        """Fail if there have been faults so far."""
        assert not self.faults, "\n".join(self.faults)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type not in ("error", "warning"):
            return
        # The console also reports error responses, whose status is checked in `_response`.
        path = urlsplit(message.location["url"]).path
        if not any(path == expected for expected, _ in self._expected):
            self.faults.append(f"console: {message.text} ({message.location['url']})")

    def _error(self, error: WebError) -> None:
        self.faults.append(f"script: {error.error}")

    def _response(self, response: Response) -> None:
        path = urlsplit(response.url).path
        if response.status >= 400 and (path, response.status) not in self._expected:
            self.faults.append(f"{response.status}: {response.request.method} {response.url}")

    def _failed(self, request: Request) -> None:
        # A click while a page is still loading aborts its requests.
        if request.failure != ABORTED:
            self.faults.append(f"{request.failure}: {request.method} {request.url}")
