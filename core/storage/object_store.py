"""Parsing MEDIA_STORAGE_URL, an object store with the S3 API (core/storage/s3.py); used by the settings."""

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

BACKEND = "core.storage.s3.ObjectStorage"
_FORM = "MEDIA_STORAGE_URL is not of the form s3://KEY:SECRET@HOST/BUCKET (docs/settings.md)."
_OPTIONS = (
    "The query of MEDIA_STORAGE_URL may have region, scheme (http or https) and addressing_style (path, virtual, auto)."
)


def storage_options(url: str) -> dict[str, Any]:
    """Return the storage's options for `s3://key:secret@host[:port]/bucket[/folder]`, each part percent-encoded.

    The query may set `region`, `scheme` (https) and `addressing_style` (path). Without key and secret, boto3 uses those
    of the machine. Raises ImproperlyConfigured, without quoting the URL, which contains a secret.
    """
    try:
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise ImproperlyConfigured(_FORM) from None
    bucket, _, folder = unquote(parts.path).strip("/").partition("/")
    is_whole = bool(parts.username) == bool(parts.password) and bool(parts.hostname and bucket)
    if parts.scheme != "s3" or not is_whole or parts.fragment:
        raise ImproperlyConfigured(_FORM)
    scheme, style = query.pop("scheme", "https"), query.pop("addressing_style", "path")
    region = query.pop("region", "us-east-1")
    if query or scheme not in ("http", "https") or style not in ("path", "virtual", "auto"):
        raise ImproperlyConfigured(_OPTIONS)
    return {
        "access_key": unquote(parts.username or "") or None,
        "secret_key": unquote(parts.password or "") or None,
        "bucket_name": bucket,
        "location": folder,
        "endpoint_url": f"{scheme}://{parts.hostname}{port}",
        "region_name": region,
        "addressing_style": style,
    }
