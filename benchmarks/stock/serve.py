"""Run stock django-oauth-toolkit like `manage.py serve` runs the service: granian, WSGI, one worker, four threads."""

import sys

from granian import Granian
from granian.constants import Interfaces


def main() -> None:
    Granian(
        "benchmarks.stock.wsgi:application",
        address="127.0.0.1",
        port=int(sys.argv[1]),
        interface=Interfaces.WSGI,
        workers=1,
        blocking_threads=4,
        log_access=False,
    ).serve()


if __name__ == "__main__":
    main()
