"""What the embedded environment keeps in its folder is its owner's alone, also in a folder from before."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core import environment
from devportal.operations.management.commands import serve
from tests.test_layers import ROOT

# Everything that the service writes there by itself: database, mail, pictures, secrets.
WRITE = """
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.mail import send_mail
from django.core.management import call_command
from devportal.operations.provisioning import demo
call_command("migrate", verbosity=0)
send_mail("subject", "text", None, ["ada@example.com"])
default_storage.save("pictures/ada.webp", ContentFile(b"x"))
demo._keep_credentials({"projects": [], "apis": []})
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def open_to_others(folder: Path) -> dict[str, str]:
    """Return what others may do something with, and its mode."""
    return {str(path): oct(mode(path)) for path in (folder, *folder.rglob("*")) if mode(path) & 0o077}


def run(folder: Path, code: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "TEST_ENGINE")}
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", code]
    # The loosest umask: what is private then is so by the service's own doing.
    subprocess.run(command, cwd=ROOT, env=environment | {"DATA_DIR": str(folder)}, umask=0, check=True)


@pytest.mark.slow
def test_written_files_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    run(folder, WRITE)
    assert mode(folder) == 0o700
    names = {path.name for path in folder.iterdir()}
    assert names >= {"db.sqlite3", "mail", "media", "secret_key", "key_encryption_key", "demo.json"}
    assert open_to_others(folder) == {}
    assert {mode(path) for path in folder.rglob("*") if path.is_file()} == {0o600}
    assert {mode(path) for path in folder.rglob("*") if path.is_dir()} == {0o700}


@pytest.fixture
def from_before(tmp_path: Path) -> Path:
    """A folder as earlier versions left it."""
    folder = tmp_path / "data"
    (folder / "mail").mkdir(parents=True)
    for name in ("db.sqlite3", "db.sqlite3-wal", "mail/one.eml"):
        (folder / name).write_text("x")
        (folder / name).chmod(0o644)
    for each in (folder, folder / "mail"):
        each.chmod(0o755)
    return folder


def test_open_permissions_are_tightened(from_before: Path) -> None:
    assert len(open_to_others(from_before)) == 5
    environment.restrict_permissions(from_before)
    assert open_to_others(from_before) == {}


def test_a_link_is_not_followed_out_of_the_folder(from_before: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    outside.chmod(0o755)
    (outside / "file").write_text("x")
    (outside / "file").chmod(0o644)
    (from_before / "linked").symlink_to(outside)
    (from_before / "linked-file").symlink_to(outside / "file")
    environment.restrict_permissions(from_before)
    assert (mode(outside), mode(outside / "file")) == (0o755, 0o644)


def test_a_shared_folder_is_not_changed(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        tmp_path.chmod(0o1777)
        environment.create_private_folder(tmp_path)
        assert mode(tmp_path) == 0o1777
    finally:
        os.umask(before)


def test_serving_first_tightens_open_permissions(
    from_before: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Migrating(Exception):
        pass

    def migrate(*args: Any, **options: Any) -> None:
        raise Migrating

    settings.DATA_DIR = from_before
    monkeypatch.setattr(serve, "call_command", migrate)
    with pytest.raises(Migrating):
        serve.Command().handle()
    assert open_to_others(from_before) == {}
