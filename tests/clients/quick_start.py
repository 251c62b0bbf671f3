"""Follow a quick start: save its files, and paste the rest into a terminal."""

import importlib.metadata
import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

from tests.clients.terminal import Shown, Terminal


def save(blocks: list[Shown], folder: Path) -> list[str]:
    """Save the files of the page, and return the commands for the terminal, except the ones that install packages.

    The packages that npm would install are already in `folder`, and are found from the folder that the page creates.
    """
    commands, at = [], folder
    for block in blocks:
        if block.file:
            (at / block.file).write_text(f"{block.code}\n", encoding="utf-8")
        elif "npm install " in block.code:
            check_installable(block.code)
            at = make_folder(block.code, folder)
            (at / "node_modules").symlink_to(folder / "node_modules")
        elif block.code.startswith("python3 -m pip install "):
            check_installable(block.code)
        else:
            commands.append(block.code if at == folder else f"cd {at.name} && {block.code}")
    return commands


def make_folder(code: str, folder: Path) -> Path:
    """Run the commands before `npm install`, and return the separate folder where npm would install packages."""
    before = code[: code.index("npm install ")]
    command = ["bash", "-ec", f"{before}pwd\nnpm prefix"]
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    here, prefix = done.stdout.splitlines()[-2:]
    assert prefix == here != str(folder), "npm installs into the folder of another project"
    return Path(here)


def check_installable(command: str, lock_folder: Path = Path(__file__).parent) -> None:
    """Check that the tests have the packages that the page installs, so that its code can run with them.

    `lock_folder` has the package-lock.json that pins the tests' packages for Node.
    """
    for line in command.splitlines():
        words = shlex.split(line)
        if words[:2] == ["npm", "install"]:
            lock = json.loads((lock_folder / "package-lock.json").read_text())
            for package in words[2:]:
                if not package.startswith("-"):
                    _check_pinned(package, lock)
        elif "pip" in words:
            assert all(importlib.metadata.version(package.partition("[")[0]) for package in words[4:])


def _check_pinned(package: str, lock: dict[str, Any]) -> None:
    name, _, asked = package.rpartition("@")  # a major version, or a tag such as `beta`
    pinned = lock["packages"][f"node_modules/{name}"]["version"]
    assert pinned.startswith(f"{asked}.") if asked.isdigit() else f"-{asked}." in pinned, (package, pinned)


def start(terminal: Terminal, commands: list[str], secret: str | None) -> list[str]:
    """Enter the secret, if the client has one, and run the next command; return the remaining commands."""
    if secret:
        assert "CLIENT_SECRET" in commands[0]
        terminal.type(commands[0])
        terminal.type(secret)
        commands = commands[1:]
    terminal.type(commands[0])
    return commands[1:]
