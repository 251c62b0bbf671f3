"""Being another user of the machine, to whom files do not belong."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65_534


@contextmanager
def another_user(folder: Path) -> Iterator[None]:
    """Take away the right to enter `folder`: root becomes another user, and everyone else closes the folder."""
    mode = folder.stat().st_mode
    if os.getuid() == 0:
        folder.chmod(0o700)
        os.setresuid(NOBODY, NOBODY, 0)
    else:
        folder.chmod(0)
    try:
        yield
    finally:
        if os.getresuid()[2] == 0:
            os.setresuid(0, 0, 0)
        folder.chmod(mode)
