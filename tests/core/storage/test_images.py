"""Uploads are converted one at a time in a separate process, while the request holds no slot."""

import io
import threading
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client as Browser
from PIL import Image

from core.serving import slots
from core.serving.slots import SlotPool
from core.serving.work_pool import WorkPool
from core.storage import convert_picture, images
from core.storage.convert_picture import Shape

SHAPE = Shape(side=64, crop=True, quality=80)
START = """
import importlib.util, os, sys
spec = importlib.util.spec_from_file_location("convert_picture", {path!r})
convert_picture = sys.modules["convert_picture"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(convert_picture)
"""


def picture() -> io.BytesIO:
    out = io.BytesIO()
    Image.new("RGB", (64, 64), (200, 30, 30)).save(out, "PNG")
    return io.BytesIO(out.getvalue())


def convert() -> bytes:
    return images.convert_upload(picture(), SHAPE, what="picture", max_bytes=10_000)


def run_instead(monkeypatch: pytest.MonkeyPatch, folder: Path, *lines: str) -> None:
    """Let the process that converts pictures run these lines before it begins."""
    script = folder / "script.py"
    start = START.format(path=convert_picture.__file__)
    script.write_text("\n".join([start, *lines, "sys.exit(convert_picture.main())"]))
    monkeypatch.setattr(convert_picture, "__file__", str(script))


def test_a_picture_is_converted() -> None:
    with images.open_converted(convert()) as image:
        assert image.size == (64, 64)


FAILURES = {
    "time": ("convert_picture.CPU_SECONDS = 1", "def convert(*given):", "    while True: pass"),
    "memory": ("def convert(*given):", "    try: bytearray(convert_picture.MEMORY)",
               "    except MemoryError: raise convert_picture.Refused('too_complex')", "    os.abort()"),
    "a fault of a decoder": ("def convert(*given):", "    os.kill(os.getpid(), 11)"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_a_conversion_that_fails_costs_nothing_but_its_process(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_instead(monkeypatch, tmp_path, *FAILURES[name], "convert_picture.convert = convert")
    with pytest.raises(ValidationError, match="takes too long to read"):
        convert()
    monkeypatch.undo()
    assert convert()


def test_a_conversion_that_only_waits_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_instead(monkeypatch, tmp_path, "import time; time.sleep(600)")
    monkeypatch.setattr(images, "DEADLINE_SECONDS", 0.2)
    with pytest.raises(ValidationError, match="takes too long to read"):
        convert()


def test_a_process_that_can_not_work_is_an_error_of_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_instead(monkeypatch, tmp_path, "raise LookupError('no decoder')")
    with pytest.raises(RuntimeError, match="no decoder"):
        convert()


def test_the_process_gets_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "canary")
    show = "convert_picture.convert = lambda *given: repr(sorted(os.environ.items())).encode()"
    run_instead(monkeypatch, tmp_path, show)
    assert b"canary" not in convert()


def test_one_is_converted_at_a_time_and_no_request_holds_a_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, started, running = threading.Event(), threading.Event(), []
    pool, work = SlotPool(1, most_waiting=4, seconds=5), WorkPool("uploads", 1, most=3, seconds=10)

    def wait(*given: Any) -> tuple[str, bytes]:
        running.append(threading.get_ident())
        started.set()
        assert gate.wait(10)
        return "", b"converted"

    def upload() -> None:
        assert pool.take() is not None
        try:
            assert convert() == b"converted"
        finally:
            pool.give_back()

    monkeypatch.setattr(images, "_convert_apart", wait)
    monkeypatch.setattr(images, "pool_of", lambda kind: work)
    uploads = [threading.Thread(target=upload) for _ in range(3)]
    for each in uploads:
        each.start()
    assert started.wait(10)
    # The only slot becomes free while a picture is converted.
    assert pool.take() is not None
    assert len(running) == 1
    pool.give_back()
    gate.set()
    for each in uploads:
        each.join()
    assert len(running) == 3
    assert len(set(running)) == 1
    assert not getattr(slots._thread, "slot", None)


def test_an_upload_gets_503_if_too_many_wait(signed_in: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "pool_of", lambda kind: WorkPool(kind, 1, most=0, seconds=1))
    file = SimpleUploadedFile("me.png", picture().getvalue())
    response = signed_in.post("/account/profile", {"given_name": "Ada", "family_name": "", "picture": file})
    assert response.status_code == 503
    assert response["Retry-After"]


def test_uploads_and_pictures_that_are_shown_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = convert()
    asked: list[str] = []

    def pool_of(kind: str) -> WorkPool:
        asked.append(kind)
        return WorkPool(kind, 1, most=1, seconds=10)

    monkeypatch.setattr(images, "pool_of", pool_of)
    assert images.vary_webp(stored, lambda count: bytes(count)) != stored
    convert()
    assert asked == ["encodings", "uploads"]
