"""The fonts: small files, their licences beside them, and the same again from the packages that are pinned."""

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
HEAVIEST = 40 * 1024
FONTS = ("inter", "jetbrains-mono")
LICENCES = tuple(f"static/fonts/LICENSE-{font}.txt" for font in FONTS)
MADE = ("static/css/fonts.css", "templates/partials/font.html", *LICENCES)


def file_of(folder: Path, font: str) -> Path:
    (file,) = (folder / "static/fonts").glob(f"{font}-*.woff2")
    return file


@pytest.mark.parametrize("font", FONTS)
def test_a_font_is_small_and_has_its_hash_in_its_name(font: str) -> None:
    content = file_of(ROOT, font).read_bytes()
    assert len(content) < HEAVIEST
    assert file_of(ROOT, font).name == f"{font}-{hashlib.sha256(content).hexdigest()[:12]}.woff2"


def test_pages_load_both_and_expect_the_first_early() -> None:
    names = [file_of(ROOT, font).name for font in FONTS]
    assert re.findall(r"[\w-]+\.woff2", (ROOT / "static/css/fonts.css").read_text()) == names
    assert re.findall(r"[\w-]+\.woff2", (ROOT / "templates/partials/font.html").read_text()) == names[:1]


@pytest.mark.parametrize("font", FONTS)
def test_a_font_has_the_weights_and_letters_of_the_pages(font: str) -> None:
    opened = TTFont(file_of(ROOT, font))
    (axis,) = opened["fvar"].axes
    assert (axis.axisTag, axis.minValue, axis.maxValue) == ("wght", 400, 700)
    assert set("AZaz09_-~éßøœ—“”…·€©") - {chr(point) for point in opened.getBestCmap()} == set()


@pytest.mark.parametrize("font", FONTS)
def test_packages_are_pinned_and_name_no_host(font: str) -> None:
    name = f"@fontsource-variable/{font}"
    package = json.loads((SOURCE / "package-lock.json").read_text())["packages"][f"node_modules/{name}"]
    assert package["version"] == json.loads((SOURCE / "package.json").read_text())["dependencies"][name]
    assert package["integrity"].startswith("sha512-")
    assert "resolved" not in package


@pytest.mark.slow
@pytest.mark.node
def test_the_pinned_packages_make_the_same_again(tmp_path: Path) -> None:
    node.install(SOURCE)
    subprocess.run([sys.executable, SOURCE / "make.py", "--into", tmp_path], check=True, timeout=120)
    for font in FONTS:
        kept, made = TTFont(file_of(ROOT, font)), TTFont(file_of(tmp_path, font))
        assert kept.getBestCmap() == made.getBestCmap()
        assert kept["hmtx"].metrics == made["hmtx"].metrics
        assert kept["hhea"].ascent == made["hhea"].ascent
    # Another version of the compressor may write other bytes, so another name.
    for file in MADE:
        texts = [re.sub(r"-\w+\.woff2", "", (folder / file).read_text()) for folder in (ROOT, tmp_path)]
        assert texts[0] == texts[1], file
