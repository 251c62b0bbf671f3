"""How soon a code can be sent again: the page with the code's field counts down (docs/sign-in.md#codes-sent-again)."""

from typing import Any

from django.http import HttpRequest

from devportal.lib import clock

# Seconds between two codes that one browser has sent to an address: about as long as a mail takes.
PAUSE = 60
SENT = "code_sent"  # in the session: to whom the last code went, and when


def note_code_sent(request: HttpRequest, email: str) -> None:
    """Note that a code is on its way, or what is mailed instead of one."""
    request.session[SENT] = {"to": email.lower(), "at": clock.timestamp()}


def seconds_to_wait(request: HttpRequest, email: str) -> int:
    """Return how long this browser waits until it can have another code sent to the address (seconds)."""
    sent = request.session.get(SENT, {})
    if sent.get("to") != email.lower():
        return 0
    # A clock that was set back, or another machine's, makes nobody wait longer.
    return min(max(0, sent["at"] + PAUSE - clock.timestamp()), PAUSE)


def resending(request: HttpRequest) -> dict[str, Any]:
    """Context processor: `code_wait`, how long until another code can be sent, where a page shows it."""

    def code_wait() -> dict[str, Any]:
        sent = request.session.get(SENT)
        seconds = seconds_to_wait(request, sent["to"]) if sent else 0
        return {"seconds": seconds, "words": clock.in_words(seconds)}

    return {"code_wait": code_wait}
