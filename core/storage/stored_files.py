"""Uploaded files, in DATA_DIR or in an object store: functions to read, store and delete them, and one exception.

Views serve the files, so that each view decides who may see them. URLs of the store are never shown
(docs/operations.md#static-and-uploaded-files).
"""

import logging
from collections.abc import Callable
from typing import Any

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.http import Http404, HttpResponse

log = logging.getLogger(__name__)

RETRY_SECONDS = 30


class StoreUnavailable(OSError):
    """The store does not respond, or refuses: a full disk, or an object store that is down."""


def _attempt(action: str, do: Callable[[], Any]) -> Any:
    try:
        return do()
    except FileNotFoundError:
        raise
    except StoreUnavailable as error:
        log.warning("%s an uploaded file failed. %s", action, error)
        raise
    except OSError as error:
        log.warning("%s an uploaded file failed: %s.", action, error.strerror)
        raise StoreUnavailable(f"{action} failed") from error


def _read(name: str) -> bytes:
    with default_storage.open(name, "rb") as file:
        content: bytes = file.read()
    return content


def read_file(name: str) -> bytes:
    """Return a stored file. Raises FileNotFoundError, StoreUnavailable."""
    content: bytes = _attempt("Reading", lambda: _read(name))
    return content


def open_file(name: str) -> File[bytes]:
    """Return a stored file, open for reading; the caller closes it. Raises FileNotFoundError, StoreUnavailable."""
    file: File[bytes] = _attempt("Reading", lambda: default_storage.open(name, "rb"))
    return file


def save_file(folder: str, content: File[bytes]) -> str:
    """Store a file below `folder`, which ends in a slash, and return its name. Raises StoreUnavailable."""
    name: str = _attempt("Storing", lambda: default_storage.save(f"{folder}{content.name}", content))
    return name


def delete_file(name: str) -> None:
    """Delete a file, which may already be deleted. Raises StoreUnavailable."""
    _attempt("Deleting", lambda: default_storage.delete(name))


def image_response(read: Callable[[], bytes], cache_control: str) -> HttpResponse:
    """Return a WebP, or 503 if the store does not respond; no header reveals the stored file.

    Raises Http404 if the file is missing, for example after a backup without files was restored.
    """
    try:
        response = HttpResponse(read(), content_type="image/webp")
    except FileNotFoundError as error:
        raise Http404 from error
    except StoreUnavailable:
        response = HttpResponse("The picture can't be loaded right now.", content_type="text/plain", status=503)
        response["Retry-After"] = str(RETRY_SECONDS)
        cache_control = "no-store"
    response["Cache-Control"] = cache_control
    return response
