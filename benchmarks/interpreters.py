"""The Python that runs a server: its command, its build, and a virtual environment with a checkout's packages."""

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pip

from benchmarks import processes

ROOT = Path(__file__).resolve().parents[1]
# Kept between runs. `make clean` deletes it.
CACHE = ROOT / ".cache" / "benchmarks"
LOCK = Path("requirements/runtime.txt")

# Runs in every interpreter, so it may only use what all of them have.
_QUESTION = """
import json, os, platform, sys, sysconfig
try:
    system = platform.freedesktop_os_release()
except OSError:
    system = {}
print(json.dumps({
    "implementation": platform.python_implementation(),
    "version": platform.python_version(),
    "built": " ".join(platform.python_build()),
    "compiler": platform.python_compiler(),
    "options": sysconfig.get_config_var("CONFIG_ARGS") or "",
    "prefix": sys.base_prefix,
    "system": " ".join(filter(None, (system.get("NAME", platform.system()).split()[0], system.get("VERSION_ID")))),
    "is_conda": os.path.isdir(os.path.join(sys.base_prefix, "conda-meta")),
}))
"""


@dataclass(frozen=True)
class Build:
    """What an interpreter reports about itself."""

    implementation: str
    version: str
    built: str
    compiler: str
    options: str
    prefix: str
    system: str
    is_conda: bool = False

    @property
    def origin(self) -> str:
        """Where it comes from: a distribution with its version, or a local build."""
        if self.is_conda:
            return "conda"
        if "--prefix=/install" in self.options:
            return "python-build-standalone"
        # Distributions install into the prefix /usr. Local builds usually do not.
        return self.system if self.prefix == "/usr" else "source build"

    @property
    def short(self) -> str:
        """Version and origin, short enough for a table."""
        name = "" if self.implementation == "CPython" else f"{self.implementation} "
        return f"{name}{self.version}, {self.origin}"

    @property
    def long(self) -> str:
        """A description with compiler and build options."""
        text = f"{self.implementation} {self.version}, {self.origin}, {self.compiler.strip()}, built: {self.built}"
        if self.origin == "source build":
            chosen = {"--enable-optimizations": "PGO", "--with-lto": "LTO"}
            text += "".join(f", {'with' if option in self.options else 'no'} {name}" for option, name in chosen.items())
        return text


@dataclass(frozen=True)
class Python:
    """An interpreter. The last word of its command is the path of the interpreter."""

    command: tuple[str, ...]
    build: Build

    def with_packages_of(self, checkout: Path) -> list[str]:
        """Return the Python command of a virtual environment with the packages that the checkout pins.

        The environment is created at first use, one for each lock file and interpreter. Raises NotReady.
        """
        return _environment(self, checkout / LOCK)


def find(command: str) -> Python:
    """Return the interpreter of a command, such as `/usr/bin/python3` or `chroot /srv /usr/bin/python3`.

    Raises NotReady.
    """
    words = shlex.split(command)
    found = shutil.which(words[0])
    if found is None:
        raise processes.NotReady(f"{words[0]} was not found")
    # The path has to be absolute, because servers run in other folders. Python detects a virtual environment by the
    # symbolic link to the interpreter, so the link is not resolved.
    words[0] = os.path.abspath(found)  # noqa: PTH100  (resolve() follows links)
    done = subprocess.run([*words, "-c", _QUESTION], capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        raise processes.NotReady(f"{command}: {done.stderr[-2000:]}")
    return Python(tuple(words), Build(**json.loads(done.stdout)))


def known_by(python: Python, lock: Path) -> str:
    """Return the name of an environment, unique for the interpreter and the contents of the lock file."""
    parts = (python, lock.read_text(encoding="utf-8"))
    return f"venv-{python.build.version}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"


def _environment(python: Python, lock: Path) -> list[str]:
    home = CACHE / known_by(python, lock)
    command = [*python.command[:-1], str(home / "bin" / "python")]
    if (home / ".complete").exists():
        return command
    print(f"installing {lock} for Python {python.build.short}", file=sys.stderr)
    shutil.rmtree(home, ignore_errors=True)
    # Some distributions' Python has no pip, so the pip of this interpreter installs the packages.
    given = ["--quiet", "--disable-pip-version-check", "--no-input", "--root-user-action", "ignore"]
    install = [str(_own_pip()), "install", *given, "--require-hashes", "--requirement", str(lock)]
    steps = ([*python.command, "-m", "venv", "--without-pip", str(home)], [*command, *install])
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False, cwd=ROOT)
        if done.returncode:
            raise processes.NotReady(f"{shlex.join(step)}: {done.stderr[-3000:]}")
    (home / ".complete").touch()
    return command


def _own_pip() -> Path:
    """Return the path of a copy of this interpreter's pip, in a place where every interpreter can read it."""
    copy = CACHE / f"pip-{pip.__version__}"
    program = copy / "pip" / "__pip-runner__.py"
    if not program.exists():
        shutil.copytree(Path(pip.__file__).parent, copy / "pip", ignore=shutil.ignore_patterns("__pycache__"))
    return program
