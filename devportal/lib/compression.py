"""Compressed pages (docs/security.md#compression)."""

from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

_TEXT = ("text/", "application/json", "application/javascript", "application/vnd.oai.openapi", "image/svg+xml")


class PageCompressionMiddleware(GZipMiddleware):
    """Django's GZipMiddleware for pages and other texts that are sent whole.

    Pictures and archives would not get smaller, and what is streamed is sent as it is made. Endpoints that programs
    call never come here (devportal/lib/direct_dispatch.py), nor do static files: WhiteNoise is before this.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> Any:
        """Compress it if that makes it smaller; an ETag becomes a weak one, as RFC 9110 §8.8.1 wants."""
        if response.streaming or not response.get("Content-Type", "").startswith(_TEXT):
            return response
        return super().process_response(request, response)
