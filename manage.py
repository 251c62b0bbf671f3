#!/usr/bin/env python
"""Command line of the service: `serve`, `provision`, and Django's own commands."""

import gc
import os
import sys


def main() -> None:
    # Importing makes many objects and no garbage. With Python's threshold of 700 new objects, looking for garbage takes
    # a fifth of the start. `serve` sets it back.
    gc.set_threshold(50_000, 20, 50)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "devportal.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
