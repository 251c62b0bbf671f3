"""The people of the demo's week, who have used its apps. Nobody can sign in as one of them."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from allauth.account.models import EmailAddress
from django.contrib.auth.hashers import make_password

from accounts.models import Account, PairwiseSubject
from accounts.profile.files import new_picture_key
from accounts.profile.subjects import SUB_LENGTH
from core.credentials import random_text
from devportal.operations.provisioning.demo_week.calls import Week, share
from oidc.models import Client, Connection, Project

NAMES = (
    "Amina Diallo", "Bruno Costa", "Chiara Conti", "Daniel Okafor", "Elif Yilmaz", "Farid Rahimi", "Greta Lindqvist",
    "Hana Suzuki", "Ivan Petrov", "Jana Novak", "Kofi Mensah", "Lucia Fernandez", "Malik Hassan", "Nora Berg",
    "Oskar Nowak", "Priya Nair", "Quentin Dubois", "Rosa Jimenez", "Samuel Cohen", "Tara Byrne", "Umar Sheikh",
    "Vera Horvat", "Wen Li", "Yara Haddad",
)  # fmt: skip
EARLIER = 10  # how many of them used the apps before the week
SCOPES = "email openid profile"


@dataclass
class Use:
    """A person's use of one app: the first and the latest authorization, and whether it began before the week."""

    first: datetime
    latest: datetime


@dataclass
class Crowd:
    """The people by number, and their use of apps by person and client."""

    accounts: list[Account]
    uses: dict[tuple[int, int], Use] = field(default_factory=dict)


def address(name: str) -> str:
    """Return the email address of one of the people, on a reserved domain (RFC 2606)."""
    return f"{name.lower().replace(' ', '.')}@example.com"


def make_people(week: Week, clients: list[Client]) -> Crowd:
    """Create the people with unusable passwords, and the earlier use of apps by some of them."""
    unusable = make_password(None)
    accounts = Account.objects.bulk_create(
        Account(
            email=address(name),
            given_name=name.partition(" ")[0],
            family_name=name.partition(" ")[2],
            email_verified=True,
            password=unusable,
        )
        for name in NAMES
    )
    EmailAddress.objects.bulk_create(
        EmailAddress(user=account, email=account.email, verified=True, primary=True) for account in accounts
    )
    crowd = Crowd(accounts)
    for person in range(EARLIER):
        for client in clients:
            if share("uses", person, client.name) < 0.7:
                first = week.since - timedelta(days=2 + 20 * share("first", person, client.name))
                # On an earlier day (UTC), so that people can count as returning on the week's first day.
                latest = week.since - timedelta(hours=25 + 20 * share("latest", person, client.name))
                crowd.uses[person, client.pk] = Use(first, latest)
    return crowd


def make_connections(project: Project, crowd: Crowd) -> dict[tuple[int, int], Connection]:
    """Create subjects and connections in their state after the week; return the connections by person and client."""
    numbers = sorted({person for person, _ in crowd.uses})
    subjects = PairwiseSubject.objects.bulk_create(
        PairwiseSubject(
            account=crowd.accounts[person],
            sector=project.public_id,
            sub=random_text(SUB_LENGTH),
            picture_key=new_picture_key(),
        )
        for person in numbers
    )
    by_person = dict(zip(numbers, subjects, strict=True))
    keys = sorted(crowd.uses)
    rows = Connection.objects.bulk_create(
        Connection(
            account=crowd.accounts[person],
            client_id=client,
            subject=by_person[person],
            scopes=SCOPES,
            first_authorized_at=crowd.uses[person, client].first,
            last_authorized_at=crowd.uses[person, client].latest,
        )
        for person, client in keys
    )
    return dict(zip(keys, rows, strict=True))
