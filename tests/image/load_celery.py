"""Load the modules of Celery's worker and beat; only the named packages may be imported.

Run as a script, with the names of packages as arguments. The import of any other package raises ModuleNotFoundError,
as if it was not installed, so optional imports are skipped.
"""

import importlib
import importlib.metadata
import re
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

LOADED = (
    "celery.apps.beat",
    "celery.apps.worker",
    "celery.beat",
    "celery.bin.celery",
    "celery.concurrency.prefork",
    "kombu.transport.redis",
)


class OnlyNamed:
    """A finder that rejects the import of modules from other packages."""

    def __init__(self, named: set[str]) -> None:
        packages = importlib.metadata.packages_distributions()
        self._refused = {
            module for module, names in packages.items() if not {normalized(name) for name in names} & named
        }

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] in self._refused:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def normalized(name: str) -> str:
    """Return the name of a package as the Python Packaging User Guide normalizes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.meta_path.insert(0, OnlyNamed({normalized(name) for name in sys.argv[1:]}))
    sys.path.insert(0, "")
    for name in LOADED:
        importlib.import_module(name)
    app = importlib.import_module("devportal.celery").app
    app.loader.import_default_modules()
    # This is what imports everything that the transport needs.
    sys.exit(app.connection_for_read("redis://localhost/0").transport.driver_type != "redis")
