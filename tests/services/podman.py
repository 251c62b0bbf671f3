"""Build and run the image of the Dockerfile with Podman. The base image is made here, so that no registry is needed.

The build passes this machine's settings for its package index, such as certificates, to pip.
"""

import ast
import functools
import os
import shutil
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.services import keeper

ROOT = Path(__file__).resolve().parents[2]
RELEASE = "trixie"
# Kept for the next run, like the layers that have not changed.
BASE = f"localhost/portal-test-base:{RELEASE}"
IMAGE = "localhost/portal-test:latest"
BUILD_SECONDS = 600
# The options of pip's configuration file that say where packages come from.
PIP_OPTIONS = ("index-url", "extra-index-url", "find-links", "trusted-host", "proxy", "timeout", "retries")
CERTIFICATES = "/run/certificates-of-the-builder.crt"


def why_missing() -> str | None:
    """Return why no image can be built here, or None if one can."""
    absent = [name for name in ("podman", "runc") if shutil.which(name) is None]
    if absent:
        return f"no {' and no '.join(absent)} on the PATH"
    if _command() is None:
        return "podman does not work here, neither with its own storage driver nor with vfs"
    if not _has_base() and not _can_make_base():
        return f"no image {BASE}, and no debootstrap (or no root) to make it"
    return None


def podman(*arguments: str | Path, **options: Any) -> "subprocess.CompletedProcess[Any]":
    """Run podman and return its output. Raises CalledProcessError with the output as a note if it fails."""
    return run([*command(), *map(str, arguments)], **options)


def run(line: list[str], **options: Any) -> "subprocess.CompletedProcess[Any]":
    """Run a program and return its output. Raises CalledProcessError with the output as a note if it fails."""
    given: dict[str, Any] = {"capture_output": True, "text": True, "timeout": BUILD_SECONDS} | options
    if "input" not in given:
        given.setdefault("stdin", subprocess.DEVNULL)
    done: subprocess.CompletedProcess[Any] = subprocess.run(line, check=False, **given)
    if done.returncode:
        error = subprocess.CalledProcessError(done.returncode, line)
        error.add_note(f"{done.stdout or ''}\n{done.stderr or ''}"[-6000:])
        raise error
    return done


def command() -> list[str]:
    """Return the command for podman on this machine: with runc, and with a storage driver that works."""
    found = _command()
    assert found is not None, why_missing()
    return [*found, "--runtime", "runc"]


def build() -> str:
    """Build the image and return its name. Layers of the last build are used again if nothing in them has changed."""
    name, old = IMAGE, _images()
    for target in (["--target", "build", "--tag", f"{IMAGE}-packages"], ["--tag", name]):
        _build(*target, "--build-arg", "VERSION=test", ROOT)
    for image in old - _images():
        subprocess.run([*command(), "rmi", image], capture_output=True, check=False)  # another run may still use it
    return name


def build_from(text: str, context: Path, name: str) -> None:
    """Build the image `name` from the text of a Containerfile and the files of a folder."""
    _build("--file", "-", "--tag", name, context, input=text)


def _build(*arguments: str | Path, **options: Any) -> None:
    if not _has_base():
        _make_base()
    mounts, configuration = _package_index()
    given = ["--isolation", "chroot", "--network", "host", "--build-arg", f"BASE={BASE}", *mounts]
    secret = ["--secret", "id=pip.conf,type=env,src=PIP_CONF"]
    environment = os.environ | {"PIP_CONF": configuration}
    podman("build", "--quiet", *given, *secret, *arguments, env=environment, **options)


def _images() -> set[str]:
    listed = podman("images", "--quiet", "--no-trunc", "--filter", f"reference={IMAGE}*")
    return set(listed.stdout.split())


@functools.cache
def _command() -> tuple[str, ...] | None:
    for candidate in (("podman",), ("podman", "--storage-driver", "vfs")):
        if subprocess.run([*candidate, "info"], capture_output=True, check=False).returncode == 0:
            return candidate
    return None


def _has_base() -> bool:
    return subprocess.run([*command(), "image", "exists", BASE], capture_output=True, check=False).returncode == 0


def _can_make_base() -> bool:
    return os.geteuid() == 0 and shutil.which("debootstrap") is not None


def _make_base() -> None:
    """Create a minimal Debian image from the archive that this machine uses for its own packages."""
    with keeper.folder() as folder:
        system = folder / "system"
        run(["debootstrap", "--variant=minbase", RELEASE, str(system), *_mirror()])
        packed = subprocess.Popen(["tar", "-C", str(system), "-cf", "-", "."], stdout=subprocess.PIPE)
        podman("import", "--quiet", "-", BASE, stdin=packed.stdout)
        assert packed.wait() == 0


def _mirror() -> list[str]:
    """Return the URL of the Debian archive in apt's configuration; without one, debootstrap chooses."""
    line = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    listed = subprocess.run(line, capture_output=True, text=True, check=False) if shutil.which("apt-get") else None
    addresses = listed.stdout.split() if listed else []
    return [address for address in addresses if address.rstrip("/").endswith("/debian")][:1]


def _package_index() -> tuple[list[str], str]:
    """Return the mounts that pip needs in the build, and the text of its configuration file there."""
    listed = run([sys.executable, "-m", "pip", "config", "list"]).stdout.splitlines()
    # Variables of the environment, such as `:env:.index-url='…'`, are sorted first, because the first value counts.
    found: dict[str, str] = {}
    for line in sorted(listed, key=lambda line: not line.startswith(":env:")):
        name, _, value = line.partition("=")
        found.setdefault(name.rpartition(".")[2].removeprefix("default-"), str(ast.literal_eval(value)))
    options = {name: value for name, value in found.items() if name in PIP_OPTIONS}
    folders = [Path(link) for link in options.get("find-links", "").split() if Path(link).is_dir()]
    mounts = [flag for folder in folders for flag in ("--volume", f"{folder}:{folder}:ro")]
    certificates = found.get("cert") or os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
    if certificates and Path(certificates).is_file():
        mounts += ["--volume", f"{Path(certificates).resolve()}:{CERTIFICATES}:ro"]
        options["cert"] = CERTIFICATES
    return mounts, "\n".join(["[global]", *(f"{name} = {value}" for name, value in options.items())])
