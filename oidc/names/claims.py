"""Reject names that claim a review, or look like a message of the service itself (docs/console.md#names).

People see the name of an app next to the service's own name on the consent page and in mails. The words are English,
because the service's pages are.
"""

import functools
import re
import unicodedata

from django.conf import settings
from django.core.exceptions import ValidationError

from oidc.names.skeletons import Readings, skeletons

# Words for the result of a review. "Verified" claims a review anywhere in a name, "Official" at its end. All of them
# claim one before "by", or if set apart at the end of a name, as in "Orbit (approved)".
_RESULTS = (
    "approved", "audited", "authorised", "authorized", "certified", "checked", "endorsed", "official", "recommended",
    "reviewed", "trusted", "verified", "vetted",
)  # fmt: skip
_ANYWHERE = (
    "verified",
    *(f"{result}by" for result in _RESULTS if result != "official"),
    *(f"{before}{result}" for before in ("been", "officially", "was") for result in _RESULTS if result != "official"),
)
_AT_THE_END = ("official",)
# The service could have written a name that consists only of these words, with at least one from _SPEAKING: "Support",
# "Account Security", "Sign in to your account".
_SPEAKING = (
    "2fa", "account", "accounts", "admin", "administration", "administrator", "appreview", "authentication",
    "authenticator", "authorization", "fraud", "help", "login", "logon", "logout", "mfa", "moderator", "passcode",
    "passkey", "passkeys", "password", "passwords", "reviewer", "reviewers", "reviewteam", "security", "signin",
    "signon", "signout", "signup", "sso", "staff", "support", "trustandsafety", "trustsafety", "verification", "verify",
    *_RESULTS,
)  # fmt: skip
_BESIDE = (
    "a", "access", "agent", "alert", "alerts", "an", "and", "app", "application", "apps", "at", "billing", "by", "care",
    "center", "centre", "change", "chat", "check", "client", "clients", "code", "codes", "confirm", "confirmation",
    "contact", "customer", "customers", "department", "desk", "email", "factor", "for", "from", "here", "id",
    "identity", "in", "info", "is", "legal", "live", "mail", "member", "members", "message", "messages", "multi", "my",
    "new", "notice", "notices", "notification", "notifications", "now", "of", "on", "online", "our", "page", "payment",
    "payments", "portal", "prevention", "privacy", "profile", "recover", "recovery", "required", "reset", "restore",
    "review", "reviews", "safe", "safety", "secure", "service", "services", "session", "sessions", "settings", "site",
    "step", "system", "team", "teams", "tech", "technical", "the", "this", "to", "two", "update", "updates", "us",
    "user", "users", "web", "with", "your",
)  # fmt: skip
# Beginnings of sentences that the service would write to a person.
_BEGINNINGS = (
    "sign in to", "sign in with", "log in to", "log in with", "login to", "login with", "your account", "your password",
    "verify your", "confirm your account", "confirm your identity", "confirm your email", "secure your account",
    "unlock your account", "security alert", "security notice", "account alert",
)  # fmt: skip
_SHORT = 3  # letters: words this short count only if they stand alone, otherwise "Supporta" would be "support a"
# ✓ ✔ ☑ ✅ 🗸 and others, and a square root sign that is not followed by something to take the root of.
_CHECK_MARK_WORD = "CHECK"
_ROOT = re.compile(r"√(?!\s*[\w(])|√(?=\s+[^\W\d])")


def check_claims(name: str, readings: Readings) -> None:
    """Raise ValidationError for a name that claims a review, or that looks like a message of the service itself."""
    if mark := _check_mark(name):
        raise ValidationError(
            f"A name can't contain “{mark}”: people would read it as the result of a review. Remove it."
        )
    if claim := _claim_anywhere(readings):
        raise ValidationError(
            f"A name can't contain “{claim}”: people would read it as the result of a review. Remove it."
        )
    if claim := _claim_at_the_end(readings):
        raise ValidationError(
            f"A name can't end with “{claim}”: people would read it as the result of a review. Remove it."
        )
    service = settings.SERVICE_NAME
    if beginning := _beginning(readings):
        raise ValidationError(
            f"A name can't begin with “{beginning}”: it looks like a message from {service} itself."
            " Begin with the name of your product."
        )
    if _is_the_service_speaking(readings):
        raise ValidationError(
            f"“{name.strip()}” looks as if it came from {service} itself. Add the name of your product, as in"
            " “Orbit Support”."
        )


