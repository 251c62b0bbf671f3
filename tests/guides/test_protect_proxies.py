"""The guides to protect an API without code, behind nginx and behind Caddy."""

import re
import subprocess
from collections.abc import Callable

import pytest

from tests.clients.apis import READ, SCARCE, SCARCE_CALLS
from tests.guides.protecting import ProtectedApi, check_at_once, check_calls
from tests.guides.reading import needs
from tests.guides.runs import record_run

pytestmark = pytest.mark.slow
# What a caller sends to be taken for someone else, or to have another call checked.
FORGED = {
    "X-Auth-Subject": "forged",
    "X_Auth_Subject": "forged",
    "X-Auth-Key": "forged",
    "X-Auth-Scope": "calendar.write",
    "X-Forwarded-Uri": "/events",
    "X_Forwarded_Method": "GET",
    "X-Forwarded-Method": "GET",
    "X-Original-URI": "/events",
    "X-Original-Method": "GET",
}


@pytest.mark.parametrize(
    ("name", "version"),
    [
        pytest.param("nginx", ["nginx", "-v"], marks=needs("nginx", "curl")),
        pytest.param("caddy", ["caddy", "version"], marks=needs("caddy", "curl")),
    ],
)
def test_proxy(protected: Callable[[str], ProtectedApi], name: str, version: list[str]) -> None:
    api = protected(name)
    guide = api.guide
    guide.save()
    _rules, run_api, run, _token, call = guide.commands
    guide.run(f"{run_api} &\n{run}")
    check_calls(api, call)
    check_forged_headers(api)
    check_at_once(api)
    check_limit(api, run)
    said = subprocess.run(version, capture_output=True, text=True, check=True)
    found = re.search(r"\d+\.\d+", said.stdout + said.stderr)
    assert found
    record_run(f"protect-{name}", {name: found[0]})


def check_limit(api: ProtectedApi, run: str) -> None:
    """Put the proxy before an API with a low limit, and reach it."""
    api.guide.close()
    file = next(api.guide.folder / block.file for block in api.guide.blocks if "forward-auth" in block.code)
    file.write_text(file.read_text().replace("/forward-auth/calendar", "/forward-auth/scarce"))
    api.guide.run(run)  # without the API behind it
    token = api.token(SCARCE)
    answers = [api.call(token) for _ in range(SCARCE_CALLS * 2 + 1)]  # a minute may end in between
    refused = next(answer for answer in answers if answer.status_code != 502)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limited")
    assert 0 < int(refused.headers["Retry-After"]) <= 60


def check_forged_headers(api: ProtectedApi) -> None:
    token = api.token(READ)
    own = api.call(token).json()["owner"]
    assert api.call(token, **FORGED).json()["owner"] == own
    assert api.call(token, query="?scope=calendar.write").status_code == 200, "the query belongs to the call"
    assert api.call(token, "POST", **FORGED).status_code == 403
    assert api.call(None, **FORGED).status_code == 401
    answer = api.call(token, "DELETE", **FORGED)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "insufficient_scope")
