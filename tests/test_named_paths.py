"""Every path that the documentation names exists: files, folders, templates, and tests by their names.

A path that begins with a folder of the repository is read from there. Any other is the end of a path: `lookup.py`,
`review/workflow.py` and `layouts/docs.html` are found wherever they are, in tables in the folder of their heading.
"""

import fnmatch
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

from tests import repository

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = (*sorted((ROOT / "docs").glob("*.md")), *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING")))
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w./*-]+")
SUFFIX = re.compile(r"\w\.(py|html|css|js|mjs|ts|json|toml|txt|in|conf|yaml|sql|svg|sh|service|timer)$")
# Not of the repository: a service makes them, a test runs without them, or an operator writes them.
ELSEWHERE = {
    "docs/accounts.md": {"your-data.html", "your-data.json", "exports/"},  # in an export, and where exports are kept
    "docs/console.md": {"llms.txt"},  # an address of the docs
    "docs/deployment.md": {"deploy/.env", "deploy/secrets", "deploy/compose.override.yaml"},  # an operator's own
    "docs/operations.md": {".static/", "pictures/", "logos/", "sbom.cdx.json"},  # made by commands, kept by the service
    "docs/settings.md": {"media/"},  # in DATA_DIR
    "README.md": {".data/mail/"},  # in DATA_DIR
}


@cache
def paths() -> frozenset[str]:
    """Return every file and folder of the repository, from its root."""
    inner = (path.relative_to(ROOT) for path in repository.walk(ROOT))
    return frozenset(path.as_posix() for path in inner if "vendor" not in path.parts)


@cache
def ends() -> frozenset[str]:
    """Return every path and its ends, such as `review/workflow.py`."""
    return frozenset("/".join(PurePosixPath(path).parts[i:]) for path in paths() for i in range(path.count("/") + 1))


@cache
def folders() -> frozenset[str]:
    """Return the folders in the root."""
    return frozenset(path.split("/", 1)[0] for path in paths() if "/" in path)


def named_paths(line: str) -> Iterator[str]:
    """Yield what a line of a document names in code that looks like a path of the repository."""
    for code in CODE.findall(line):
        name = code.partition("::")[0]
        if not PATH.fullmatch(name) or name.startswith(("/", ".md", "DATA_DIR/")) or name.endswith("/."):
            continue
        if SUFFIX.search(name) or (name.endswith("/") and "." not in name) or name.split("/")[0] in folders():
            yield name


def exists(name: str) -> bool:
    path = name.rstrip("/")
    if "*" in path:
        return bool(fnmatch.filter(paths(), path))
    is_from_the_root = "/" in path and path.split("/", 1)[0] in folders()
    return path in (paths() if is_from_the_root else ends())


def missing_in(document: Path) -> list[str]:
    name = document.relative_to(ROOT).as_posix()
    return [
        f"{name}:{number}: {path}"
        for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1)
        for path in named_paths(line)
        if path not in ELSEWHERE.get(name, set()) and not exists(path)
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_path_that_a_document_names_exists(document: Path) -> None:
    assert missing_in(document) == []


@pytest.mark.parametrize("document", sorted(ELSEWHERE))
def test_every_exception_is_still_named(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    assert [path for path in ELSEWHERE[document] if f"`{path}`" not in text] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_test_that_is_named_with_its_file_is_in_it(document: Path) -> None:
    found = []
    for file, test in re.findall(r"`([\w/]+\.py)::(\w+)`", document.read_text(encoding="utf-8")):
        candidates = [path for path in paths() if path == file or path.endswith(f"/{file}")]
        if not any(f"def {test}(" in (ROOT / path).read_text(encoding="utf-8") for path in candidates):
            found.append(f"{file}::{test}")
    assert found == []
