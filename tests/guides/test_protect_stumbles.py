"""What the guides to protect an API say that one sees without a setting."""

from collections.abc import Callable

import pytest

from tests.clients.apis import READ
from tests.guides.protecting import ProtectedApi
from tests.guides.reading import needs

pytestmark = pytest.mark.slow


def change(api: ProtectedApi, file: str, line: str, other: str = "") -> None:
    """Replace a line of a file of the guide."""
    path = api.guide.folder / file
    text = path.read_text()
    assert text.count(line) == 1
    path.write_text(text.replace(line, other))


def start_django(api: ProtectedApi, line: str, other: str = "") -> None:
    guide = api.guide
    _install, start = next(block.code for block in guide.blocks if "startproject" in block.code).splitlines()
    guide.finish(start)
    guide.save()
    change(api, "mysite/api.py", line, other)
    guide.run(guide.commands[1])


CACHING = '    "RESOURCE_SERVER_TOKEN_CACHING_SECONDS": 1,\n'


def test_django_keeps_a_response_for_hours_by_default(protected: Callable[[str], ProtectedApi]) -> None:
    api = protected("django")
    start_django(api, CACHING)
    token = api.token(READ)
    assert api.call(token).status_code == 200
    api.remove_app()
    assert api.call(token).status_code == 200


@pytest.mark.parametrize(
    ("line", "other"),
    [(CACHING, CACHING.replace("1", "0")), ('    "RESOURCE_SERVER_TOKEN_RESOURCE_VALIDATOR": is_for_this_api,\n', "")],
    ids=["no time", "no validator"],
)
def test_django_refuses_every_token(protected: Callable[[str], ProtectedApi], line: str, other: str) -> None:
    api = protected("django")
    start_django(api, line, other)
    assert api.call(api.token(READ)).status_code == 401


@needs("caddy")
@pytest.mark.parametrize(
    ("line", "other"),
    [("\troute {\n", "\t@all path *\n\thandle @all {\n"), ("calendar?\n", "calendar\n")],
    ids=["no route", "with the query"],
)
def test_caddy_without_a_line(protected: Callable[[str], ProtectedApi], line: str, other: str) -> None:
    api = protected("caddy")
    guide = api.guide
    guide.save()
    change(api, "Caddyfile", line, other)
    _rules, run_api, run, _token, _call = guide.commands
    guide.run(f"{run_api} &\n{run}")
    token = api.token(READ)
    if "?" in line:
        assert api.call(token, query="?scope=calendar.write").status_code == 403
    else:
        assert not api.call(token).json()["owner"]