def _check_mark(name: str) -> str:
    """Return the first check mark of a name, "" if it has none."""
    for character in name:
        if _CHECK_MARK_WORD in unicodedata.name(character, "").split():
            return character
    return "√" if _ROOT.search(name) else ""


@functools.cache
def _targets(word: str) -> frozenset[str]:
    """Return the skeletons of a word."""
    return frozenset(skeletons(word)) - {""}


def _word_ends(readings: Readings, word: str, start: int) -> set[int]:
    """Return where a whole word that begins at `start` may end. Empty if it is part of a longer word."""
    ends = {end for target in _targets(word) for end in readings.ends(target, start)}
    return set(filter(readings.is_word_end, ends)) if readings.is_word_start(start) else set()


def _claim_anywhere(readings: Readings) -> str:
    """Return the first part of a name that claims a review anywhere, "" if there is none."""
    for word in _ANYWHERE:
        for start in readings.starts(word):
            if ends := _word_ends(readings, word, start):
                return readings.text[start : min(ends)]
    return ""


def _claim_at_the_end(readings: Readings) -> str:
    """Return the end of a name if it claims a review, otherwise ""."""
    for word in _RESULTS:
        for start in readings.starts(word):
            last = {end for end in _word_ends(readings, word, start) if _is_nothing(readings.text[end:])}
            if last and (word in _AT_THE_END or _is_set_apart(readings.text[:start])):
                return readings.text[start : min(last)]
    return ""


def _is_nothing(text: str) -> bool:
    return not any(map(str.isalnum, text))


def _is_set_apart(before: str) -> bool:
    """Return whether a word after this text is set apart from it, by a bracket, a dash, a colon or the like."""
    kept = before.rstrip()
    if not kept or kept[-1].isalnum() or unicodedata.category(kept[-1])[0] not in "PS":
        return False
    return kept != before or kept[-1] not in "-’'./&"  # "FDA-approved" is one word


def _beginning(readings: Readings) -> str:
    """Return the beginning of a name that only the service would write, "" if it has none."""
    start = next((place for place, character in enumerate(readings.text) if character.isalnum()), 0)
    for words in _BEGINNINGS:
        if ends := _word_ends(readings, words.replace(" ", ""), start):
            return readings.text[start : min(ends)]
    return ""


def _is_the_service_speaking(readings: Readings) -> bool:
    """Return whether the name consists only of words in _SPEAKING and _BESIDE, with at least one from _SPEAKING."""
    length = len(readings.text)
    reached = {(0, False)}
    waiting = [(0, False)]
    while waiting:
        start, speaks = waiting.pop()
        if speaks and _is_nothing(readings.text[start:]):
            return True
        for words, counts in ((_SPEAKING, True), (_BESIDE, False)):
            for word in words:
                for end in _part_ends(readings, word, start):
                    state = (end, speaks or counts)
                    if end <= length and state not in reached:
                        reached.add(state)
                        waiting.append(state)
    return False


def _part_ends(readings: Readings, word: str, start: int) -> set[int]:
    """Return where a word that begins at `start` may end. Long words may be joined, as in "AccountSecurity"."""
    ends = {end for target in _targets(word) for end in readings.ends(target, start)}
    if len(word) > _SHORT:
        return ends
    first = next((place for place in range(start, len(readings.text)) if readings.text[place].isalnum()), start)
    return set(filter(readings.is_word_end, ends)) if readings.is_word_start(first) else set()
