"""The documentation of an entry's error: its cause and fix, and the anchor under which the docs have them."""

from dataclasses import dataclass

from devportal.console.docs.errors import API_HELP, ErrorHelp
from devportal.console.fixes import docs
from devportal.console.models import SignInEvent
from devportal.console.reason_help import HELP
from oidc.reasons import Reason


@dataclass(frozen=True)
class ErrorDocs:
    """An error or a reason as the docs have it; `help` is None for a code that the docs do not have."""

    code: str
    url: str
    help: ErrorHelp | None = None


def api_error(code: str) -> ErrorDocs | None:
    """Return the documentation of an error code of the developer API, None without a code."""
    return ErrorDocs(code, docs("errors", f"api-{code}"), API_HELP.get(code)) if code else None


def reason_docs(event: SignInEvent) -> ErrorDocs | None:
    """Return the documentation of the reason of a step that was refused or cancelled, None for another step."""
    if event.reason not in HELP:
        return None
    found = HELP[Reason(event.reason)]
    return ErrorDocs(event.reason, docs("errors", f"reason-{event.reason}"), ErrorHelp(found.cause, found.fix))
