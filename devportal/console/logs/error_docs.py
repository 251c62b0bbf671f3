"""The documentation of an entry's error: its cause and fix, and the anchor under which the docs have them."""

from dataclasses import dataclass

from devportal.console.docs.errors import API_HELP, AUTHORIZATION_HELP, TOKEN_HELP, ErrorHelp
from devportal.console.mends import docs
from oidc import sign_in_log


@dataclass(frozen=True)
class ErrorDocs:
    """An error as the docs have it; `help` is None for an outcome that is a page and no error code."""

    code: str
    url: str
    help: ErrorHelp | None = None


def api_error(code: str) -> ErrorDocs | None:
    """Return the documentation of an error code of the developer API, None without a code."""
    return _find(code, "api", API_HELP.get(code)) if code else None


def sign_in_error(endpoint: str, code: str) -> ErrorDocs | None:
    """Return the documentation of an error of the sign-in service, None without a code."""
    if not code:
        return None
    if endpoint == sign_in_log.AUTHORIZE:
        return _find(code, "authorization", AUTHORIZATION_HELP.get(code))
    _, help_ = TOKEN_HELP.get(code, (0, None))
    return _find(code, "token", help_)


def _find(code: str, prefix: str, help_: ErrorHelp | None) -> ErrorDocs:
    # What people see instead of an error stands under an anchor of its own.
    return ErrorDocs(code, docs("errors", f"{prefix}-{code}" if help_ else "pages"), help_)
