"""Run the service with several worker processes, and return in each response which of them has handled the request.

Run by tests/api/test_workers.py: `python -m tests.api.four_workers PORT WORKERS`, in the service's environment.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

WORKER_HEADER = "X-Worker"


def load(target: str) -> Callable[..., Any]:
    """Return the service's application, loaded as in any worker, with the worker's process id in its responses."""
    from core.serving.worker import load_application

    application = load_application(target)

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        def begin(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            return start_response(status, [*headers, (WORKER_HEADER, str(os.getpid()))], *rest)

        result: Iterable[bytes] = application(environ, begin)
        return result

    return answer


def stop_without(parent: int) -> None:
    """Stop this process when the tests have ended, even if they were killed."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)


def main(port: int, workers: int) -> None:
    from granian import Granian
    from granian.constants import Interfaces

    threading.Thread(target=stop_without, args=(os.getppid(),), daemon=True).start()
    Granian(
        "devportal.wsgi.application",
        address="127.0.0.1",
        port=port,
        interface=Interfaces.WSGI,
        workers=workers,
        blocking_threads=2,
        workers_kill_timeout=10,
        log_access=False,
    ).serve(target_loader=load)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
