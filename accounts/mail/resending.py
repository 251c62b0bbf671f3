"""How soon a code can be sent again: the page with the code's field counts down (docs/sign-in.md#codes-sent-again)."""

from typing import Any

from django.http import HttpRequest

from devportal.lib import clock

# Seconds between two codes that one browser has sent to an address: about as long as a mail takes.
PAUSE = 60
SENT = "code_sent"  # in the session: to whom the last code went, and when


def note_code_sent(request: HttpRequest, email: str, *, signing_up: bool | None = None) -> None:
    """Note that a code is on its way, or what is mailed instead of one; None: it goes on with what it was for."""
    before: dict[str, Any] = request.session.get(SENT, {})
    if signing_up is None:
        signing_up = before.get("to") == email.lower() and before.get("signing_up", False)
    request.session[SENT] = {"to": email.lower(), "at": clock.timestamp(), "signing_up": signing_up}


def interrupted_sign_up(request: HttpRequest) -> str:
    """Return the address of a sign-up that this browser began and has not finished, "" if there is none."""
    sent: dict[str, Any] = request.session.get(SENT, {})
    return sent["to"] if sent.get("signing_up") and not request.user.is_authenticated else ""


def seconds_to_wait(request: HttpRequest, email: str) -> int:
    """Return how long this browser waits until it can have another code sent to the address (seconds)."""
    sent: dict[str, Any] = request.session.get(SENT, {})
    if sent.get("to") != email.lower():
        return 0
    # A clock that was set back, or another machine's, makes nobody wait longer.
    left: int = sent["at"] + PAUSE - clock.timestamp()
    return min(max(0, left), PAUSE)


def resending(request: HttpRequest) -> dict[str, Any]:
    """Context processor, for pages that show it: `code_wait`, until another code can be sent, and `interrupted`."""

    def code_wait() -> dict[str, Any]:
        sent = request.session.get(SENT)
        seconds = seconds_to_wait(request, sent["to"]) if sent else 0
        return {"seconds": seconds, "words": clock.in_words(seconds)}

    return {"code_wait": code_wait, "interrupted": lambda: interrupted_sign_up(request)}
