"""Parsing MEDIA_STORAGE_URL, an object store with the S3 API (core/storage/s3.py); used by the settings."""

import ipaddress
import re
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

BACKEND = "core.storage.s3.ObjectStorage"
_FORM = (
    "MEDIA_STORAGE_URL must have the form s3://KEY:SECRET@HOST/BUCKET, with characters such as / # ? @ : in the key "
    "percent-encoded."
)
_OPTIONS = (
    "The query of MEDIA_STORAGE_URL may have region, scheme (http or https) and addressing_style (path, virtual, auto)."
)
# The hosts, buckets and regions that botocore accepts. It rejects others only when a file is stored.
_LABEL = r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)"
_HOST = re.compile(rf"(?=.{{1,255}}$)({_LABEL}\.)*{_LABEL}")
_BUCKET = re.compile(r"[A-Za-z0-9._-]{1,255}")
_REGION = re.compile(_LABEL)


def storage_options(url: str) -> dict[str, Any]:
    """Return the storage's options for `s3://key:secret@host[:port]/bucket[/folder]`, each part percent-encoded.

    The query may set `region`, `scheme` (https) and `addressing_style` (path). Without key and secret, boto3 uses those
    of the machine. Raises ValueError with a message for the operator, which does not quote the URL: it has a secret.
    """
    try:
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
        authority = _authority(parts.hostname or "", parts.port)
    except ValueError:
        raise ValueError(_FORM) from None
    bucket, _, folder = unquote(parts.path).strip("/").partition("/")
    is_whole = bool(parts.username) == bool(parts.password) and _BUCKET.fullmatch(bucket) is not None
    if parts.scheme != "s3" or not is_whole or parts.fragment:
        raise ValueError(_FORM)
    scheme, style = query.pop("scheme", "https"), query.pop("addressing_style", "path")
    region = query.pop("region", "us-east-1")
    is_known = scheme in ("http", "https") and style in ("path", "virtual", "auto") and _REGION.fullmatch(region)
    if query or not is_known:
        raise ValueError(_OPTIONS)
    return {
        "access_key": unquote(parts.username or "") or None,
        "secret_key": unquote(parts.password or "") or None,
        "bucket_name": bucket,
        "location": folder,
        "endpoint_url": f"{scheme}://{authority}",
        "region_name": region,
        "addressing_style": style,
    }


def _authority(host: str, port: int | None) -> str:
    """Return the host and port as in a URL. Raises ValueError for an invalid host."""
    if ":" in host:
        host = f"[{ipaddress.IPv6Address(host)}]"
    elif not _HOST.fullmatch(host):
        raise ValueError(host)
    return f"{host}:{port}" if port else host
