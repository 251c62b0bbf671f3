"""What limits count by: nothing that a caller can vary at will, such as Host, port or spelling."""

import contextlib
import unicodedata

from devportal.lib.client_ip import limit_key as address

__all__ = ["address", "login", "mailbox"]

# Where dots before the @ make no difference.
_DOTLESS = frozenset({"gmail.com", "googlemail.com"})


def login(text: str) -> str:
    """Return one key for every spelling of a login: case, compatibility forms (UAX #15, NFKC), white space.

    It folds what the look-up at sign-in folds (case) and more, never less: who is counted together too often loses
    nothing, who is counted apart has more guesses.
    """
    folded = unicodedata.normalize("NFKC", text.strip()).casefold()
    return unicodedata.normalize("NFKC", folded).strip()


def mailbox(recipient: str) -> str:
    """Return one key for the addresses that arrive in one mailbox, as far as anybody can tell.

    Sign-in takes `ada+notes@…` and `ada@…` for two people; mail to both mostly reaches one.
    """
    local, _, domain = login(recipient).rpartition("@")
    with contextlib.suppress(UnicodeError):  # then it is no domain that mail could be sent to
        domain = domain.encode("idna").decode("ascii")
    local = local.partition("+")[0] or local
    if domain in _DOTLESS:
        local, domain = local.replace(".", ""), "gmail.com"
    return f"{local}@{domain}"
