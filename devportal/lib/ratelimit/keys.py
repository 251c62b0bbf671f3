"""Keys of rate limits, normalized so that a caller can't vary them (spelling, subaddress)."""

import contextlib
import unicodedata

from devportal.lib.client_ip import limit_key as address

__all__ = ["address", "login_key", "mailbox_key"]

# Mail providers that ignore dots before the @.
_DOTLESS = frozenset({"gmail.com", "googlemail.com"})


def login_key(text: str) -> str:
    """Return one key for every spelling of a login: case, compatibility forms (UAX #15, NFKC), white space.

    It normalizes at least as much as the look-up at sign-in does (case), because spellings that are counted separately
    would allow more guesses.
    """
    folded = unicodedata.normalize("NFKC", text.strip()).casefold()
    return unicodedata.normalize("NFKC", folded).strip()


def mailbox_key(recipient: str) -> str:
    """Return one key for all addresses that probably lead to the same mailbox.

    Sign-in takes `ada+notes@…` and `ada@…` for two people; mail to both mostly reaches one.
    """
    local, _, domain = login_key(recipient).rpartition("@")
    with contextlib.suppress(UnicodeError):  # then it is no domain that mail could be sent to
        domain = domain.encode("idna").decode("ascii")
    local = local.partition("+")[0] or local
    if domain in _DOTLESS:
        local, domain = local.replace(".", ""), "gmail.com"
    return f"{local}@{domain}"
