"""`python -m tests.faults.session_ends APPS`: a process that ends sessions of people, as web processes do.

APPS maps names of apps to their logout URLs, as JSON. The process creates SESSIONS people, each with a session at the
first app and at another one, and prints a line that lists them. Each line of its input is a number: the process ends
this many sessions, and prints the result for each: "committed", "rolled back", or "unknown" if the database failed.
"""

import json
import sys
import time
from typing import Any

import django

SESSIONS = 90
PAUSE = 0.05  # seconds between two ends
MANNERS = 5


def main() -> None:
    django.setup()
    from core.database.postgres import limits

    limits.apply_to_tasks()
    ends = prepare(json.loads(sys.argv[1]))
    say([end["shown"] for end in ends])
    done = 0
    for line in sys.stdin:
        outcomes = {}
        for end in ends[done : done + int(line)]:
            outcomes[end["shown"]["key"]] = act(end, done)
            done += 1
            time.sleep(PAUSE)
        say(outcomes)


def say(what: Any) -> None:
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


def prepare(apps: dict[str, str]) -> list[dict[str, Any]]:
    """Create apps, people, their sessions, and the families of tokens that belong to them."""
    from allauth.usersessions.models import UserSession
    from django.contrib.auth import SESSION_KEY

    from accounts.models import Account
    from accounts.profile.subjects import subject_for
    from accounts.sessions.browser_sessions import TAG
    from core import clock
    from core.http.sessions import SessionStore
    from oidc.events import registration
    from oidc.models import Connection, TokenFamily
    from tests.factories import make_client, make_project

    project = make_project()
    clients = []
    for name, url in apps.items():
        client = make_client(project, name=name, redirect_uris=url)
        registration.change_logout_receiver(client, None, url=url, session_required=True)
        clients.append(client)
    ends, now = [], clock.now()
    for number in range(SESSIONS):
        person = Account.objects.create(email=f"s{number}@example.com")
        session = SessionStore()
        session[SESSION_KEY], session[TAG] = str(person.pk), f"tag-{number}"
        session.create()
        key = session.session_key
        UserSession.objects.create(
            user=person, session_key=key, ip="192.0.2.1", user_agent="", data={TAG: session[TAG]}
        )
        subject, sids = subject_for(person, project.public_id), {}
        for client in (clients[0], clients[1 + number % (len(clients) - 1)]):
            connection = Connection.objects.create(
                account=person,
                client=client,
                subject=subject,
                scopes="openid",
                first_authorized_at=now,
                last_authorized_at=now,
            )
            sids[client.name] = f"{client.name}-{number}"
            for _ in range(2):  # the app signed the person in twice
                TokenFamily.objects.create(
                    connection=connection,
                    scope="openid",
                    auth_time=now,
                    created_at=now,
                    session_tag=session[TAG],
                    sid=sids[client.name],
                )
        shown = {"key": key, "sids": sids, "removed": clients[0].name if number % MANNERS == 3 else ""}
        ends.append({"shown": shown, "person": person.pk, "connection": person.connections.get(client=clients[0]).pk})
    return ends


def act(end: dict[str, Any], number: int) -> str:
    """End a session in one of MANNERS different ways, and return the result."""
    from django.db import Error, connections, transaction

    from accounts.models import Account
    from accounts.sessions.browser_sessions import end_all_sessions, end_sessions_by_key
    from core.http.sessions import SessionStore
    from oidc.authorization.consent import remove_consent
    from oidc.models import Connection

    key, manner = end["shown"]["key"], number % MANNERS
    try:
        with transaction.atomic():
            if manner == 0:
                SessionStore(key).flush()
            elif manner == 1:
                end_all_sessions(Account.objects.get(pk=end["person"]))
            elif manner == 3:
                remove_consent(Connection.objects.select_related("account", "client").get(pk=end["connection"]))
            else:
                end_sessions_by_key([key])
            if manner == 4:
                transaction.set_rollback(True)
    except Error:
        connections.close_all()
        return "unknown"
    return "rolled back" if manner == 4 else "committed"


if __name__ == "__main__":
    main()
