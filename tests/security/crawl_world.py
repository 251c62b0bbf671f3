"""The people who request every URL of the service, and the objects that the URLs name."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from allauth.mfa.webauthn.internal.auth import WebAuthn
from allauth.usersessions.models import UserSession
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client as Browser
from django.test import override_settings
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData
from PIL import Image

from accounts.models import Account, FamilyMember, Organization
from accounts.models import Invitation as PlanInvitation
from accounts.plans import invitations as plan_invitations
from accounts.plans import members as plan_members
from accounts.roles import set_roles
from api.models import ApiKey, RequestLog
from devportal.console.models import Notice, SignInEvent
from devportal.review.cases import cases
from devportal.review.models import AppReview
from devportal.review.submission import developer_actions
from oidc.apis.scopes import known_scopes
from oidc.domains import branding
from oidc.models import Api, Client, Connection, ProjectMember
from oidc.projects import invitations
from tests.contents import writes
from tests.devportal.admin.conftest import World, make_world
from tests.devportal.review.reviewing import decide, fill, fresh
from tests.factories import (
    PASSWORD,
    make_access_token,
    make_account,
    make_client,
    make_delivery,
    make_project,
    make_receiver,
)
from tests.relying_party import sign_in

# Someone without a session; a person and the owner of another project, who don't belong to the project; the members of
# the project; and the staff, who are not members.
ROLES = ("anonymous", "person", "outsider", "viewer", "developer", "owner", "reviewer", "operator", "superuser")
# A program with an access token that has every scope. It only requests URLs for which the table names it.
APP = "app"
EVIL = "https://evil.example.com"


class Plain(Browser):
    """A browser that does not change its cookies, and does not copy template contexts, which would take most time."""

    def request(self, **request: Any) -> Any:
        environ: Any = self._base_environ(**request)  # type: ignore[attr-defined]  # missing in the stubs
        return self.handler(environ)


@dataclass
class Walker:
    """Someone with a browser; each request comes from a different IP address, so that no limit is reached."""

    browser: Plain
    origin: int
    headers: dict[str, str] = field(default_factory=dict)
    asked: int = 0

    def ask(self, method: str, url: str, *, csrf: bool = False, headers: dict[str, str] | None = None) -> "Answer":
        """Send a request that comes from another site, and roll it back. Return the response and the changed tables."""
        self.asked += 1
        self.browser.handler.enforce_csrf_checks = csrf
        address = f"10.{self.origin}.{self.asked // 250}.{self.asked % 250 + 1}"
        sent: Any = {"Origin": EVIL} | self.headers | (headers or {})
        with transaction.atomic(), writes() as written:
            # Django's own method would read `//.well-known` as a host.
            response: Any = self.browser.generic(method, url, headers=sent, REMOTE_ADDR=address, PATH_INFO=url)
            body = b"".join(response.streaming_content) if response.streaming else response.content
            transaction.set_rollback(True)
        return Answer(method, response, body, written)


@dataclass
class Answer:
    method: str
    response: Any
    body: bytes
    # The tables that were written to, except those of sessions.
    written: list[str] = field(default_factory=list)


@dataclass
class Stage:
    """Everyone, and an object for each word in braces in a URL of the table."""

    walkers: dict[str, Walker]
    things: dict[str, Any]

    def url(self, address: str) -> str:
        """Return a URL of the table with its words filled in; `{row}` is a row of the model that the URL names."""
        things = self.things
        if "{row}" in address:
            things = things | {"row": self.row(*address.split("/")[2:4])}
        return address.format_map(things)

    def row(self, app_label: str, model_name: str) -> Any:
        """Return the key of a row that a page of the admin shows."""
        model = apps.get_model(app_label, model_name)
        if model in (Account, AppReview):
            return self.things["account" if model is Account else "review"]
        rows = model._default_manager.order_by("-pk")
        if model_name == "auditevent":
            rows = rows.filter(action__startswith="client.")  # reviewers only read events of projects
        row = rows.first()
        assert row is not None, f"there is no {model_name}: make_world makes none"
        return row.pk


@contextmanager
def kept_stage(media: Path) -> Iterator[Stage]:
    """Yield a stage whose rows exist within the block."""
    quick = {
        "PASSWORD_HASHERS": ["django.contrib.auth.hashers.MD5PasswordHasher"],
        "WHITENOISE_AUTOREFRESH": True,
        "MEDIA_ROOT": media,
    }
    with override_settings(**quick), transaction.atomic():
        yield make_stage()
        transaction.set_rollback(True)


def make_stage() -> Stage:
    """Return a project with one object of each kind, and a person of every role who has just reauthenticated."""
    people = {role: make_account(f"{role}@example.com") for role in ROLES[1:]}
    for role in ("reviewer", "operator"):
        set_roles(people[role], [role])
    Account.objects.filter(pk=people["superuser"].pk).update(is_staff=True, is_superuser=True)
    make_project(people["outsider"], name="Elsewhere")
    world = make_world(Browser(), people["owner"])
    for role in ("viewer", "developer"):
        ProjectMember.objects.create(project=world.project, account=people[role], role=role)
    walkers = {role: walker(origin, people.get(role)) for origin, role in enumerate(ROLES)}
    app, shown = _reviewed(world, people)
    token = make_access_token(app, people["owner"], [*known_scopes()])
    walkers[APP] = walker(len(ROLES), None, {"Authorization": f"Bearer {token}"})
    # This comes first, because signing in later would require the second factor.
    own = _session(people["owner"]) | _picture(people["owner"], token) | _second_factors(people["owner"])
    codes = Authenticator.objects.get(user=people["owner"], type="recovery_codes").wrap().get_unused_codes()
    walkers["owner"].browser.post("/account/2fa/reauthenticate/", {"code": codes[0]}, REMOTE_ADDR="10.99.254.1")
    return Stage(walkers, things_of(world, people) | shown | own)


def walker(origin: int, account: Account | None, headers: dict[str, str] | None = None) -> Walker:
    """Return someone who has just signed in and reauthenticated, so that no page asks for that again."""
    browser = Browser(REMOTE_ADDR=f"10.{origin}.255.1")
    if account is not None:
        sign_in(browser, account)
        browser.post("/account/reauthenticate/", {"login": account.email, "password": PASSWORD})
    plain = Plain()
    plain.cookies = browser.cookies
    return Walker(plain, origin, headers or {})


def things_of(world: World, people: dict[str, Account]) -> dict[str, Any]:
    """Return the values for the words in URLs; objects that belong to a person are those of the owner."""
    owner, client = people["owner"], world.client
    family = plan_members.get_or_create_family(owner)
    plan_members.add_member(family, people["viewer"])
    other = Organization.objects.create(name="Beacon & Sons")
    plan_invitations.invite(other, owner.email, people["operator"])
    plan_invitations.invite(family, "cousin@example.com", owner)
    review = AppReview.objects.get(client=client)
    return {
        "project": world.project.public_id,
        "client": client.client_id,
        "secret": client.secrets.get().pk,
        "key": ApiKey.objects.get(project=world.project).public_id,
        "request_entry": RequestLog.objects.filter(project=world.project).latest("pk").pk,
        "sign_in": SignInEvent.objects.filter(client=client).latest("pk").pk,
        "delivery": make_delivery(make_receiver(client, "logout"), event="logout").pk,
        "member": ProjectMember.objects.get(account=owner, project=world.project).pk,
        "review": review.pk,
        "case": cases.open_case("report", world.project, client, text="Odd.").pk,
        "number": review.number,
        "notice": Notice.objects.filter(account=owner, project=world.project).latest("pk").pk,
        "domain": world.project.domains.earliest("pk").pk,
        "project_invitation": invitations.invite(world.project, "ines@example.com", "viewer", owner).pk,
        "connection": Connection.objects.get(client=client, account=owner).pk,
        "account": owner.pk,
        "api": Api.objects.get().slug,
        "family": family.pk,
        "family_member": FamilyMember.objects.get(family=family, account=people["viewer"]).pk,
        "organization": Organization.objects.get(members__account=owner).pk,
        "to_me": PlanInvitation.objects.get(organization=other).pk,
        "from_me": PlanInvitation.objects.get(family=family).pk,
    }


def _picture(owner: Account, access_token: str) -> dict[str, str]:
    """Upload a photo, and return the parts of the URL that an app gets for it."""
    browser = Browser()
    browser.force_login(owner)
    photo = SimpleUploadedFile("photo.png", _pixels(), "image/png")
    browser.post("/account/profile", {"given_name": "Olga", "family_name": "Owner", "picture": photo})
    told = browser.get("/v1/me", headers={"Authorization": f"Bearer {access_token}"}).json()["picture"]
    found = re.search(r"/pictures/(?P<picture>[^/]+)/(?P<version>[^/]+)\.webp$", told)
    assert found, told
    return found.groupdict()


def _pixels() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (128, 128), "teal").save(out, "PNG")
    return out.getvalue()


def _reviewed(world: World, people: dict[str, Account]) -> tuple[Client, dict[str, Any]]:
    """Create a second app of the project and approve it with a logo; return it, and the words for its URLs."""
    app = make_client(world.project, name="Lantern")
    fill(app, people["owner"], name="Lantern")
    developer_actions.save_submission(app, people["owner"], {}, logo=branding.clean_logo(io.BytesIO(_pixels())))
    decide(developer_actions.submit(app, people["owner"]), people["reviewer"], AppReview.Status.APPROVED)
    branding.publish_page(app, people["owner"], "lantern")
    app = fresh(app)
    version = str(branding.public_logo_path(app)).rpartition("/")[2].removesuffix(".webp")
    return app, {
        "shown": app.client_id,
        "logo": version,
        "slug": app.page_slug,
        "decided": AppReview.objects.get(client=app).pk,
    }


def _session(owner: Account) -> dict[str, int]:
    """Sign the owner in in a second browser; return the key of its entry in the list of sessions."""
    sign_in(Browser(REMOTE_ADDR="10.99.255.1"), owner)
    return {"session": UserSession.objects.filter(user=owner).latest("pk").pk}


def _second_factors(owner: Account) -> dict[str, int]:
    """Give the owner every second factor; return the primary key of their passkey, which is on no device."""
    TOTP.activate(owner, generate_totp_secret())
    RecoveryCodes.activate(owner)
    return {"passkey": WebAuthn.add(owner, "A key", dead_credential()).instance.pk}


def dead_credential() -> dict[str, Any]:
    """Return the browser's response for a new passkey whose private key does not exist."""
    public = ES256({1: 2, 3: -7, -1: 1, -2: bytes(32), -3: bytes(32)})
    flags = AuthenticatorData.FLAG.UP | AuthenticatorData.FLAG.AT
    attested = AttestedCredentialData.create(bytes(16), bytes(16), public)
    data = AuthenticatorData.create(bytes(32), flags, 0, attested)
    return {
        "id": websafe_encode(bytes(16)),
        "rawId": websafe_encode(bytes(16)),
        "type": "public-key",
        "response": {
            "clientDataJSON": websafe_encode(b'{"type": "webauthn.create", "challenge": "", "origin": ""}'),
            "attestationObject": websafe_encode(bytes(AttestationObject.create("none", data, {}))),
        },
    }
