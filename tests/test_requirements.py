"""Only reviewed packages are installed: each is pinned by its version and its hash."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


LOCKS = [*(ROOT / "requirements").glob("*.txt"), *(ROOT / "tests" / "guides" / "locks").glob("*.txt")]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_every_package_is_pinned_by_its_hash(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    packages = re.split(r"^(?=[A-Za-z0-9])", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE), flags=re.MULTILINE)
    assert any(map(str.strip, packages))
    for package in filter(str.strip, packages):
        assert re.match(r"[\w.-]+(?:\[[\w,-]+\])?==\S+", package), package
        assert "--hash=sha256:" in package, package


def test_packages_are_installed_by_hash_alone() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    installs = re.findall(r"\$\(PIP\) install .*", text)
    assert installs
    assert all("--require-hashes" in line for line in installs)


def test_each_package_has_its_line_in_the_docs() -> None:
    asked = {
        re.split(r"[\[~=<>;]", line)[0]
        for path in (ROOT / "requirements").glob("*.in")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith(("#", "-"))
    }
    text = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    table = text.partition("## Which package does what")[2].partition("\n## ")[0]
    told = {
        name
        for row in re.findall(r"^\| (`.*?) \|", table, flags=re.MULTILINE)
        for name in re.findall(r"`([^`]+)`", row)
    }
    assert asked == told
