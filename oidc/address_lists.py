"""Lists of addresses as a developer types them: each is judged by itself and beside the others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.core.exceptions import ValidationError

from oidc.registration import check_redirect_uri, notes_on

MOST_REDIRECT_URIS = 50
MOST_SIGN_OUT_URIS = 20


@dataclass(frozen=True)
class Entry:
    """One address of a list: what is wrong with it ("" for nothing), and what its developer should know of it."""

    address: str
    error: str = ""
    notes: list[str] = field(default_factory=list)
    is_repeat: bool = False


def judge(texts: Iterable[str]) -> list[Entry]:
    """Return an entry for each text, in their order; blanks around a text do not count, an empty one is no fault."""
    addresses = [text.strip() for text in texts]
    errors = [_fault(address) for address in addresses]
    good = {address for address, error in zip(addresses, errors, strict=True) if address and not error}
    entries, seen = [], set[str]()
    for address, error in zip(addresses, errors, strict=True):
        is_repeat = bool(address) and address in seen
        seen.add(address)
        if not address or error:
            notes = []
        elif is_repeat:
            notes = ["Entered twice; kept once."]
        else:
            notes = notes_on(address, good)
        entries.append(Entry(address, error, notes, is_repeat))
    return entries


def check(texts: Sequence[str], most: int, *, required: bool = False) -> list[str]:
    """Return the addresses to keep: each once, none empty. Raises ValidationError, a sentence for the developer.

    What is wrong with one address is said with it, so that it is found in a long list.
    """
    entries = [entry for entry in judge(texts) if entry.address]
    faulty = [entry for entry in entries if entry.error]
    if faulty:
        raise ValidationError([f"{entry.address[:100]}: {entry.error}" for entry in faulty])
    kept = [entry.address for entry in entries if not entry.is_repeat]
    if len(kept) > most:
        raise ValidationError(f"A client has at most {most} of these addresses; here are {len(kept)}.")
    if required and not kept:
        raise ValidationError("Add at least one address: without one nobody can sign in.")
    return kept


def _fault(address: str) -> str:
    """Return what is wrong with an address, "" for nothing."""
    if not address:
        return ""
    try:
        check_redirect_uri(address)
    except ValidationError as error:
        return str(error.messages[0])
    return ""
