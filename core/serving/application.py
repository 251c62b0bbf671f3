"""The bounded WSGI application: slow clients can't block others (docs/architecture.md#processes).

Django reads the Content-Type before its error handling begins. A charset that is not a text encoding (`hex`), one that
has no lenient mode (`idna`), or an RFC 2231 parameter in an unknown charset would cause a 500 on every URL, without a
log line of this service.
"""

import resource
import string
import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.http.multipartparser import MultiPartParserError
from django.http.request import MediaType
from django.utils.functional import cached_property
from django.utils.http import parse_header_parameters

from core.http.direct_dispatch import is_direct
from core.http.error_pages import UNREADABLE_COOKIES
from core.serving.buffers import BodyReceiver, ResponseBuffer, leave_out_body, needs_body
from core.serving.documents import DocumentCache
from core.serving.errors import HTTPError
from core.serving.slots import SlotPool
from core.telemetry import metrics

# Idle connections cost almost nothing, and the server closes silent ones after half a minute.
MOST_CONNECTIONS = 8192
# Open files that are not connections of clients: the database's, Redis's, uploads, code.
OTHER_FILES = 256


def raise_open_files() -> int:
    """Raise RLIMIT_NOFILE as far as needed and allowed; return how many connections are possible then."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + OTHER_FILES
    if now != resource.RLIM_INFINITY and now < wanted:
        now = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (now, most))
    return MOST_CONNECTIONS if now == resource.RLIM_INFINITY else max(128, min(MOST_CONNECTIONS, now - OTHER_FILES))


# A request goes through three stages. One of many threads receives its body, and may wait for it. Then the request
# takes one of a few slots, with a database connection, in which Django works; pages and endpoints for programs have
# separate slots. The complete response leaves the slot before it is sent, so that slow readers hold none. Each stage
# has a limit; requests above it get 503.

StartResponse = Callable[[str, list[tuple[str, str]]], Any]
WSGIApplication = Callable[[dict[str, Any], StartResponse], Any]

LIVENESS_PATH = "/health/live"


class BoundedApplication:
    """WSGI middleware with the three stages."""

    def __init__(
        self,
        application: WSGIApplication,
        *,
        bodies: BodyReceiver,
        slots: SlotPool,
        page_slots: SlotPool,
        answers: ResponseBuffer,
    ) -> None:
        self._application = application
        self._bodies = bodies
        self._slots = slots
        self._page_slots = page_slots
        self._answers = answers
        self._documents = DocumentCache()
        # Paths that need no database take no slot, so they respond even if all slots are stuck.
        self._without_slot_paths = self._documents.paths | {LIVENESS_PATH}

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("HTTP_COOKIE") == "":  # empty, or with a byte beyond ASCII (docs/operations.md)
            environ[UNREADABLE_COOKIES] = True
        try:
            if "CONTENT_LENGTH" in environ or "HTTP_TRANSFER_ENCODING" in environ:
                if needs_body(environ) and environ["PATH_INFO"] not in self._without_slot_paths:
                    environ["wsgi.input"] = self._bodies.receive(environ)
                else:
                    start_response = leave_out_body(environ, start_response)
            if environ["PATH_INFO"] in self._without_slot_paths:
                return self._documents.answer(environ, start_response) or self._without_slot(environ, start_response)
            return self._work(environ, start_response)
        except HTTPError as refusal:
            metrics.SERVER_REFUSALS.count(str(refusal.status))
            status, headers, body = refusal.answer(environ["PATH_INFO"])
            start_response(status, headers)
            return [body]

    def _without_slot(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        watch = self._documents.watch(environ, start_response)
        with self._slots.without():
            answer = self._answers.take(self._application(environ, watch or start_response))
        return watch.keep(answer) if watch else answer

    def _work(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        slots = self._slots if is_direct(environ["PATH_INFO"]) else self._page_slots
        began = time.perf_counter()
        slot = slots.take()
        metrics.slot_waited(time.perf_counter() - began)
        if slot is None:
            raise HTTPError(503, ends=False)
        try:
            return self._answers.take(self._application(environ, start_response))
        finally:
            slots.give_back()


class UTF8Request(WSGIRequest):
    """A request whose query and form are UTF-8, whatever its Content-Type says. A malformed Accept is ignored."""

    def __init__(self, environ: dict[str, Any]) -> None:
        query = environ.get("QUERY_STRING", "")
        if not query.isascii():  # browsers send UTF-8 as it is in some URLs, and WSGI hands it over as Latin-1
            environ["QUERY_STRING"] = quote(query, safe=string.punctuation, encoding="latin-1")
        super().__init__(environ)

    @cached_property
    def accepted_types(self) -> list[MediaType]:
        try:
            return super().accepted_types
        except (ValueError, LookupError):  # a parameter in an unknown encoding
            return [MediaType("*/*")]

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
