"""The font: one small file, its licence beside it, and the same again from the package that is pinned."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

from tests.services import node

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "assets/fonts"
HEAVIEST = 60 * 1024
MADE = ("static/css/fonts.css", "templates/partials/font.html", "static/fonts/LICENSE.txt")


def font_of(folder: Path) -> Path:
    (font,) = (folder / "static/fonts").glob("*.woff2")
    return font


def test_the_font_is_small_and_has_its_hash_in_its_name() -> None:
    font = font_of(ROOT)
    assert font.stat().st_size < HEAVIEST
    assert font.name == f"inter-{hashlib.sha256(font.read_bytes()).hexdigest()[:12]}.woff2"
    for file in MADE[:2]:
        assert re.findall(r"[\w-]+\.woff2", (ROOT / file).read_text()) == [font.name], file


def test_it_has_the_weights_and_letters_of_the_pages() -> None:
    font = TTFont(font_of(ROOT))
    (axis,) = font["fvar"].axes
    assert (axis.axisTag, axis.minValue, axis.maxValue) == ("wght", 400, 700)
    assert set("AZaz09éßøœ—“”…·€©") - {chr(point) for point in font.getBestCmap()} == set()


def test_its_files_are_pinned_and_name_no_host() -> None:
    lock = json.loads((SOURCE / "package-lock.json").read_text())
    package = lock["packages"]["node_modules/@fontsource-variable/inter"]
    assert (
        package["version"]
        == json.loads((SOURCE / "package.json").read_text())["dependencies"]["@fontsource-variable/inter"]
    )
    assert package["integrity"].startswith("sha512-")
    assert "resolved" not in package


@pytest.mark.slow
@pytest.mark.node
def test_the_pinned_package_makes_the_same_again(tmp_path: Path) -> None:
    node.install(SOURCE)
    subprocess.run([sys.executable, SOURCE / "make.py", "--into", tmp_path], check=True, timeout=120)
    kept, made = TTFont(font_of(ROOT)), TTFont(font_of(tmp_path))
    assert kept.getBestCmap() == made.getBestCmap()
    assert kept["hmtx"].metrics == made["hmtx"].metrics
    assert kept["hhea"].ascent == made["hhea"].ascent
    # Another version of the compressor may write other bytes, so another name.
    for file in MADE:
        texts = [re.sub(r"inter-\w+\.woff2", "", (folder / file).read_text()) for folder in (ROOT, tmp_path)]
        assert texts[0] == texts[1], file
