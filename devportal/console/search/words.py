"""Words of a text and of a query: what counts as one, and which mean the same."""

import re

# A query may hold this much; more is cut off.
LONGEST_QUERY = 100  # characters
MOST_WORDS = 8
_WORD = re.compile(r"[^\W_]+(?:_[^\W_]+)*")
# Too frequent to tell pages apart.
_NOISE = frozenset(
    {
        "a", "an", "and", "are", "as", "at", "be", "by", "do", "for", "from", "how", "i", "in", "is", "it",
        "my", "of", "on", "or", "the", "this", "to", "what", "when", "with",
    }
)  # fmt: skip
# What people write, and what the docs write.
_SAME = {
    "uri": "url",
    "uris": "url",
    "login": "signin",
    "logon": "signin",
    "logout": "signout",
    "logoff": "signout",
    "signup": "register",
    "jwks": "keys",
    "mfa": "factors",
    "2fa": "factors",
    "ratelimit": "limits",
    "throttling": "limits",
    "throttled": "limits",
    "quota": "limits",
    "429": "limits",
    "picture": "photo",
    "avatar": "photo",
    "callback": "redirect",
    "mail": "email",
    "ttl": "lifetimes",
    "expiry": "lifetimes",
    "lifetime": "lifetimes",
    "swagger": "openapi",
    "desktop": "installed",
    "mobile": "installed",
    "native": "installed",
    "spa": "browser",
}
_TWO_IN_ONE = re.compile(r"\b(sign|log)[ -](in|out|up|on|off)\b")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]+")


def clean(query: str) -> str:
    """Return what somebody searches for, on one line, without control characters, at most LONGEST_QUERY long."""
    return " ".join(_CONTROLS.sub(" ", query).split())[:LONGEST_QUERY].strip()


def words_of(text: str) -> list[str]:
    """Return the words of a text in the form in which they are compared.

    A name with underscores, such as an error code, is a word of its own, and its parts are words too.
    """
    found: list[str] = []
    joined = _TWO_IN_ONE.sub(r"\1\2", text.casefold().replace("e-mail", "email"))
    for word in _WORD.findall(joined):
        parts = word.split("_") if "_" in word else []
        found += [_form_of(one) for one in (word, *parts)]
    return found


def query_words(query: str) -> list[str]:
    """Return the different words of a query; a name with underscores is one word, without its parts."""
    joined = _TWO_IN_ONE.sub(r"\1\2", query.casefold().replace("e-mail", "email"))
    words = [_form_of(word) for word in _WORD.findall(joined)]
    telling = [word for word in words if word not in _NOISE] or words
    return list(dict.fromkeys(telling))[:MOST_WORDS]


def _form_of(word: str) -> str:
    word = _SAME.get(word, word)
    if "_" in word or len(word) < 4 or word.endswith("ss"):
        return word
    return word.removesuffix("s")
