"""A lost dependency does not flood the log: a line a request at most, and a traceback a minute."""

import io
import logging
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection
from django.test import Client as Browser
from redis.exceptions import ConnectionError as RedisLost

from core.http import request_id
from core.limits.counters import Counters, Limit
from core.logging import REPEAT_SECONDS, TRACEBACK_SECONDS, OutageFilter
from oidc.tokens import signing_keys
from tests.api.calls import ME, call
from tests.relying_party import RelyingParty

REQUESTS = 20


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a handler with this filter writes of all that is logged, in place of the service's own."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("LINE %(name)s %(message)s"))
    handler.addFilter(OutageFilter())
    for logger in (logging.getLogger(), logging.getLogger("django")):
        monkeypatch.setattr(logger, "handlers", [handler])
    return stream


def counts(written: io.StringIO) -> tuple[int, int]:
    text = written.getvalue()
    return text.count("LINE "), text.count("Traceback (most recent call last)")


def fail(error: Exception) -> None:
    try:
        raise error
    except type(error):
        logging.getLogger("tests.outage").exception("It failed.")


@pytest.mark.django_db
def test_a_lost_database_is_a_line_a_request(app: RelyingParty, written: io.StringIO) -> None:
    token = app.tokens()
    signing_keys.reload_keyring()
    app.browser.raise_request_exception = False

    def lost(*args: Any) -> Any:
        raise OperationalError("the database is away")

    written.truncate(0)
    with connection.execute_wrapper(lost):
        for number in range(REQUESTS):
            # In turn: an endpoint for apps, the developer API, a page, readiness.
            answers = (
                lambda: app.refresh(token["refresh_token"]),
                lambda: call(ME, token["access_token"]),
                app.authorize,
                lambda: Browser().get("/health/ready"),
            )
            assert answers[number % 4]().status_code in (502, 503)
    lines, tracebacks = counts(written)
    # A chained exception is a traceback of several parts.
    assert 0 < lines <= REQUESTS, written.getvalue()
    assert written.getvalue().count("\nTraceback (most recent") <= 2, written.getvalue()
    assert tracebacks >= 1


def test_a_lost_redis_is_a_line_a_request(written: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        def take(self, *args: Any) -> Any:
            raise RedisLost("away")

        def part_of(self, limits: Any) -> Any:
            return self

    counters = Counters(Gone())  # type: ignore[arg-type]
    for number in range(REQUESTS):
        request_id.set_current(f"request-{number}")
        for _ in range(3):
            counters.breaker._asked_again_at = None
            counters.take([Limit("key", 1000)])
    request_id.set_current(request_id.NONE)
    assert counts(written) == (REQUESTS, 0)


def test_outside_of_requests_the_same_line_comes_now_and_then(
    written: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("core.logging.time.monotonic", lambda: now)
    request_id.set_current(request_id.NONE)
    for _ in range(REQUESTS):
        fail(OperationalError("away"))
    assert counts(written) == (1, 1)
    now += REPEAT_SECONDS
    fail(OperationalError("still\naway"))
    assert counts(written) == (2, 1)
    assert "(OperationalError: still away)" in written.getvalue()
    now += TRACEBACK_SECONDS
    fail(OperationalError("away"))
    assert counts(written) == (3, 2)


def test_other_errors_keep_their_tracebacks(written: io.StringIO) -> None:
    for _ in range(3):
        fail(IntegrityError("a defect"))
        fail(ValueError("another"))
    assert counts(written) == (6, 6)


def test_a_request_may_lose_two_things_and_still_warn(written: io.StringIO) -> None:
    request_id.set_current("request-of-two")
    fail(OperationalError("away"))
    fail(RedisLost("away"))
    logging.getLogger("oidc").warning("A superseded refresh token came back.")
    request_id.set_current(request_id.NONE)
    assert counts(written) == (3, 2)
