"""Rules for the values that operators declare about an API (docs/apis.md#declaring-an-api).

Each function raises ValidationError with a message for the operator.
"""

import re
import unicodedata
from urllib.parse import unquote_to_bytes, urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError

from oidc.apis.registry import ACCOUNT_API, ACCOUNT_READ, IDENTITY_SCOPES
from oidc.values.redirect_uris import (
    HAS_FRAGMENT,
    HAS_USERINFO,
    HOST_RULES,
    LOOPBACK_HOSTS,
    NOT_ASCII,
    Rule,
    apply_rules,
    is_own_address,
    split_web_address,
    too_long,
)

MAX_URL_LENGTH = 500
MAX_NAME_LENGTH = 100
MAX_TITLE_LENGTH = 200
MAX_TEXT_LENGTH = 2000
MAX_SCOPE_LENGTH = 100
MAX_PATH_LENGTH = 300
MAX_SLUG_LENGTH = 32
MAX_SCOPES = 100  # of one API
MAX_RULES = 100  # of one API
MAX_CALLS_PER_MINUTE = 10_000_000
ANY_METHOD = "*"

# `me` is what the usage of `/v1/me` is counted under, where other APIs are counted under their slugs.
RESERVED_SLUGS = frozenset({ACCOUNT_API, "me"})
# `address` and `phone` are scopes of OpenID Connect too (Core 5.4), which this service does not have.
RESERVED_SCOPES = frozenset({*(scope.name for scope in IDENTITY_SCOPES), ACCOUNT_READ, "address", "phone"})

_OWN_API = "v1"  # the first part of the paths of the developer API
_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]*")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")  # RFC 6749 §3.3
_METHOD = re.compile(r"[A-Z][A-Z0-9-]{0,9}")  # tokens of RFC 9110 §5.6.2 that code can repeat unquoted
_PATH = re.compile(r"/[\x21\x24-\x29\x2b-\x3e\x40-\x5b\x5d-\x7e]*\*?")  # ASCII without space, ", #, *, ? and \
# In a rule: a space, a quote and UTF-8. Other characters are written as they are.
_ENCODED = re.compile(r"%(?:20|22|[89A-Fa-f][0-9A-Fa-f])")


def _is_plain_http(uri: str) -> bool:
    parts = urlsplit(uri)
    return parts.scheme == "http" and not (settings.EMBEDDED and parts.hostname in LOOPBACK_HOSTS)


def _is_the_service(uri: str) -> bool:
    """Return whether a URL is this service's origin or a path of `/v1`, which apps could confuse."""
    first = urlsplit(uri).path.removeprefix("/").partition("/")[0]
    return is_own_address(uri) and first in ("", _OWN_API)


_WEB_RULES: tuple[Rule, ...] = (
    too_long(MAX_URL_LENGTH),
    NOT_ASCII,
    (
        lambda uri: uri.lower().startswith(("http:", "https:")) and not uri.startswith(("http:", "https:")),
        "Write the scheme in lower case: URLs are compared character by character.",
    ),
    HAS_USERINFO,
    (
        lambda uri: not uri.startswith(("http://", "https://")) or split_web_address(uri) is None,
        "This is not an absolute URL. Enter one like https://calendar.example.com.",
    ),
    (
        _is_plain_http,
        "The URL has to begin with https. Only the embedded environment accepts http, for localhost and 127.0.0.1.",
    ),
    *HOST_RULES,
)
_IDENTIFIER_RULES: tuple[Rule, ...] = (
    HAS_FRAGMENT,
    *_WEB_RULES,
    (
        _is_the_service,
        "This URL belongs to the service itself. Enter the URL of the API.",
    ),
)


def validate_identifier(uri: str) -> None:
    """Validate an identifier: an absolute https URI without fragment (RFC 8707 §2), not one of this service."""
    apply_rules(_IDENTIFIER_RULES, uri)


