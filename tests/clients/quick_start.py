"""Following a quick start: saving its files, pasting the rest into a terminal."""

import importlib.metadata
import json
from pathlib import Path

from tests.clients.terminal import Shown, Terminal


def save(blocks: list[Shown], folder: Path) -> list[str]:
    """Save what is to be saved, and return what is to be pasted into a terminal, without installing anything."""
    commands = []
    for block in blocks:
        if block.file:
            (folder / block.file).write_text(f"{block.code}\n", encoding="utf-8")
        elif block.code.startswith(("python3 -m pip install ", "npm install ")):
            check_installable(block.code)
        else:
            commands.append(block.code)
    return commands


def check_installable(command: str) -> None:
    """Check that what the page installs is what the tests have, so that it runs with that."""
    words = command.split()
    if words[0] == "npm":
        lock = json.loads((Path(__file__).parent / "package-lock.json").read_text())
        for package in words[2:]:
            name, _, major = package.rpartition("@")
            assert lock["packages"][f"node_modules/{name}"]["version"].startswith(f"{major}.")
    else:
        assert all(importlib.metadata.version(package) for package in words[4:])


def start(terminal: Terminal, commands: list[str], secret: str | None) -> list[str]:
    """Hand over the secret, if the client has one, and run the rest up to its first question."""
    if secret:
        assert "CLIENT_SECRET" in commands[0]
        terminal.type(commands[0])
        terminal.type(secret)
        commands = commands[1:]
    terminal.type(commands[0])
    return commands[1:]
