"""What code, tests and docs cite can be read here: every document and heading they name is in the repository.

GitHub's rules make the anchor of a heading, because that is where the documents are read.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests import repository

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (
    ".ci", "accounts", "api", "benchmarks", "core", "deploy", "devportal", "docs", "examples", "oidc", "static",
    "templates", "tests",
)  # fmt: skip
SUFFIXES = {"", ".css", ".html", ".in", ".js", ".json", ".md", ".mjs", ".py", ".svg", ".toml", ".ts", ".txt"}

DOCUMENT = re.compile(r"(?<![\w./-])docs/([\w-]+\.md)(?:#([\w-]+))?")
MENTION = re.compile(r"(?<![\w./*-])((?:\.\./)?(?:[\w-]+/)*[\w-]+\.md)\b")
LINK = re.compile(r"\]\(([\w./-]*)(?:#([\w-]+))?\)")


def files() -> Iterator[Path]:
    """Yield the text files of the repository, without copies of files of others."""
    yield from (path for path in ROOT.iterdir() if path.is_file() and path.suffix in SUFFIXES - {".txt"})
    for folder in FOLDERS:
        for path in repository.walk(ROOT / folder):
            if path.suffix in SUFFIXES and "vendor" not in path.parts and path.is_file():
                yield path


@cache
def texts() -> dict[Path, str]:
    found = {}
    for path in files():
        try:
            found[path] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:  # no text, whatever its name
            continue
    return found


def anchor(heading: str) -> str:
    """Return the anchor that GitHub gives to a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@cache
def anchors(document: Path) -> set[str]:
    """Return the anchors of a Markdown file; a heading that occurs twice gets -1 the second time."""
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found: set[str] = set()
    for heading in re.findall(r"^#+ +(.+)$", text, re.MULTILINE):
        name, number = anchor(heading), 0
        while (f"{name}-{number}" if number else name) in found:
            number += 1
        found.add(f"{name}-{number}" if number else name)
    return found


def leads_nowhere(document: Path, name: str) -> bool:
    """Whether there is no such file, or a Markdown file has no heading with the anchor `name`."""
    if not document.exists():
        return True
    return bool(name) and document.suffix == ".md" and name not in anchors(document)


def test_every_heading_of_the_docs_that_is_cited_is_there() -> None:
    cited = [(path, match[1], match[2] or "") for path, text in texts().items() for match in DOCUMENT.finditer(text)]
    assert len(cited) > 50
    found = [
        f"{path.relative_to(ROOT)}: docs/{name}#{part}"
        for path, name, part in cited
        if leads_nowhere(ROOT / "docs" / name, part)
    ]
    assert found == []


def test_every_link_between_documents_leads_somewhere() -> None:
    documents = {path: text for path, text in texts().items() if path.suffix == ".md"}
    links = [(path, match[1], match[2] or "") for path, text in documents.items() for match in LINK.finditer(text)]
    assert len(links) > 50
    found = [
        f"{path.relative_to(ROOT)}: {name}#{part}"
        for path, name, part in links
        if leads_nowhere(path.parent / name if name else path, part)
    ]
    assert found == []


def test_every_document_that_is_named_is_there() -> None:
    found = []
    for path, text in texts().items():
        for name in set(MENTION.findall(text)):
            if not any((folder / name).is_file() for folder in (ROOT, ROOT / "docs", path.parent)):
                found.append(f"{path.relative_to(ROOT)}: {name}")
    assert found == []
