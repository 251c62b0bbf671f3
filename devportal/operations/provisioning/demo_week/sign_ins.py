"""The sign-ins of the demo's week: simulate each one, and write the log, the counts and the people."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from devportal.console.analytics import store
from devportal.console.models import SignInEvent
from devportal.operations.provisioning.demo_week import calls
from devportal.operations.provisioning.demo_week.calls import Refusal, Week, share, text
from devportal.operations.provisioning.demo_week.people import EARLIER, SCOPES, Crowd, Use
from oidc.models import Client, Connection, TokenFamily
from oidc.sign_in_log.steps import ENTRIES, Step
from oidc.values.reasons import Reason

A_WEEK = {"web": 230, "spa": 190, "native": 70}  # requests that start, by the client's type
TRIED_AGAIN = 40  # additional requests on the evening of the incident
REFUSED_A_WEEK = 26  # rejected requests of a client, which do not start
_ROWS = 500
_RENEWED = timedelta(minutes=55)


@dataclass
class Journal:
    """The data of the week: log entries, counts, and the person, client and time of each code."""

    week: Week
    entries: list[SignInEvent] = field(default_factory=list)
    counts: Counter[tuple[int, datetime, str, str]] = field(default_factory=Counter)
    codes: list[tuple[int, int, datetime]] = field(default_factory=list)

    def count(self, client: Client, at: datetime, step: Step, error: str = "") -> None:
        hour = at.replace(minute=0, second=0, microsecond=0)
        self.counts[client.pk, hour, step.value, error] += 1

    def note(self, client: Client, at: datetime, step: Step, *, error: str = "", **details: Any) -> None:
        """Count a step, and add its entry if it has one.

        `family` is the index of its code in `codes`, until the families are stored.
        """
        self.count(client, at, step, error)
        if step in ENTRIES:
            endpoint, outcome = ENTRIES[step]
            about: dict[str, Any] = {"endpoint": endpoint, "outcome": outcome, "step": step.value, "error": error}
            entry = SignInEvent(client=client, project_id=client.project_id, at=at, **about, **details)
            entry.request_id = text(20, "request", len(self.entries), at)
            self.entries.append(entry)

    def refuse(self, client: Client, at: datetime, refusal: Refusal, family: int | None = None) -> None:
        about = {"reason": refusal.reason, "parameters": refusal.parameters, "redirect_uri": refusal.redirect_uri}
        self.note(client, at, refusal.step, error=refusal.error, family=family, **about)


def live_through(week: Week, clients: list[Client], crowd: Crowd) -> Journal:
    """Simulate every sign-in of the week in order, and note in the crowd which apps each person uses."""
    journal = Journal(week)
    by_key = {client.pk: client for client in clients}
    for (_, client), use in crowd.uses.items():  # from before the week
        journal.count(by_key[client], use.first, Step.NEW_PERSON)
    starts = sorted((moment, place) for place, client in enumerate(clients) for moment in _starts(week, client))
    for moment, place in starts:
        _sign_in(journal, clients[place], crowd, moment)
    for client in clients:
        kinds = calls.requests_refused(client)
        for number, moment in enumerate(week.moments(f"refused {client.name}", REFUSED_A_WEEK)):
            journal.refuse(client, moment, kinds[number % len(kinds)])
    journal.entries.sort(key=lambda entry: entry.at)
    return journal


def _starts(week: Week, client: Client) -> Iterator[datetime]:
    """Yield the times at which sign-ins start. While the secret is wrong, people try again several times."""
    yield from week.moments(client.name, A_WEEK.get(client.type, 0))
    begin, end = week.incident
    if client.has_secret:
        yield from (begin + (end - begin) * share("retry", client.name, number) for number in range(TRIED_AGAIN))


def _who(journal: Journal, client: Client, crowd: Crowd, at: datetime) -> int:
    """Return the number of the person. New people arrive one by one, and some return more often than others."""
    gone_by = (at - journal.week.since) / timedelta(days=7)
    arrived = EARLIER + 1 + int(gone_by * (len(crowd.accounts) - EARLIER - 1))
    return int(share("who", client.name, at) * arrived)


def _sign_in(journal: Journal, client: Client, crowd: Crowd, at: datetime) -> None:
    """Simulate one sign-in: some people leave, some cancel, and the others get a code."""
    person = _who(journal, client, crowd, at)
    use = crowd.uses.get((person, client.pk))
    luck = share("luck", client.name, at)
    if client.type == Client.Type.SPA and luck < 0.25:
        journal.note(client, at, Step.SILENT)
        if use is None or luck < 0.08:
            journal.refuse(client, at, calls.NOT_SIGNED_IN)
            return
    else:
        journal.note(client, at, Step.STARTED)
        if 0.25 <= luck < 0.32:
            return  # left on the sign-in page
    at += timedelta(seconds=4 + 40 * share("signing in", at))
    if use is None:
        journal.note(client, at, Step.SHOWN)
        if luck < 0.4:
            return
        if luck < 0.52:
            journal.note(client, at, Step.CANCELLED, error="access_denied", reason=Reason.CANCELLED)
            return
        journal.note(client, at, Step.ALLOWED)
        journal.note(client, at, Step.NEW_PERSON)
        crowd.uses[person, client.pk] = Use(at, at)
    else:
        journal.note(client, at, Step.SKIPPED)
        if use.latest.date() < at.date():
            journal.note(client, at, Step.RETURNING)
        use.latest = max(use.latest, at)
    _issue(journal, client, person, at, luck)


def _issue(journal: Journal, client: Client, person: int, at: datetime, luck: float) -> None:
    """Issue a code. Most codes are exchanged, browser apps refresh their tokens, and a few families end."""
    family = len(journal.codes)
    journal.codes.append((person, client.pk, at))
    journal.note(client, at, Step.ISSUED, redirect_uri=client.registered_redirect_uris[0], family=family)
    at += timedelta(seconds=0.2 + share("exchange", at))
    if client.has_secret and journal.week.is_incident(at):
        journal.refuse(client, at, calls.wrong_secret(client), family)
        return
    if luck > 0.95:
        kinds = calls.exchanges_refused(client)
        journal.refuse(client, at, kinds[int(share("kind", at) * len(kinds))], family)
        return
    journal.note(client, at, Step.EXCHANGED, family=family)
    for _ in range(int(share("renewals", at) * 3)):
        at += _RENEWED
        if at < journal.week.until:
            journal.note(client, at, Step.REFRESHED, family=family)
    _end(journal, client, family, at + timedelta(minutes=7), luck)


def _end(journal: Journal, client: Client, family: int, at: datetime, luck: float) -> None:
    if at >= journal.week.until:
        return
    if luck > 0.85:
        journal.note(client, at, Step.REVOKED, family=family)
    elif luck > 0.83:
        journal.refuse(client, at, calls.SUPERSEDED, family)


def write(journal: Journal, connections: dict[tuple[int, int], Connection]) -> None:
    """Write the token families, the counts, and the log for as long as it is kept."""
    families = TokenFamily.objects.bulk_create(_families(journal, connections), batch_size=_ROWS)
    oldest = journal.week.until - timedelta(days=settings.SIGN_IN_LOG_DAYS)
    kept = [entry for entry in journal.entries if entry.at >= oldest]
    for entry in kept:
        if entry.family is not None:
            entry.family = families[entry.family].pk
    SignInEvent.objects.bulk_create(kept, batch_size=_ROWS)
    store.add_counts(
        store.SignInCount(client, hour, step, error, times)
        for (client, hour, step, error), times in journal.counts.items()
    )


def _families(journal: Journal, connections: dict[tuple[int, int], Connection]) -> Iterator[TokenFamily]:
    for person, client, at in journal.codes:
        signed_in = at - timedelta(seconds=3)
        connection = connections[person, client]
        yield TokenFamily(
            connection=connection, scope=SCOPES, auth_time=signed_in, amr=["pwd"], created_at=at, revoked_at=None
        )
