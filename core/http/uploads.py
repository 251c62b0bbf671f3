"""Upload handler that limits the size of multipart requests, before files are written to disk."""

from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import FileUploadHandler


def largest_upload() -> int:
    """Return the size in bytes beyond which no form with files is read: twice the largest permitted file."""
    return 2 * max(settings.PICTURE_MAX_BYTES, settings.LOGO_MAX_BYTES)


class SizeLimitUploadHandler(FileUploadHandler):
    """First upload handler: aborts a request that is larger than `largest_upload`.

    A form names the limit of its own field; this is for what was never meant to be one. Raises RequestDataTooBig,
    which is answered with 400.
    """

    def __init__(self, request: Any = None) -> None:
        super().__init__(request)
        self.most = largest_upload()
        self.received = 0

    def handle_raw_input(self, input_data: Any, META: Any, content_length: int, *rest: Any) -> None:  # noqa: N803  (Django's name)
        # A Content-Length is trusted only if it is too large.
        if content_length > self.most:
            raise RequestDataTooBig("The form holds too much.")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        self.received += len(raw_data)
        if self.received > self.most:
            raise RequestDataTooBig("The form holds too much.")
        return raw_data

    def file_complete(self, file_size: int) -> None:
        return None  # the next handler keeps it
