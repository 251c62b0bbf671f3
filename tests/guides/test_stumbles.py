"""What the guides say that one sees without a setting: seen, in the app of the page without that line."""

from collections.abc import Callable

import pytest

from tests.guides.journey import Press, Way, refusal_of
from tests.guides.packages import CLIENTS, link_modules
from tests.guides.reading import OpenGuide
from tests.guides.test_django import prepare

pytestmark = pytest.mark.slow
AUTHLIB = ('        "code_challenge_method": "S256",\n', "Not signed in: invalid_request")
STATE = ["    expectedState: client.randomState(),\n", "    state: checks.expectedState,\n"]


def leave_out(app: OpenGuide, file: str, line: str) -> None:
    path = app.folder / file
    text = path.read_text()
    assert text.count(line) == 1
    path.write_text(text.replace(line, ""))


@pytest.mark.parametrize("name", ["flask", "fastapi"])
def test_authlib_without_pkce(guide: Callable[..., OpenGuide], name: str) -> None:
    line, seen = AUTHLIB
    app = guide(name)
    app.save()
    leave_out(app, "app.py", line)
    app.run(app.commands[-1])
    assert seen in refusal_of(app, "/sign-in")


@pytest.mark.parametrize(
    ("name", "line", "way", "seen"),
    [
        ("django-allauth", '        "OAUTH_PKCE_ENABLED": True,\n', Press("Sign in"), "Third-Party Login Failure"),
        ("django-mozilla", "OIDC_USE_PKCE = True\n", "/oidc/authenticate/", "Not signed in"),
    ],
)
def test_django_without_pkce(guide: Callable[..., OpenGuide], name: str, line: str, way: Way, seen: str) -> None:
    app = guide(name)
    run, settings = prepare(app)
    leave_out(app, "saved/local.py", line)
    app.run(run, **settings)
    assert seen in refusal_of(app, way)


@pytest.mark.node
def test_openid_client_without_state(guide: Callable[..., OpenGuide]) -> None:
    app = guide("express")
    app.save()
    for line in STATE:
        leave_out(app, "app.mjs", line)
    link_modules(CLIENTS, app.folder)
    app.run(app.commands[-1])
    assert "Not signed in: invalid_request" in refusal_of(app, "/sign-in")
