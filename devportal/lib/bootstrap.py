"""What settings need before Django is set up: secrets that the embedded environment makes for itself."""

import os
import secrets
from pathlib import Path


def embedded_secret(data_dir: Path, name: str) -> str:
    """Return the secret kept in `data_dir/name`, making it (mode 600) on the first call.

    Two processes that start at once agree: the one that creates the file first wins, the other reads it.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    path = data_dir / name
    if not path.exists():
        fresh = path.with_name(f"{name}.{os.getpid()}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_text().strip()
