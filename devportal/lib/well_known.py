"""Well-known URLs of metadata documents: the well-known name is inserted between host and path.

RFC 8414 §3.1 says so for an issuer, RFC 9728 §3.1 for a protected resource. A proxy that strips the path leaves the
bare name, so that both URLs lead to the document.
"""

from urllib.parse import urlsplit


def address(base: str, name: str) -> str:
    """Return the URL of the document `name` about `base`, which has no trailing slash."""
    parts = urlsplit(base)
    return f"{parts.scheme}://{parts.netloc}/.well-known/{name}{parts.path}"


def is_about(base: str, rest: str) -> bool:
    """Return whether `rest`, the part of the path after the well-known name, fits the document about `base`."""
    return rest in ("", urlsplit(base).path)
