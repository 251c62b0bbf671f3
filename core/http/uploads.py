"""Upload handler that limits the size of multipart requests, before files are written to disk."""

from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import FileUploadHandler


def largest_upload() -> int:
    """Return the largest size in bytes of a form with files: twice the largest permitted file."""
    return 2 * max(settings.PICTURE_MAX_BYTES, settings.LOGO_MAX_BYTES)


class SizeLimitUploadHandler(FileUploadHandler):
    """First upload handler: aborts a request that is larger than `largest_upload`.

    Forms report the limits of their fields; this stops requests that are far larger than any form allows. Raises
    RequestDataTooBig, which becomes a 400 response.
    """

    def __init__(self, request: Any = None) -> None:
        super().__init__(request)
        self.most = largest_upload()
        self.received = 0

    def handle_raw_input(self, input_data: Any, META: Any, content_length: int, *rest: Any) -> None:  # noqa: N803  (Django's name)
        # A Content-Length is only trusted if it is too large.
        if content_length > self.most:
            raise RequestDataTooBig("The form is too large.")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        self.received += len(raw_data)
        if self.received > self.most:
            raise RequestDataTooBig("The form is too large.")
        return raw_data

    def file_complete(self, file_size: int) -> None:
        return None  # the next handler stores the file
