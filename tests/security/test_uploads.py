"""Forms with files are bounded as a whole (core/http/uploads.py)."""

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client as Browser

TOO_MUCH = 2 * max(settings.PICTURE_MAX_BYTES, settings.LOGO_MAX_BYTES) + 1


def test_a_form_that_holds_too_much_is_refused_before_it_is_kept(signed_in: Browser) -> None:
    photo = SimpleUploadedFile("photo.png", b"\x89PNG" + b"\0" * TOO_MUCH, "image/png")
    response = signed_in.post("/account/profile", {"given_name": "Ada", "picture": photo})
    assert response.status_code == 400


def test_several_files_count_together(signed_in: Browser) -> None:
    half = SimpleUploadedFile("one.png", b"\0" * (TOO_MUCH // 2 + 1), "image/png")
    other = SimpleUploadedFile("two.png", b"\0" * (TOO_MUCH // 2 + 1), "image/png")
    response = signed_in.post("/account/profile", {"given_name": "Ada", "picture": half, "more": other})
    assert response.status_code == 400


def test_a_file_that_only_its_form_refuses_gets_the_form_s_own_words(signed_in: Browser) -> None:
    photo = SimpleUploadedFile("photo.png", b"\0" * (settings.PICTURE_MAX_BYTES + 1), "image/png")
    response = signed_in.post("/account/profile", {"given_name": "Ada", "picture": photo})
    assert response.status_code == 200
    assert b"field__errors" in response.content
