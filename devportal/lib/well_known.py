"""Where metadata documents stand: the well-known name goes between host and path of what it describes.

RFC 8414 §3.1 says so of an issuer, RFC 9728 §3.1 of a protected resource. A proxy that cuts the path off, as it has to
for all that is mounted here, leaves the bare name; so both lead to the document.
"""

from urllib.parse import urlsplit


def address(base: str, name: str) -> str:
    """Return the address of the document `name` about `base`, which has no slash at its end."""
    parts = urlsplit(base)
    return f"{parts.scheme}://{parts.netloc}/.well-known/{name}{parts.path}"


def is_about(base: str, rest: str) -> bool:
    """Tell whether what follows the name in a request's path, "" or "/…", is that of the document about `base`."""
    return rest in ("", urlsplit(base).path)
