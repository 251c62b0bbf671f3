"""Which addresses a client may register (specification 2.7); the sentences are for its developer to read."""

from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from oauthlib.uri_validate import is_absolute_uri

LOOPBACK = ("localhost", "127.0.0.1")
LONGEST = 2000
DEFAULT_PORTS = {"http": 80, "https": 443}


def check_redirect_uri(uri: str) -> None:
    """Refuse an address that a client may not register. Raises ValidationError with the exact reason."""
    if len(uri) > LONGEST:
        raise ValidationError(f"An address may have at most {LONGEST} characters.")
    if any(character <= " " or character > "~" for character in uri):
        raise ValidationError(
            "An address holds no spaces and only ASCII characters; percent-encode the others."
        )
    if "*" in uri:
        raise ValidationError("Wildcards are not supported: add each address.")
    if "#" in uri:
        raise ValidationError("Remove the part after #.")
    try:
        parts = urlsplit(uri)
        port = parts.port
    except ValueError as error:
        raise ValidationError("This is not a web address.") from error
    if parts.scheme not in ("http", "https"):
        raise ValidationError("Custom schemes are not accepted; use an https link that your app claims.")
    if not parts.hostname or port == 0 or not is_absolute_uri(uri):
        raise ValidationError("This is not a web address.")
    if "@" in parts.netloc:
        raise ValidationError("Remove the user name before @.")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise ValidationError("http is allowed only for localhost and 127.0.0.1.")
    if (parts.hostname, port or DEFAULT_PORTS[parts.scheme]) in _own_addresses():
        raise ValidationError("This is an address of the service itself.")


def _own_addresses() -> set[tuple[str | None, int]]:
    parts = [urlsplit(address) for address in (settings.AUTH_URL, settings.BASE_URL)]
    return {(part.hostname, part.port or DEFAULT_PORTS[part.scheme]) for part in parts}
