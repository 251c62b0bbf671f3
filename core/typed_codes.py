"""Codes that people type: reading them, and the ones from mails, twelve letters and digits with 60 bits."""

import secrets
import unicodedata

# Crockford's base 32, without letters that look like other characters (I, L, O, U).
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH, GROUP = 12, 4
_READ_AS = str.maketrans({"O": "0", "I": "1", "L": "1"})


def random_code() -> str:
    """Return a new code, in the form that people see."""
    return format_code(letters_of(secrets.token_bytes(LENGTH)))


def letters_of(random: bytes) -> str:
    """Return the characters that random bytes map to, five bits for each."""
    return "".join(ALPHABET[byte % len(ALPHABET)] for byte in random[:LENGTH])


def format_code(letters: str) -> str:
    """Return a code split into its groups."""
    return "-".join(letters[start : start + GROUP] for start in range(0, LENGTH, GROUP))


def plain_code(text: str) -> str:
    """Return the letters and digits of typed text: full-width ones, and the digits of all scripts, in ASCII."""
    # Each character separately: sorting many combining marks of a long text would take minutes.
    letters = (letter for typed in text for letter in unicodedata.normalize("NFKC", typed))
    return "".join(str(unicodedata.decimal(letter, letter)) for letter in letters if letter.isalnum())


def as_typed(text: str) -> bytes:
    """Return typed text normalized for comparison: case, spaces and hyphens, O for 0 and I for 1 do not matter."""
    return plain_code(text).upper().translate(_READ_AS).encode()
