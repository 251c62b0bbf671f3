"""Create static/fonts/, static/css/fonts.css and templates/partials/font.html from the npm packages in package.json.

    npm ci --ignore-scripts --prefix assets/fonts && .venv/bin/python assets/fonts/make.py

A test creates the files again and compares them (tests/core/test_font.py). For characters that these fonts do not
contain, such as names in other scripts, browsers use fonts of the system.
"""

import argparse
import hashlib
import io
from pathlib import Path
from typing import NamedTuple

from fontTools import subset
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
PACKAGES = HERE / "node_modules/@fontsource-variable"


class Source(NamedTuple):
    """A font's family, package, weights and OpenType features. Ids show each character, so code has no ligatures."""

    family: str
    package: str
    weights: tuple[int, int]
    features: list[str]


TEXT = Source("Inter", "inter", (400, 700), ["calt", "case", "ccmp", "kern", "locl", "mark", "mkmk", "tnum"])
CODE = Source("JetBrains Mono", "jetbrains-mono", (400, 700), ["ccmp", "locl", "mark", "mkmk"])
# Latin letters, and the punctuation, arrows and symbols of our pages that the package has.
RANGES = [
    (0x20, 0x7E), (0xA0, 0xFF), (0x131, 0x131), (0x152, 0x153), (0x2010, 0x2015), (0x2018, 0x201E), (0x2020, 0x2022),
    (0x2026, 0x2026), (0x2039, 0x203A), (0x20AC, 0x20AC), (0x2122, 0x2122), (0x2190, 0x2193), (0x2212, 0x2212),
]  # fmt: skip
# Advance widths of Arial and of fonts with the same metrics, in thousandths of an em.
ARIAL = dict(
    zip(
        "abcdefghijklmnopqrstuvwxyz ",
        (556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500,
         722, 500, 500, 500, 278),
        strict=True,
    )
)  # fmt: skip
# A typical text of our pages. The widths of both fonts are compared with it.
SAMPLE = (
    "an app gets what you allow and each access is spelled out with its actual value first the project has a "
    "key that is shown once and a secret that expires when you rotate it every sign in has an entry in the log"
)

FACE = """  @font-face {{
    font-family: "{family}";
    font-style: normal;
    font-weight: {lightest} {boldest};
    font-display: swap;
    src: url("../fonts/{name}") format("woff2");
    unicode-range: {ranges};
  }}

"""
SHEET = """/* Made by assets/fonts/make.py: the fonts of the pages, and a stand-in of the first one's size. */

@layer tokens {{
{faces}  @font-face {{
    font-family: "{family} stand-in";
    src: local("Arial"), local("ArialMT"), local("Liberation Sans"), local("Arimo"), local("Helvetica");
    size-adjust: {size:.2%};
    ascent-override: {ascent:.2%};
    descent-override: {descent:.2%};
    line-gap-override: {gap:.2%};
  }}
}}
"""
PARTIAL = """{{% load static %}}{{% comment %}} Made by assets/fonts/make.py. {{% endcomment %}}
<link rel="preload" href="{{% static 'fonts/{name}' %}}" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="{{% static 'css/fonts.css' %}}">
"""


def _reduced(source: Source) -> TTFont:
    path = PACKAGES / source.package / "files" / f"{source.package}-latin-wght-normal.woff2"
    font = TTFont(path, recalcTimestamp=False)
    options = subset.Options()
    options.layout_features = source.features
    options.hinting = False
    options.notdef_outline = True
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]  # licence and copyright stay in the file
    reducer = subset.Subsetter(options)
    reducer.populate(unicodes=[point for first, last in RANGES for point in range(first, last + 1)])
    reducer.subset(font)
    instancer.instantiateVariableFont(font, {"wght": source.weights}, inplace=True)
    return font


def _ranges() -> str:
    return ", ".join(f"U+{first:X}" if first == last else f"U+{first:X}-{last:X}" for first, last in RANGES)


def _overrides(font: TTFont) -> dict[str, float]:
    """Return the values that give lines in the fallback font the same length and height."""
    em, hhea, glyphs = font["head"].unitsPerEm, font["hhea"], font.getBestCmap()
    width = sum(font["hmtx"][glyphs[ord(letter)]][0] for letter in SAMPLE) / em
    size = width / (sum(ARIAL[letter] for letter in SAMPLE) / 1000)
    return {
        "size": size,
        "ascent": hhea.ascent / em / size,
        "descent": -hhea.descent / em / size,
        "gap": hhea.lineGap / em / size,
    }


def _written(font: TTFont) -> bytes:
    font.flavor = "woff2"
    written = io.BytesIO()
    font.save(written)
    return written.getvalue()


def make(into: Path) -> None:
    """Write all files of the fonts below `into`, with the folders of the project."""
    faces, files, names = "", {}, []
    for source in (TEXT, CODE):
        font = _reduced(source)
        if source is TEXT:
            overrides = _overrides(font)
        content = _written(font)
        name = f"{source.package}-{hashlib.sha256(content).hexdigest()[:12]}.woff2"
        lightest, boldest = source.weights
        faces += FACE.format(family=source.family, lightest=lightest, boldest=boldest, name=name, ranges=_ranges())
        files[f"static/fonts/{name}"] = content
        files[f"static/fonts/LICENSE-{source.package}.txt"] = (PACKAGES / source.package / "LICENSE").read_bytes()
        names.append(name)
    files["static/css/fonts.css"] = SHEET.format(faces=faces, family=TEXT.family, **overrides).encode()
    files["templates/partials/font.html"] = PARTIAL.format(name=names[0]).encode()
    for old in (into / "static/fonts").glob("*"):
        old.unlink()
    for path, content in files.items():
        (into / path).parent.mkdir(parents=True, exist_ok=True)
        (into / path).write_bytes(content)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=PROJECT)
    make(parser.parse_args().into)
