"""Tells Celery of mails that were queued, behind the request that causes them: it waits for no broker."""

import functools
import logging
from queue import Full, Queue
from threading import Thread

from kombu.exceptions import OperationalError

from accounts.tasks import send_mail

log = logging.getLogger(__name__)

MOST_WAITING = 200


class Publisher:
    """A thread that queues the task of each mail. Whatever it can't queue is sent by the periodic task."""

    def __init__(self) -> None:
        self._waiting: Queue[int] = Queue(MOST_WAITING)
        Thread(target=self._run, daemon=True, name="mail publisher").start()

    def put(self, pk: int) -> None:
        """Queue the task of one mail soon."""
        try:
            self._waiting.put_nowait(pk)
        except Full:
            log.warning("Mail %d waits for the periodic task: the broker is slow.", pk)

    def join(self) -> None:
        """Wait until all that was put has been dealt with."""
        self._waiting.join()

    def _run(self) -> None:
        while True:
            pk = self._waiting.get()
            try:
                send_mail.apply_async((pk,), retry=False)
            except OperationalError:
                log.warning("Mail %d waits for the periodic task: the broker does not answer.", pk)
            except Exception:
                log.exception("Mail %d waits for the periodic task.", pk)
            finally:
                self._waiting.task_done()


@functools.cache
def publisher() -> Publisher:
    """Return the publisher of this process, started when it is first asked for."""
    return Publisher()