def validate_url(uri: str) -> None:
    """Validate the URL of the documentation or of the OpenAPI document."""
    apply_rules(_WEB_RULES, uri)


def validate_slug(slug: str) -> None:
    """Validate a slug: lower-case letters, digits, hyphens and underscores, not reserved."""
    if len(slug) > MAX_SLUG_LENGTH or _SLUG.fullmatch(slug) is None:
        raise ValidationError(
            f"A slug has at most {MAX_SLUG_LENGTH} lower-case letters, digits, hyphens and underscores, and begins "
            "with a letter or a digit."
        )
    if slug in RESERVED_SLUGS:
        raise ValidationError("The service itself uses this slug. Choose another one.")


def validate_scope_name(name: str) -> None:
    """Validate the name of a scope (RFC 6749 §3.3)."""
    if len(name) > MAX_SCOPE_LENGTH:
        raise ValidationError(f"The name of a scope may have at most {MAX_SCOPE_LENGTH} characters.")
    if _SCOPE.fullmatch(name) is None:
        raise ValidationError(
            "The name of a scope may contain ASCII letters, digits and punctuation, but no spaces, quotes or "
            "backslashes. Enter one like calendar.read."
        )
    if name.lower() in RESERVED_SCOPES:
        raise ValidationError("This scope belongs to the service itself. Choose another name.")


def validate_line(text: str) -> None:
    """Validate a name or a sentence: one line that is not blank, without control and invisible characters."""
    if not text.strip():
        raise ValidationError("Enter some text.")
    if any(unicodedata.category(character).startswith("C") for character in text):
        raise ValidationError("Remove the line breaks, control characters and invisible characters.")


def validate_text(text: str) -> None:
    """Validate a longer text, which may have several lines."""
    if len(text) > MAX_TEXT_LENGTH:
        raise ValidationError(f"The text may have at most {MAX_TEXT_LENGTH} characters.")
    if any(unicodedata.category(character) in ("Cc", "Cs") and character not in "\t\r\n" for character in text):
        raise ValidationError("Remove the control characters.")


def validate_limit(calls: int) -> None:
    """Validate a number of requests per minute."""
    if not 1 <= calls <= MAX_CALLS_PER_MINUTE:
        raise ValidationError(f"Enter a number from 1 to {MAX_CALLS_PER_MINUTE}.")


def validate_method(method: str) -> None:
    """Validate the method of a rule: `*`, or a method of HTTP in capitals."""
    if method != ANY_METHOD and _METHOD.fullmatch(method) is None:
        raise ValidationError("A method is * or has up to 10 capitals, digits and hyphens, such as GET.")


def validate_path(path: str) -> None:
    """Validate the path of a rule: a path, or a prefix that ends in `*`."""
    if len(path) > MAX_PATH_LENGTH:
        raise ValidationError(f"A path may have at most {MAX_PATH_LENGTH} characters.")
    if not path.startswith("/"):
        raise ValidationError("A path begins with a slash, such as /events.")
    if "*" in path[:-1]:
        raise ValidationError("A path may have one *, and only at its end.")
    if _PATH.fullmatch(path) is None:
        raise ValidationError("A path has no query, no fragment, and only ASCII characters without spaces.")
    if any(segment in (".", "..") for segment in path.split("/")):
        raise ValidationError("A path has no segments . or .., because servers resolve them before a rule is compared.")
    if not _is_well_encoded(path):
        raise ValidationError(
            "Percent-encode only spaces, quotes and characters that are not ASCII, such as %20 and %C3%A9, and these "
            "as UTF-8 in NFKC. Write all other characters as they are."
        )


def _is_well_encoded(path: str) -> bool:
    """Return whether rules can be compared with the decoded path of a call after `path` is decoded."""
    if "%" in _ENCODED.sub("", path):
        return False
    try:
        decoded = unquote_to_bytes(path).decode()
    except UnicodeDecodeError:
        return False
    return unicodedata.is_normalized("NFKC", decoded)
