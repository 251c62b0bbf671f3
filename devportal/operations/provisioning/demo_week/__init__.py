"""A week of activity for the demo of `make run`: people, sign-ins and calls, generated once in a new data folder.

Nothing in it can be used: its people have no password, its expired secret and its key are known to nobody. The same
clock makes the same week; only what must not be guessed (ids of people, secrets) is random, as everywhere.
"""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from api import keys
from api.models import ApiKey, RequestLog
from core import clock
from core.audit import Event, report
from devportal.console.models import AuditEvent, Notice, SignInEvent
from devportal.console.notices.checks import check_expiry, raise_due
from devportal.console.notices.error_rates import find_well_above
from devportal.console.notices.kinds import NoticeKind
from devportal.operations.provisioning.demo_week import calls, people, sign_ins
from devportal.operations.provisioning.demo_week.calls import Week
from oidc.clients.secrets import CLIENT_SECRETS
from oidc.models import Client, ClientSecret, Connection, Project, ProjectMember
from oidc.projects.credentials import new_secret

# The audit event that marks the week as generated, so that it is generated only once.
MADE = "demo.week_made"
KEY_NAME = "Nightly export"


def make_week(result: dict[str, Any]) -> bool:
    """Generate a week of activity in the first project of a provisioned demo; return whether this call did so.

    Does nothing if a week was generated before, if an app or key was used already, or outside of the embedded
    environment.
    """
    if not settings.EMBEDDED or not result["projects"]:
        return False
    project = Project.objects.get(public_id=result["projects"][0]["id"])
    clients = list(Client.objects.filter(project=project).order_by("pk"))
    is_in_use = Connection.objects.exists() or SignInEvent.objects.exists() or RequestLog.objects.exists()
    if not clients or is_in_use or AuditEvent.objects.filter(action=MADE).exists():
        return False
    with transaction.atomic():
        _make(Week(clock.now() - timedelta(minutes=2)), project, clients)
        report(Event(MADE, None, None, project.public_id))
    return True


def _make(week: Week, project: Project, clients: list[Client]) -> None:
    owner = ProjectMember.objects.select_related("account").filter(project=project).earliest("pk").account
    crowd = people.make_people(week, clients)
    journal = sign_ins.live_through(week, clients, crowd)
    connections = people.make_connections(project, crowd)
    sign_ins.write(journal, connections)
    key, _ = keys.create_key(project, owner, KEY_NAME, [keys.READS_PROFILE])
    ApiKey.objects.filter(pk=key.pk).update(created_at=week.since - timedelta(days=20))
    subs = sorted({row.subject.sub for row in connections.values() if row.subject is not None})
    calls.make_calls(week, project, clients, subs, key)
    for client in clients:
        if client.has_secret:
            _rotate(client, week.incident[0])
    _notice(week, key)


def _notice(week: Week, key: ApiKey) -> None:
    """Raise the notices of the week: the errors of the incident, and a key that expires soon."""
    evening = week.incident[1] - timedelta(minutes=30)
    Notice.objects.update(at=week.since)  # of the secret and the key, which the week had from its beginning
    raise_due(find_well_above(evening))
    Notice.objects.filter(kind__in=[NoticeKind.SIGN_IN_ERRORS, NoticeKind.CALL_ERRORS]).update(at=evening)
    ApiKey.objects.filter(pk=key.pk).update(expires_at=clock.now() + timedelta(days=2, hours=20))
    check_expiry()


def _rotate(client: Client, moment: datetime) -> None:
    """Give a client a secret that ended when the incident began, and that the app still used."""
    row, _ = CLIENT_SECRETS.store(new_secret(), client=client, revoked_at=moment)
    made, used = moment - timedelta(days=40), moment - timedelta(minutes=3)
    ClientSecret.objects.filter(pk=row.pk).update(created_at=made, last_used_at=used)
    live = ClientSecret.objects.filter(client=client, revoked_at=None)
    live.update(created_at=moment - timedelta(hours=1), last_used_at=clock.now() - timedelta(minutes=3))
