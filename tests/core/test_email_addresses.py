"""The form in which email addresses are stored (core/email_addresses.py)."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from core.email_addresses import EmailAddressField, address_to_find, stored_address


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("Ada@Example.COM", "ada@example.com"),
        ("\u200b ada@example.com\ufeff\n", "ada@example.com"),
        ("\u2067ada@example.com\u2069", "ada@example.com"),  # copied from a text that runs from right to left
        ("\u3164ada@example.com\u2800", "ada@example.com"),  # drawn blank
        ("ada@bücher.example", "ada@xn--bcher-kva.example"),
        ("ada@BU\u0308CHER.example", "ada@xn--bcher-kva.example"),
        ("ada@xn--Bcher-KVA.example", "ada@xn--bcher-kva.example"),
        ("ada@faß.example", "ada@xn--fa-hia.example"),  # IDNA 2003 would mail to fass.example
        ("ada@例え。jp", "ada@xn--r8jz45g.jp"),
        ("ada@ex\u00ada\u200bmple.com", "ada@example.com"),
        ("ada@\uff45xample.com", "ada@example.com"),
        ("o'neill+notes@example.com", "o'neill+notes@example.com"),
        (f"{'a' * 64}@example.com", f"{'a' * 64}@example.com"),
    ],
)
def test_spellings_of_an_email_address_have_one_form(typed: str, stored: str) -> None:
    assert stored_address(typed) == stored_address(stored) == address_to_find(typed) == stored
    assert EmailAddressField().clean(typed) == stored


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("", "valid email address"),
        ("ada", "valid email address"),
        ("@example.com", "valid email address"),
        ("ada@", "valid email address"),
        ("ada@example", "valid email address"),
        ("ada@localhost", "valid email address"),
        ("ada@[127.0.0.1]", "valid email address"),
        ("ada@example.com\0", "valid email address"),
        (f"ada@{'b' * 64}.example", "valid email address"),
        ("åda@example.com", "has “å” before the @"),
        ("a\u0308da@example.com", "has U\\+0308 before the @"),
        ("\uff41da@example.com", "has “\uff41” before the @"),
        ("\u212aate@example.com", "has “\u212a” before the @"),  # K, which is ASCII in lower case
        ("a\u200bda@example.com", "has U\\+200B before the @"),
        ("a\0da@example.com", "has U\\+0000 before the @"),
        ("a\ud800da@example.com", "has U\\+D800 before the @"),
        ("ada l@example.com", "has a space before the @"),
        ('"ada"@example.com', 'has “"” before the @'),
        ("ada@lovelace@example.com", "has “@” before the @"),
        (".ada@example.com", "A dot"),
        ("ada.@example.com", "A dot"),
        ("a..da@example.com", "A dot"),
        (f"{'a' * 65}@example.com", "at most 64"),
        (f"{'a' * 64}@{'.'.join(['b' * 60] * 4)}.example", "at most 254"),
        ("ada@i❤.example", "contain “❤”"),
        ("ada@ex\ud800.example", "contain U\\+D800"),
        (f"ada@{'ü' * 60}.example", "not a domain"),
    ],
)
def test_an_email_address_that_cannot_be_mailed_is_refused_with_its_reason(typed: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        stored_address(typed)
    assert address_to_find(typed) == typed.strip().lower()


@pytest.mark.parametrize("domain", ["ü" * 100_000, "\u0315\u0300" * 50_000, "a" * 100_000])
def test_the_domain_of_a_long_text_is_not_encoded(domain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The form's own limit comes after this, and a request may be 256 kB."""

    def encode(*args: Any, **kwargs: Any) -> bytes:
        raise AssertionError

    monkeypatch.setattr("idna.encode", encode)
    with pytest.raises(ValidationError, match="at most 254"):
        EmailAddressField(max_length=254).clean(f"ada@{domain}.example")
    assert address_to_find(f"ada@{domain}") == f"ada@{domain}"


def test_the_empty_field_says_that_it_is_required() -> None:
    with pytest.raises(ValidationError, match="required"):
        EmailAddressField().clean(" ")
    assert EmailAddressField(required=False).clean(" ") == ""
