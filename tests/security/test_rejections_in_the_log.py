"""A refused request leaves one line in the log, without a traceback; a flood of them does not fill the disk."""

import io
import logging
import logging.config
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.test import Client as Browser
from django.urls import path

from core.logging import RefusalFilter


def refuse(request: HttpRequest, rest: str) -> HttpResponse:
    raise PermissionDenied("for a reason\nwith a second line")


urlpatterns = [path("refuse/<path:rest>", refuse)]


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What the service writes to its log, through the handler that its settings declare."""
    stream = io.StringIO()
    declared = settings.LOGGING["handlers"]
    handlers = declared | {"stderr": declared["stderr"] | {"stream": stream}}
    logging.config.dictConfig(settings.LOGGING | {"handlers": handlers})
    yield stream
    logging.config.dictConfig(settings.LOGGING)


def lines(stream: io.StringIO) -> list[str]:
    return stream.getvalue().splitlines()


def test_a_403_logs_one_line(signed_in: Browser, written: io.StringIO) -> None:
    answer = signed_in.get("/admin/login/")
    assert answer.status_code == 403
    [line] = lines(written)
    assert "/admin/login/" in line
    assert answer["X-Request-ID"] in line


@pytest.mark.django_db
@pytest.mark.parametrize("host", ["evil.example.com", "localhost:1001", "x" * 5000, "evil\r\nforged line"])
def test_an_unknown_host_logs_one_line(host: str, written: io.StringIO) -> None:
    Browser().get("/", headers={"Host": host})
    [line] = lines(written)
    assert "Refused a request for host" in line
    assert len(line) < 400


@pytest.mark.urls("tests.security.test_rejections_in_the_log")
def test_a_long_path_is_truncated_in_the_log(written: io.StringIO) -> None:
    Browser().get("/refuse/" + "x" * 5000)
    [line] = lines(written)
    assert len(line) < 400


def test_a_malformed_form_logs_one_line(client: Browser, db: None, written: io.StringIO) -> None:
    client.post("/account/login/", "x", content_type="multipart/form-data; boundary=" + "y" * 5000)
    assert "Traceback" not in written.getvalue()
    assert len(lines(written)) <= 1


def test_a_server_error_logs_its_traceback(written: io.StringIO) -> None:
    try:
        raise ValueError("broken")
    except ValueError as error:
        logging.getLogger("django.request").error("It broke", exc_info=error, extra={"status_code": 500})
    assert "Traceback" in written.getvalue()


def test_floods_are_limited_and_counted_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 6000.0
    monkeypatch.setattr("core.logging.time.monotonic", lambda: now)
    refusals = RefusalFilter(per_minute=3)

    def passes(status: int | None = 404) -> str | None:
        record = logging.LogRecord("django.request", logging.WARNING, "", 0, "Not Found: %s", ("/x",), None)
        record.status_code = status
        return record.getMessage() if refusals.filter(record) else None

    assert [bool(passes()) for _ in range(10)] == [True] * 3 + [False] * 7
    assert passes(500) == "Not Found: /x"
    now += 60
    assert passes() == "Not Found: /x (7 similar lines were dropped)"
    assert passes() == "Not Found: /x"
