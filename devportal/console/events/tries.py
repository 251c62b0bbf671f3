"""The tries of a delivery in sentences: what the app answered, or why there was no response, and the next step."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from core.http.hosts import is_loopback
from core.outbound.targets import TEXTS, Code, text_of
from oidc.events.sending import INTERNAL, NOT_ALLOWED, TOO_MANY

ACCEPTED = "The app accepted the event."
_NOT_ALLOWED = (
    "The URL may no longer receive events: its host is neither that of a redirect URL of this app nor on a domain "
    "that the project has proven, or it is outside of what the app’s review covers."
)
_INTERNAL = "Something went wrong on our side, so nothing was sent. We try again."
_TOO_MANY = "Too many deliveries were waiting for the app, so this one was not sent."
_UNREACHABLE_HERE = "Nothing accepts connections at this host and port of the machine on which this service runs."
_REDIRECT = "The app answered {status}, a redirect. Redirects are not followed."
_OTHER = "The app answered {status}. Only a status from 200 to 299 means that it accepted the event."
_UNKNOWN = "There was no usable response."

# The next step after a status or an error, for developers.
_STEPS_OF_STATUS: Mapping[int, str] = {
    400: "The app rejected the token. Its response may say why. Compare its checks with the ones in the docs.",
    401: "The app asks for credentials. Let it accept events without any: the signature proves where they come from.",
    403: "Something refuses the request. Look for a firewall, a check of the User-Agent, or protection against CSRF.",
    404: "Check the path of the URL.",
    405: "Let the URL accept POST.",
    413: "Let the URL accept bodies of a few kilobytes.",
    415: "Let the URL accept the content type that is described under “Format”.",
    429: "Let the app accept more requests, or answer at once and do the work later.",
}
_STEPS: Mapping[str, str] = {
    NOT_ALLOWED: "Enter another URL, add the host as a redirect URL, or prove its domain. A reviewed app may need "
    "another review.",
    TOO_MANY: "Let the app accept events quickly. Then send the delivery again.",
    Code.TIMEOUT: "Let the app answer at once and do the work later.",
    Code.UNREACHABLE: "Check that the app runs, and that no firewall blocks requests from the internet.",
    Code.CERTIFICATE: "Install a valid certificate with all intermediate certificates.",
    Code.TLS: "Turn on TLS 1.2 or newer.",
    Code.NO_ADDRESS: "Check the host name in the URL and its DNS records.",
    Code.PRIVATE_ADDRESS: "Use a host that is reachable from the internet.",
    Code.BAD_ANSWER: "Check that an HTTP server answers at this URL.",
}
_OF_REDIRECT = "Enter the URL that the redirect leads to."
_OF_SERVER_ERROR = "Look for the error in the app’s log."


@dataclass(frozen=True)
class Try:
    """One try: its time, its status or None, the seconds that it took, its result as a sentence, and the next step."""

    at: datetime
    status: int | None
    seconds: float
    text: str
    step: str = ""

    @property
    def is_accepted(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def read_try(entry: Mapping[str, Any], url: str) -> Try:
    """Return an entry of `Delivery.tries` for a page. `url` is that of the receiver."""
    at, seconds, status = datetime.fromisoformat(entry["at"]), entry["seconds"], entry.get("status")
    if status is None:
        return Try(at, None, seconds, _error_text(entry, url), _STEPS.get(entry["error"], ""))
    if 200 <= status < 300:
        return Try(at, status, seconds, ACCEPTED)
    if 300 <= status < 400:
        return Try(at, status, seconds, _REDIRECT.format(status=status), _OF_REDIRECT)
    step = _STEPS_OF_STATUS.get(status, _OF_SERVER_ERROR if status >= 500 else "")
    return Try(at, status, seconds, _OTHER.format(status=status), step)


def _error_text(entry: Mapping[str, Any], url: str) -> str:
    code = entry["error"]
    if code == NOT_ALLOWED:
        return _NOT_ALLOWED
    if code == INTERNAL:
        return _INTERNAL
    if code == TOO_MANY:
        return _TOO_MANY
    if code == Code.UNREACHABLE and is_loopback(urlsplit(url).hostname or ""):
        return _UNREACHABLE_HERE
    return text_of(code, {"error": "", **entry.get("parameters", {})}) if code in TEXTS else _UNKNOWN


# Control characters, and others that change the direction or the look of the text around them.
_HIDDEN = (
    *(number for number in (*range(0x20), *range(0x7F, 0xA0)) if chr(number) not in "\n\t"),
    *(*range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF, *range(0xFFF9, 0xFFFC)),
)
_VISIBLE = dict.fromkeys(_HIDDEN, 0xFFFD)


def visible(text: str) -> str:
    """Return a text from outside with U+FFFD instead of control characters, and with Unix line ends."""
    return text.replace("\r\n", "\n").translate(_VISIBLE)
