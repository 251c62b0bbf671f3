"""Connections to Redis that counting holds on to.

For each command the library takes a connection from its pool, asks the socket whether it is still there, and wraps it
all in functions that retry: longer than the script takes. Here a connection stays out of the pool while it works.
"""

import os
import time
from collections import deque
from typing import Any

from redis.exceptions import ResponseError

# A connection that rested longer is asked whether the server has closed it meanwhile.
RESTED_SECONDS = 0.5


class HeldConnections:
    """Connections taken out of the pool of a redis-py client: as many as there are commands at the same moment."""

    def __init__(self, client: Any) -> None:
        self._pool = client.connection_pool
        self._idle: deque[tuple[Any, float]] = deque()  # the last used one at the right, and since when
        self._process = os.getpid()

    def execute(self, *command: str | int) -> Any:
        """Send a command, once, and return its answer. Raises redis.RedisError as the client's own method does."""
        connection = self._take()
        try:
            connection.send_command(*command, check_health=False)
            answer = connection.read_response()
        except ResponseError:  # an answer all the same
            self._idle.append((connection, time.monotonic()))
            raise
        except BaseException:
            self._drop(connection)
            raise
        self._idle.append((connection, time.monotonic()))
        return answer

    def _take(self) -> Any:
        if self._process != os.getpid():  # a fork: the sockets are the parent's
            self._idle, self._process = deque(), os.getpid()
        try:
            connection, since = self._idle.pop()
        except IndexError:
            return self._pool.get_connection()
        if time.monotonic() - since < RESTED_SECONDS:
            return connection
        self._pool.release(connection)
        return self._pool.get_connection()  # which looks, and connects anew if need be

    def _drop(self, connection: Any) -> None:
        """Close a connection that failed, and those that rest: they lead to the same server."""
        while connection is not None:
            connection.disconnect()
            self._pool.release(connection)
            try:
                connection, _ = self._idle.pop()
            except IndexError:
                connection = None
