"""Long texts are normalized one character at a time: sorting 100,000 combining marks would hold up all requests."""

import unicodedata
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from accounts.entrance.sign_up import NamesForm
from core.invisible import shows_something
from core.typed_codes import plain_code

MARKS = "\u0315\u0300" * 50_000  # in the wrong order


@pytest.fixture(autouse=True)
def short_texts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    normalize: Any = unicodedata.normalize

    def checked(form: str, text: str) -> Any:
        assert len(text) < 1000
        return normalize(form, text)

    monkeypatch.setattr(unicodedata, "normalize", checked)


def test_names_of_many_marks_show_nothing() -> None:
    assert not shows_something(MARKS)
    with pytest.raises(ValidationError, match="at most 100"):
        NamesForm().fields["given_name"].clean(MARKS)


def test_codes_of_many_marks_are_empty() -> None:
    assert plain_code(MARKS) == ""
    assert plain_code(f"12{MARKS}\u0663") == "123"
