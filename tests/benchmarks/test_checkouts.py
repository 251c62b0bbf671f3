"""Other commits, and the environments that are made for them."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import checkouts, interpreters
from benchmarks.interpreters import Build, Python
from benchmarks.processes import NotReady

BUILD = Build("CPython", "3.13.5", "main, Aug 10 2026", "GCC 14.2.0", "", "/usr", "Debian 13")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of two commits, of which the later has another text."""
    folder = tmp_path / "repository"
    folder.mkdir()

    def git(*arguments: str) -> None:
        who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)

    git("init", "--initial-branch=main")
    for text in ("first", "second"):
        (folder / "file").write_text(text)
        git("add", "file")
        git("commit", "--no-verify", "-m", text)
    return folder


def test_each_commit_gets_a_folder(repository: Path, tmp_path: Path) -> None:
    folder = checkouts.check_out("HEAD~1", repository, tmp_path / "cache")
    assert (folder / "file").read_text() == "first"
    assert (repository / "file").read_text() == "second"


def test_the_folder_is_used_again_however_the_commit_is_named(repository: Path, tmp_path: Path) -> None:
    first = checkouts.check_out("main", repository, tmp_path / "cache")
    (first / "mark").touch()
    again = checkouts.check_out(checkouts.full_id("main", repository)[:9], repository, tmp_path / "cache")
    assert again == first
    assert (again / "mark").exists()


def test_a_copy_that_was_interrupted_is_not_taken_for_a_whole_one(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(checkouts, "UNPACK", ["/nowhere/tar"])
        with pytest.raises(FileNotFoundError):
            checkouts.check_out("main", repository, tmp_path / "cache")
    assert (checkouts.check_out("main", repository, tmp_path / "cache") / "file").exists()


@pytest.mark.parametrize("commit", ["nowhere", "--help", ""])
def test_a_commit_that_is_not_there_is_refused(repository: Path, tmp_path: Path, commit: str) -> None:
    with pytest.raises(NotReady):
        checkouts.check_out(commit, repository, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_changed_files_are_said_beside_the_commit(repository: Path, tmp_path: Path) -> None:
    assert "changes" not in checkouts.state(repository)
    (repository / "file").write_text("third")
    assert checkouts.state(repository).endswith(", with changes")
    assert checkouts.state(tmp_path) == ""


def test_an_environment_is_known_by_interpreter_and_lock(tmp_path: Path) -> None:
    one, other = tmp_path / "one.txt", tmp_path / "other.txt"
    one.write_text("django==5.2\n")
    other.write_text("django==5.1\n")
    python = Python(("/usr/bin/python3",), BUILD)
    known = interpreters.known_by(python, one)
    assert known == interpreters.known_by(python, one)
    rebuilt = dataclasses.replace(BUILD, built="main, Sep 1 2026")
    within = Python(("/usr/sbin/chroot", "/srv/trixie", "/usr/bin/python3"), BUILD)
    others = [(python, other), (Python(python.command, rebuilt), one), (within, one)]
    assert known not in {interpreters.known_by(*pair) for pair in others}


def test_a_complete_environment_is_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "CACHE", tmp_path / "cache")
    (tmp_path / "requirements").mkdir()
    (tmp_path / interpreters.LOCK).write_text("")
    # Neither of them can be started.
    python = Python(("/nowhere/chroot", "/nowhere/python3"), BUILD)
    with pytest.raises((NotReady, FileNotFoundError)):
        python.with_packages_of(tmp_path)
    home = tmp_path / "cache" / interpreters.known_by(python, tmp_path / interpreters.LOCK)
    home.mkdir(parents=True)
    (home / ".complete").touch()
    # What starts the interpreter starts that of the environment too.
    assert python.with_packages_of(tmp_path) == ["/nowhere/chroot", str(home / "bin" / "python")]


@pytest.mark.parametrize(
    ("build", "short"),
    [
        (BUILD, "3.13.5, Debian 13"),
        (dataclasses.replace(BUILD, prefix="/usr/local"), "3.13.5, source build"),
        (dataclasses.replace(BUILD, prefix="/opt/conda", is_conda=True), "3.13.5, conda"),
        (dataclasses.replace(BUILD, implementation="PyPy"), "PyPy 3.13.5, Debian 13"),
    ],
)
def test_the_origin_of_an_interpreter_is_reported(build: Build, short: str) -> None:
    assert build.short == short


def test_a_source_build_names_its_optimisation() -> None:
    own = dataclasses.replace(BUILD, prefix="/usr/local", options="'--enable-optimizations'")
    assert own.long.endswith("with PGO, no LTO")
    assert "PGO" not in BUILD.long


def test_this_interpreter_says_what_it_is() -> None:
    found = interpreters.find(sys.executable)
    assert found.build.version == ".".join(map(str, sys.version_info[:3]))
    assert found.command == (sys.executable,)


def test_an_interpreter_that_is_not_there_is_refused() -> None:
    with pytest.raises(NotReady, match="was not found"):
        interpreters.find("/nowhere/python3")
