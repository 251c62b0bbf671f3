"""The result of a try as a sentence, with a next step."""

import pytest

from core.outbound.targets import Code
from devportal.console.events.tries import read_try, visible
from oidc.events.sending import INTERNAL, NOT_ALLOWED

AT = {"at": "2031-01-15T09:30:00+00:00", "seconds": 0.2}
URL = "https://app.example.com/events"


@pytest.mark.parametrize("code", [*Code, NOT_ALLOWED, INTERNAL, "a code of a newer version"])
def test_each_error_has_a_sentence(code: str) -> None:
    found = read_try(AT | {"error": code, "parameters": {"cause": "host"}}, URL)
    assert found.text.endswith(".")
    assert "{" not in found.text
    assert not found.is_accepted


@pytest.mark.parametrize("status", [100, 200, 202, 299, 300, 302, 308, 400, 401, 404, 418, 429, 500, 503, 599])
def test_each_status_has_a_sentence(status: int) -> None:
    found = read_try(AT | {"status": status}, URL)
    assert found.is_accepted == (200 <= status < 300)
    assert found.text.endswith(".")
    assert bool(found.step) == (status not in (100, 200, 202, 299, 418))


def test_errors_of_this_machine_name_no_port() -> None:
    assert "port 443" in read_try(AT | {"error": "unreachable"}, URL).text
    assert "443" not in read_try(AT | {"error": "unreachable"}, "http://localhost:8151/events").text


def test_control_characters_are_replaced() -> None:
    assert visible("a\r\nb\tc\x00\x1b\x7f\x9b\u202e\ufeff") == "a\nb\tc" + "�" * 6
