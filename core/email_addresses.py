"""Email addresses: the form in which all of them are stored, and the form field for them.

They are stored as mail servers use them, in lower case, with the domain in ASCII by IDNA 2008. So each spelling of an
email address leads to the same account, and everything that is stored can be mailed.
"""

import string
import unicodedata
from typing import Any

import idna
from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator

from core.invisible import shows_something, strip_invisible

MAX_LENGTH = 254  # RFC 5321 4.5.3.1.3, without the angle brackets
_TOO_LONG = f"An email address has at most {MAX_LENGTH} characters."
_MAX_LOCAL_LENGTH = 64  # RFC 5321 4.5.3.1.1
_LOCAL = frozenset(string.ascii_letters + string.digits + "!#$%&'*+-/=?^_`{|}~.")  # RFC 5322 3.2.3, "dot-atom"
_check_whole = EmailValidator(allowlist=[])


def stored_address(typed: str) -> str:
    """Return an email address in the form in which it is stored.

    Raises ValidationError, for the person who typed it, if mail can't be sent to it.
    """
    typed = strip_invisible(typed)
    if len(typed) > MAX_LENGTH:  # before the domain is encoded, which takes long for a long one
        raise ValidationError(_TOO_LONG, code="invalid")
    local, at, domain = typed.rpartition("@")
    if not (local and at):
        raise ValidationError("Enter a valid email address.", code="invalid")
    _check_local(local)
    address = f"{local}@{_ascii(domain)}".lower()
    if domain.startswith("["):  # an IP address
        raise ValidationError("Enter a valid email address.", code="invalid")
    _check_whole(address)
    if len(address) > MAX_LENGTH:
        raise ValidationError(_TOO_LONG, code="invalid")
    return address


def address_to_find(text: str) -> str:
    """Return what to look for in stored email addresses; a text that can't be one is returned in lower case."""
    try:
        return stored_address(text)
    except ValidationError:
        return text.strip().lower()


class EmailAddressField(forms.EmailField):
    """An email address, cleaned to the form in which it is stored."""

    def to_python(self, value: Any) -> Any:
        typed = super().to_python(value)
        return stored_address(typed) if typed else typed


def _check_local(local: str) -> None:
    if other := next((letter for letter in local if letter not in _LOCAL), ""):
        raise ValidationError(
            f"Mail can't be sent to an email address that has {_named(other)} before the @.", code="invalid"
        )
    if len(local) > _MAX_LOCAL_LENGTH:
        raise ValidationError(f"An email address has at most {_MAX_LOCAL_LENGTH} characters before the @.", code="long")
    if "" in local.split("."):
        raise ValidationError("A dot can't be first, last or repeated before the @.", code="invalid")


def _ascii(domain: str) -> str:
    """Return a domain in ASCII (UTS #46, which browsers use for input). One in ASCII, such as xn--…, is unchanged."""
    if domain.isascii():
        return domain
    try:
        return idna.encode(domain, uts46=True, std3_rules=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        other = next((letter for letter in unicodedata.normalize("NFC", domain) if not _may_be_in_domain(letter)), "")
    raise ValidationError(
        f"No domain can contain {_named(other)}. Check the part after the @."
        if other
        else "This is not a domain. Check the part after the @.",
        code="invalid",
    )


def _may_be_in_domain(letter: str) -> bool:
    try:
        return letter in "-." or bool(idna.encode(letter, uts46=True, std3_rules=True))
    except (idna.IDNAError, UnicodeError):
        return False


def _named(letter: str) -> str:
    """Return a character in quotation marks, or its number if it can't be seen by itself."""
    if letter == " ":
        return "a space"
    is_seen = shows_something(letter) and unicodedata.category(letter) not in ("Cs", "Co", "Cn")
    return f"“{letter}”" if is_seen else f"U+{ord(letter):04X}"
