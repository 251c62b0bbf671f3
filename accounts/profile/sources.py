"""Profile sources: the database, or the operator's HTTP service (docs/sources.md); shared parts of plan sources.

A source returns a result or raises SourceFailed. Failures are never cached, and there is no fallback value.
"""

import json
import logging
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import httpx
from django.conf import settings
from rest_framework import serializers

from accounts.models import Account
from accounts.profile.claims import Profile, profile_of
from core.http.strict_fields import StrictCharField, TypedSerializer, first_error

log = logging.getLogger(__name__)

BUDGET_SECONDS = 2.0
MAX_ANSWER_BYTES = 64 * 1024
MAX_CALLS_AT_ONCE = 8  # concurrent requests of one process to one source
# The circuit breaker opens after this many failures in a row; after a pause one call tries again.
BREAKER_FAILURES = 5
BREAKER_PAUSE_SECONDS = 10.0


class SourceFailed(Exception):
    """The source did not respond in time, or its response is invalid; the argument is for the log."""


class ProfileSource(Protocol):
    """Interface of a profile source."""

    def profile(self, account: Account, picture_key: str) -> Profile:
        """Return the profile in the sector with this picture key. Raises SourceFailed."""
        ...


class DatabaseProfiles:
    """Profiles from the accounts table."""

    def profile(self, account: Account, picture_key: str) -> Profile:
        return profile_of(account, picture_key)


class CircuitBreaker:
    """While a source keeps failing, calls fail immediately instead of after two seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0
        self._not_before = 0.0

    def before(self) -> None:
        """Raise SourceFailed while the breaker is open."""
        with self._lock:
            if time.monotonic() < self._not_before:
                raise SourceFailed("not called after several failures in a row")
            if self._failures >= BREAKER_FAILURES:
                # One call tries; the others fail until its result is known.
                self._not_before = time.monotonic() + BREAKER_PAUSE_SECONDS

    def succeeded(self) -> None:
        with self._lock:
            self._failures, self._not_before = 0, 0.0

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            if self._failures >= BREAKER_FAILURES:
                self._not_before = time.monotonic() + BREAKER_PAUSE_SECONDS


class HttpSource:
    """Calls an operator's service: `POST url` with `{"email": …}`, which returns a JSON object.

    The URL only comes from the operator's settings, never from a person or an app. `SOURCE_TOKEN` is sent as a Bearer
    credential.
    """

    def __init__(self, url: str, token: str, transport: httpx.BaseTransport | None = None) -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._transport = transport
        self._tls = httpx.create_ssl_context()  # takes longer to create than a call
        # A client for each concurrent call, so that a late call can end its own connection without any other.
        self._idle: deque[httpx.Client] = deque()
        self._breaker = CircuitBreaker()
        self._threads = ThreadPoolExecutor(MAX_CALLS_AT_ONCE, thread_name_prefix="source")

    def _new_client(self) -> httpx.Client:
        return httpx.Client(timeout=BUDGET_SECONDS, headers=self._headers, transport=self._transport, verify=self._tls)

    def _in_time(self, email: str) -> dict[str, Any]:
        """Return the response within the total time limit; httpx's time-outs apply to each network operation."""
        try:
            client = self._idle.pop()
        except IndexError:
            client = self._new_client()
        call = self._threads.submit(self._ask, client, email)
        try:
            return call.result(timeout=BUDGET_SECONDS)
        except TimeoutError:
            call.cancel()
            # The thread is still reading; without its connection it ends, and frees its place.
            client.close()
            raise
        finally:
            if not client.is_closed:
                self._idle.append(client)

    def ask(self, account: Account) -> dict[str, Any]:
        """Return the JSON object that the service returns for this person. Raises SourceFailed."""
        self._breaker.before()
        try:
            answer = self._in_time(account.email)
        except (httpx.HTTPError, ValueError, RuntimeError, TimeoutError, SourceFailed) as error:
            self._breaker.failed()
            log.warning("The source at %s failed: %s", self._url, type(error).__name__)
            raise SourceFailed(str(error)) from error
        self._breaker.succeeded()
        return answer

    def _ask(self, client: httpx.Client, email: str) -> dict[str, Any]:
        deadline = time.monotonic() + BUDGET_SECONDS
        body = b""
        with client.stream("POST", self._url, json={"email": email}) as response:
            if response.status_code != httpx.codes.OK:
                raise SourceFailed(f"status {response.status_code}")
            for piece in response.iter_bytes():
                body += piece
                if len(body) > MAX_ANSWER_BYTES or time.monotonic() > deadline:
                    raise SourceFailed("too long or too slow")
        answer = json.loads(body)
        if not isinstance(answer, dict):
            raise SourceFailed("not an object")
        return answer


class PassedOnField(StrictCharField):
    """A text that is passed on as JSON and not stored: any JSON text is allowed, also an empty one."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_blank=True, **kwargs)
        self.validators = []


class ProfileAnswer(TypedSerializer):
    """A profile in the response of another service (docs/sources.md)."""

    name = PassedOnField()
    given_name = PassedOnField()
    family_name = PassedOnField(allow_null=True, default=None)
    picture = PassedOnField(allow_null=True, default=None)

    def validate_picture(self, address: str | None) -> str | None:
        if address is not None and not address.startswith("https://"):
            raise serializers.ValidationError("must begin with https://")
        return address


# Created once: a serializer copies its fields when it is created.
_ANSWER = ProfileAnswer()


class HttpProfiles:
    """Profiles from PROFILE_SOURCE_URL; docs/sources.md lists the fields of its response."""

    def __init__(self, source: HttpSource) -> None:
        self._source = source

    def profile(self, account: Account, picture_key: str) -> Profile:
        try:
            answer = _ANSWER.run_validation(self._source.ask(account))
        except serializers.ValidationError as error:
            raise SourceFailed(first_error(error, "the profile")) from error
        # The email address and whether it is verified come from this service, which verified it.
        return Profile(account.email, account.email_verified, **answer)


@dataclass
class _Sources:
    profiles: ProfileSource


_sources: _Sources | None = None


def profile_source() -> ProfileSource:
    """Return the source of profiles in the settings."""
    global _sources
    if _sources is None:
        url = settings.PROFILE_SOURCE_URL
        source: ProfileSource = HttpProfiles(HttpSource(url, settings.SOURCE_TOKEN)) if url else DatabaseProfiles()
        _sources = _Sources(source)
    return _sources.profiles
