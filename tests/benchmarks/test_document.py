"""Writing a run's figures into docs/performance.md."""

from pathlib import Path

import pytest

from benchmarks import document
from benchmarks.document import BEGIN, END


def test_what_is_between_the_markers_is_replaced_and_the_text_around_them_stays() -> None:
    once = document.replace_between(f"# Title\n\n{BEGIN}\n\nold\n\n{END}\n\nMore.\n", "new")
    assert once == f"# Title\n\n{BEGIN}\n\nnew\n\n{END}\n\nMore.\n"
    assert document.replace_between(once, "new\n") == once


@pytest.mark.parametrize(
    "text",
    [
        "nothing",
        f"{BEGIN} but no end",
        f"only {END}",
        f"{END} turned {BEGIN}",
        f"{BEGIN}{BEGIN}{END}",
        f"{BEGIN}{END}{END}",
    ],
)
def test_a_document_without_its_two_markers_is_left_alone(text: str, tmp_path: Path) -> None:
    file = tmp_path / "performance.md"
    file.write_text(text)
    with pytest.raises(ValueError, match="have to be there once"):
        document.write("figures", "<svg/>", file)
    assert file.read_text() == text
    assert not (tmp_path / "performance.svg").exists()


def test_the_chart_is_written_beside_the_document(tmp_path: Path) -> None:
    file = tmp_path / "performance.md"
    file.write_text(f"{BEGIN}{END}")
    document.write("figures", "<svg/>", file)
    assert "figures" in file.read_text()
    assert (tmp_path / "performance.svg").read_text() == "<svg/>"


def test_the_document_has_its_markers() -> None:
    document.replace_between(document.DOCUMENT.read_text(encoding="utf-8"), "new")
