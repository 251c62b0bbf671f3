"""Log lines as JSON: one object a line, redacted wherever a secret may stand."""

import copy
import io
import json
import logging
import logging.config
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.http import HttpRequest
from django.test import RequestFactory

from core.http import request_id

SECRET = f"{settings.CLIENT_SECRET_PREFIX}plantedplanted"


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What the settings' handler writes with LOG_FORMAT=json, for the logger `tests.json`."""
    stream = io.StringIO()
    described = copy.deepcopy(settings.LOGGING)
    described["handlers"]["stderr"] |= {"stream": stream, "formatter": "json"}
    described["loggers"] = {"tests.json": {"handlers": ["stderr"], "level": "DEBUG", "propagate": False}}
    described.pop("root")
    logging.config.dictConfig(described)
    request_id.set_current(request_id.NONE)
    yield stream
    logging.getLogger("tests.json").handlers.clear()


def written(lines: io.StringIO) -> dict[str, Any]:
    text = lines.getvalue()
    assert text.count("\n") == 1
    assert "planted" not in text, text
    line: dict[str, Any] = json.loads(text)
    return line


def test_a_line_names_time_level_logger_and_request(lines: io.StringIO) -> None:
    logging.getLogger("tests.json").warning("Two\nlines of %s", 7)
    line = written(lines)
    assert line.pop("time").endswith("+00:00")
    assert line == {"level": "WARNING", "logger": "tests.json", "request_id": "-", "message": "Two\nlines of 7"}


def test_an_exception_is_in_the_same_line_and_redacted(lines: io.StringIO) -> None:
    try:
        try:
            raise KeyError(SECRET)
        except KeyError:
            raise ValueError(f"Cookie: {settings.SESSION_COOKIE_NAME}=plantedplanted")  # noqa: B904  # both are written
    except ValueError:
        logging.getLogger("tests.json").exception("It broke, with %s", SECRET)
    line = written(lines)
    assert "ValueError" in line["exception"]
    assert "KeyError" in line["exception"]


def test_extra_fields_are_redacted_by_name_and_by_text(lines: io.StringIO) -> None:
    request: HttpRequest = RequestFactory().get("/connect/authorize?code=plantedplanted")
    logging.getLogger("tests.json").error(
        "Extra",
        extra={
            "attempt": 3,
            "note": f"with {SECRET}",
            "client_secret": "planted",
            "nested": {"password": "planted", "list": [SECRET, 1]},
            "request": request,
            "thing": request,
            "data": {"args": "planted"},
        },
        stack_info=True,
    )
    line = written(lines)
    assert line["attempt"] == 3
    assert line["client_secret"] == "[redacted]"
    assert line["thing"] == "WSGIRequest"
    assert line["nested"]["list"][1] == 1
    assert "stack" in line
    assert not {"request", "data"} & set(line)
