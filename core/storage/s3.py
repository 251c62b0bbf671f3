"""Storage of uploaded files in an object store with the S3 API, using django-storages.

This adds a limit to every wait, one client for all threads, and one exception. Needs requirements/extras.txt.
"""

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import SpooledTemporaryFile
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings
from django.core.files.base import File
from storages.backends.s3 import S3Storage

from core.storage.stored_files import RETRY_SECONDS, StoreUnavailable

CONNECT_SECONDS, READ_SECONDS = 2, 3
ATTEMPTS = 2
IN_MEMORY = 8 * 1024 * 1024  # bytes of an object; larger ones go through a temporary file


def _content_type(name: str) -> str:
    return "image/webp" if name.endswith(".webp") else "application/octet-stream"


class ObjectStorage(S3Storage):  # type: ignore[misc]  # the library is untyped
    """Private objects, without individual ACLs and public URLs; a call ends within 8 seconds."""

    def __init__(self, **options: Any) -> None:
        style = options.pop("addressing_style", "path")
        bounds = Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
            signature_version="s3v4",
            s3={"addressing_style": style},
            # Use the newest checksums only if an operation requires them: not every store supports them.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        # Names are random, so checking first whether one is taken would be an unnecessary call.
        super().__init__(client_config=bounds, default_acl=None, file_overwrite=True, **options)
        self._making = threading.Lock()
        self._client: Any = None
        self._failed_at: float | None = None
        self._probing = threading.Lock()

    @property
    def client(self) -> Any:
        """The client of this process. Threads may share clients; creating one takes a tenth of a second."""
        with self._making:
            if self._client is None:
                self._client = self.connection.meta.client
            return self._client

    def _key(self, name: str) -> dict[str, str]:
        return {"Bucket": self.bucket_name, "Key": self._normalize_name(name)}

    def _open(self, name: str, mode: str = "rb") -> File[bytes]:
        with self._bounded(name):
            body = self.client.get_object(**self._key(name))["Body"]
            kept = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115  (who opened the object closes it)
            shutil.copyfileobj(body, kept)
        kept.seek(0)
        return File(kept, name=name)

    def _save(self, name: str, content: File[bytes]) -> str:
        content.seek(0)
        with self._bounded(name):
            self.client.put_object(**self._key(name), Body=content.file, ContentType=_content_type(name))
        return name

    def delete(self, name: str) -> None:
        """Delete an object, which may already be deleted. Raises StoreUnavailable."""
        with self._bounded(name):
            self.client.delete_object(**self._key(name))

    def url(self, name: str, *args: Any, **kwargs: Any) -> str:
        """Return what the local storage returns, which leads nowhere: the store's own URL is never shown."""
        return f"{settings.MEDIA_URL}{name}"

    @contextmanager
    def _bounded(self, name: str) -> Iterator[None]:
        """Translate the store's errors to FileNotFoundError or StoreUnavailable.

        After a failure no request waits for the store: calls fail immediately for RETRY_SECONDS, then one at a time
        tries again.
        """
        failed_at = self._failed_at
        if failed_at is not None and time.monotonic() - failed_at < RETRY_SECONDS:
            raise StoreUnavailable("The object store failed a moment ago.")
        is_probe = failed_at is not None
        if is_probe and not self._probing.acquire(blocking=False):
            raise StoreUnavailable("Another thread is checking whether the object store works again.")
        try:
            yield
            self._failed_at = None  # it responds again
        except ClientError as error:
            raise self._refused(error, name) from error
        except (BotoCoreError, OSError) as error:
            self._failed_at = time.monotonic()
            raise StoreUnavailable(f"The object store does not respond: {type(error).__name__}.") from error
        finally:
            if is_probe:
                self._probing.release()

    def _refused(self, error: ClientError, name: str) -> OSError:
        """Return the exception for an error of the store. One refused object does not stop other calls."""
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
        code = error.response.get("Error", {}).get("Code", "")  # only the code: the message may quote the request
        self._failed_at = time.monotonic() if status >= 500 else None
        if code in ("NoSuchKey", "404"):
            return FileNotFoundError(name)
        return StoreUnavailable(f"The object store refused the request: {status} {code}.")
