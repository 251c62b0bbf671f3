"""APIs of the company, for the tests of libraries and guides."""

import time
from dataclasses import dataclass

import httpx

from tests.services.service import Service

READ, WRITE = "calendar.read", "calendar.write"
SCARCE, SCARCE_CALLS = "scarce.read", 3  # calls of one person per minute
CALENDAR, TASKS = "https://calendar.example.com", "https://tasks.example.com"
KNOWN_SECONDS = 60


@dataclass(frozen=True)
class Credential:
    """The credential of an API."""

    id: str
    secret: str

    @property
    def env(self) -> str:
        """The lines of the .env file."""
        return f"CREDENTIAL_ID={self.id}\nCREDENTIAL_SECRET={self.secret}\n"


def declare_apis(service: Service) -> dict[str, Credential]:
    """Declare the APIs, wait until every process of the service knows them, and return their credentials by slug."""
    declared = service.provision(
        apis=[
            {
                "slug": "calendar",
                "name": "Calendar",
                "identifier": CALENDAR,
                "calls_per_minute": 10_000,
                "calls_per_person_per_minute": 10_000,
                "scopes": [{"name": READ, "title": "See your events"}, {"name": WRITE, "title": "Change your events"}],
                "rules": [
                    {"method": "GET", "path": "/events*", "scope": READ},
                    {"method": "*", "path": "/events*", "scope": WRITE},
                ],
            },
            {
                "slug": "tasks",
                "name": "Tasks",
                "identifier": TASKS,
                "scopes": [{"name": "tasks.read", "title": "See your tasks"}],
            },
            {
                "slug": "scarce",
                "name": "Scarce",
                "identifier": "https://scarce.example.com",
                "calls_per_person_per_minute": SCARCE_CALLS,
                "scopes": [{"name": SCARCE, "title": "Call the scarce API"}],
                "rules": [{"method": "GET", "path": "/events*", "scope": SCARCE}],
            },
        ]
    )
    wait_until_known(service, "tasks")
    return {api["slug"]: Credential(api["credential"]["id"], api["credential"]["secret"]) for api in declared["apis"]}


def wait_until_known(service: Service, slug: str) -> None:
    """Wait until every process of the service knows an API."""
    deadline, seen = time.monotonic() + KNOWN_SECONDS, 0
    while seen < 20:
        answer = httpx.get(f"{service.address}/docs/apis/{slug}", timeout=KNOWN_SECONDS)
        seen = seen + 1 if answer.status_code == 200 else 0
        assert time.monotonic() < deadline, service.logged()[-3000:]
        time.sleep(0 if seen else 0.5)
