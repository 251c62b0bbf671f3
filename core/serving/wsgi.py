"""WSGI handler whose requests do not fail on a malformed Content-Type.

Django reads the Content-Type before its error handling begins. A charset that is not a text encoding (`hex`), one that
has no lenient mode (`idna`), or an RFC 2231 parameter in an unknown charset would cause a 500 on every URL, without a
log line of this service.
"""

from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.http.multipartparser import MultiPartParserError
from django.utils.http import parse_header_parameters


class UTF8Request(WSGIRequest):
    """A request whose query and form are UTF-8, whatever its Content-Type says."""

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        try:
            self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        except (ValueError, LookupError):
            self.content_type, self.content_params = "", {}  # as without a Content-Type: no form is read

    def parse_file_upload(self, META: Any, post_data: Any) -> Any:  # noqa: N803  # Django's name
        try:
            return super().parse_file_upload(META, post_data)
        except LookupError as error:  # a part names an unknown encoding
            raise MultiPartParserError("A part of the form can't be read.") from error


class UTF8Handler(WSGIHandler):
    """The WSGI handler that uses UTF8Request."""

    request_class = UTF8Request
