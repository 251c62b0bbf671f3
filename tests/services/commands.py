"""Management commands in the environment of a service, without a new interpreter for each.

A process that has already set up Django forks a child for each command, because importing takes longer than most
commands.
"""

import gc
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# Runs this file in the process. Other modules come from its working directory, which may have another state of the
# source.
START = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"


class Commands:
    """Runs management commands; `close` ends the process that forks the children."""

    def __init__(self, source: Path, environment: dict[str, str]) -> None:
        self.environment = environment
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, __file__],
            cwd=source,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """Run `manage.py` with these arguments, and return its exit code and output."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(command)}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"the settings can't be loaded: {self.environment}"
        return subprocess.CompletedProcess(command, *json.loads(answer))

    def close(self) -> None:
        self._process.communicate()


def _main() -> None:
    import django
    from django.conf import settings

    django.setup()
    __import__(settings.ROOT_URLCONF)
    # Otherwise garbage collection would make each child copy all of this memory, and once more when it ends.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as error:
            child = os.fork()
            if child == 0:
                _run(json.loads(line), out.fileno(), error.fileno())
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            out.seek(0)
            error.seek(0)
            sys.stdout.write(f"{json.dumps([status, out.read(), error.read()])}\n")
            sys.stdout.flush()


def _run(command: list[str], out: int, error: int) -> None:
    """Run a command in this process, which then ends as a separate interpreter would."""
    from django.core.management import execute_from_command_line

    with Path(os.devnull).open() as nothing:
        for source, target in ((nothing.fileno(), 0), (out, 1), (error, 2)):
            os.dup2(source, target)
    execute_from_command_line(["manage.py", *command])
    sys.exit()


if __name__ == "__main__":
    _main()
