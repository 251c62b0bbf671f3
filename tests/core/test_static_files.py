"""Static files without collectstatic: names with a hash, how long each may be kept, and what is refused."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.http import HttpResponse
from django.templatetags.static import static
from django.test import Client as Browser
from django.test import RequestFactory

from core.storage.static_files import HashedNamesStorage, StaticFilesMiddleware

FOREVER = f"max-age={10 * 365 * 24 * 3600}, public, immutable"
NOT_KEPT = "max-age=0, public"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Any:
    """Serve the static files from a separate folder."""
    settings.STATICFILES_DIRS = [tmp_path]
    finders.get_finder.cache_clear()  # type: ignore[attr-defined]
    yield tmp_path
    finders.get_finder.cache_clear()  # type: ignore[attr-defined]


def get(path: str, method: str = "GET", **headers: str) -> Any:
    """Ask the middleware alone; what it passes on is answered 404."""
    middleware = StaticFilesMiddleware(lambda request: HttpResponse(status=404))
    request = RequestFactory().generic(method, "/", headers=headers)
    request.path_info = path
    return middleware(request)


def body(response: Any) -> bytes:
    return b"".join(response.streaming_content)


def test_a_name_has_the_hash_of_what_is_in_it_and_is_kept_for_ever() -> None:
    address = static("css/base.css")
    assert re.fullmatch(r"/static/css/base\.[0-9a-f]{12}\.css", address)
    response = Browser().get(address)
    assert (response.status_code, response["Cache-Control"]) == (200, FOREVER)
    assert response["Content-Type"] == 'text/css; charset="utf-8"'
    assert b"".join(response.streaming_content) == (ROOT / "static/css/base.css").read_bytes()  # type: ignore[attr-defined]


def test_a_name_without_a_hash_is_asked_for_again() -> None:
    response = Browser().get("/static/css/base.css")
    assert (response.status_code, response["Cache-Control"]) == (200, NOT_KEPT)


def test_an_edit_is_seen_at_the_next_reload(folder: Path) -> None:
    (folder / "page.css").write_text("a {}")
    before = HashedNamesStorage().url("page.css")
    (folder / "page.css").write_text("b {}")
    os.utime(folder / "page.css", ns=(1, 1))
    after = HashedNamesStorage().url("page.css")
    assert before != after
    assert (body(get(after)), get(after)["Cache-Control"]) == (b"b {}", FOREVER)
    # A page from before the edit: the file as it is now, which must not be kept under the old name.
    assert (body(get(before)), get(before)["Cache-Control"]) == (b"b {}", NOT_KEPT)


def test_a_file_with_its_own_hash_in_its_name_has_no_other(folder: Path) -> None:
    name = "letters-2c26b46b68ff.woff2"  # sha256("foo")
    (folder / name).write_text("foo")
    assert HashedNamesStorage().url(name) == f"/static/{name}"
    assert get(f"/static/{name}")["Cache-Control"] == FOREVER
    (folder / name).write_text("another")
    assert get(f"/static/{name}")["Cache-Control"] == NOT_KEPT
    assert HashedNamesStorage().url(name) != f"/static/{name}"


def test_a_name_that_looks_hashed_is_found_first(folder: Path) -> None:
    (folder / "a.0123456789ab.css").write_text("its own")
    (folder / "a.css").write_text("another")
    assert body(get("/static/a.0123456789ab.css")) == b"its own"


def test_files_that_stylesheets_refer_to_exist() -> None:
    sheets = list((ROOT / "static").rglob("*.css"))
    targets = [(sheet, target) for sheet in sheets for target in re.findall(r"url\(\"?([^\")]+)", sheet.read_text())]
    assert targets
    for sheet, target in targets:
        address = "/static/" + os.path.normpath(sheet.parent.relative_to(ROOT / "static") / target)
        response = Browser().get(address)
        assert (response.status_code, response["Cache-Control"]) == (200, FOREVER), address


def test_head_and_not_modified() -> None:
    address = static("css/base.css")
    full = Browser().get(address)
    head = Browser().head(address)
    assert (head.status_code, head["Content-Length"]) == (200, full["Content-Length"])
    again = Browser().get(address, headers={"If-None-Match": full["ETag"]})
    assert (again.status_code, again["Cache-Control"]) == (304, FOREVER)
    assert get(address, "POST").status_code == 405


@pytest.mark.parametrize(
    "path",
    [
        "/static/css/none.css",
        "/static/css/none.0123456789ab.css",
        "/static/css/",
        "/static/css",
        "/static/",
        "/static/../manage.py",
        "/static/../manage.0123456789ab.py",
        "/static/css/../../manage.py",
        "/static//etc/passwd",
        "/static//etc/passwd.0123456789ab.txt",
        "/static/..\\manage.py",
        "/static/css/base.css/",
        "/static/css/base.css\x00",
        "/static/css/base.0123456789ab.css\x00",
        "/static/\udcff.css",
        "/static/" + "x" * 5000,
        "/static/" + "x" * 5000 + ".0123456789ab.css",
    ],
)
def test_nothing_else_is_served(path: str) -> None:
    assert get(path).status_code == 404


def test_in_production_the_collected_files_are_served(tmp_path: Path, settings: Any) -> None:
    (tmp_path / "a.css").write_text("collected")
    settings.STATIC_ROOT, settings.WHITENOISE_USE_FINDERS, settings.WHITENOISE_AUTOREFRESH = str(tmp_path), False, False
    assert body(get("/static/a.css")) == b"collected"
    assert get("/static/css/base.css").status_code == 404
