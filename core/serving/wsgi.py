"""WSGI handler whose requests do not fail on a malformed Content-Type.

Django reads the Content-Type before any of its error handling begins: a charset that is no encoding of text (`hex`),
one that can't be read leniently (`idna`), or an RFC 2231 parameter in an unknown one is a 500 on every address, without
anything being written about it by our own means.
"""

from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.http.multipartparser import MultiPartParserError
from django.utils.http import parse_header_parameters


class UTF8Request(WSGIRequest):
    """A request whose query and form are UTF-8, whatever its Content-Type claims."""

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        try:
            self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        except (ValueError, LookupError):
            self.content_type, self.content_params = "", {}  # as if it had none: no form is read from it

    def parse_file_upload(self, META: Any, post_data: Any) -> Any:  # noqa: N803  # Django's name
        try:
            return super().parse_file_upload(META, post_data)
        except LookupError as error:  # a part claims an encoding that is none
            raise MultiPartParserError("A part of the form can't be read.") from error


class UTF8Handler(WSGIHandler):
    """The WSGI handler that uses Request."""

    request_class = UTF8Request
