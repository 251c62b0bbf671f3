"""Codes that people type from a mail: twelve letters and digits in groups of four, 60 bits."""

import secrets

# Crockford's base 32, without what is easily taken for something else (I, L, O, U).
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH, GROUP = 12, 4
_READ_AS = str.maketrans({"O": "0", "I": "1", "L": "1"})


def random_code() -> str:
    """Return a new code, as it is shown."""
    return format_code(letters_of(secrets.token_bytes(LENGTH)))


def letters_of(random: bytes) -> str:
    """Return the letters that random bytes make, five bits of each."""
    return "".join(ALPHABET[byte % len(ALPHABET)] for byte in random[:LENGTH])


def format_code(letters: str) -> str:
    """Return a code in its groups."""
    return "-".join(letters[start : start + GROUP] for start in range(0, LENGTH, GROUP))


def as_typed(text: str) -> bytes:
    """Return what was typed as it is compared: case, spaces and hyphens, and O for 0 or I for 1, make no difference."""
    letters = "".join(letter for letter in text.upper() if letter.isalnum())
    return letters.translate(_READ_AS).encode()
