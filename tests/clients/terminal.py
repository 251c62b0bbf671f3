"""A terminal into which a reader pastes the code of a page, and the blocks of code of a page."""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from types import TracebackType

SECONDS = 30


@dataclass
class Shown:
    """A block of code on a page, the name under which to save it, and its language."""

    code: str
    file: str
    language: str = ""


class Code(HTMLParser):
    """Collects the blocks of code of a page, in their order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.blocks: list[Shown] = []
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "pre":
            given = dict(attrs)
            self.blocks.append(Shown("", given.get("data-file") or "", given.get("data-language") or ""))
            self._inside = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre":
            self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.blocks[-1].code += data


class Terminal:
    """A shell in a folder. Typed text goes to the shell, or to the program that it is running."""

    def __init__(self, folder: Path, **settings: str) -> None:
        # `python3` is the interpreter that runs the tests, and no browser window opens.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.process = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=os.environ | {"PATH": path, "BROWSER": "true"} | settings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.seen = ""
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def type(self, text: str) -> None:
        """Type or paste something, and press Enter."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()

    def expect(self, pattern: str) -> re.Match[str]:
        """Return the first match in the output from now on. Fails after SECONDS."""
        heard, deadline = "", time.monotonic() + SECONDS
        while (found := re.search(pattern, heard)) is None:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {pattern!r} in:\n{self.seen}") from None
            heard += line
            self.seen += line
        return found

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
