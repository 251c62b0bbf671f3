"""Projects, apps, people, codes and tokens, as the model knows them. Times are seconds since 1970."""

from dataclasses import dataclass, field
from urllib.parse import urlencode

from tests.relying_party import authorization_request

CODE_SECONDS = 60
ACCESS_SECONDS = 900
REFRESH_SECONDS = 30 * 24 * 3600
REUSE_SECONDS = 10
PENDING_SECONDS = 3600
MAX_PENDING = 40
KEEP_CODES = 24 * 3600
CAP = 2

BASIC = frozenset({"openid", "email", "profile", "offline_access"})
REVIEWED = "account.read"


# --- Projects, apps, people and sessions ---


@dataclass(eq=False)
class Project:
    """A project, which is the sector of the ids of its people."""

    name: str
    pk: int
    suspended: bool = False


@dataclass(eq=False)
class App:
    """A client. `capped` ones are unverified."""

    name: str
    pk: int
    client_id: str
    project: Project
    redirect_uris: tuple[str, ...]
    sign_out_uri: str
    secret: str | None = None
    first_party: bool = False
    capped: bool = False
    enabled: bool = True
    reviewed: bool = False

    @property
    def is_on(self) -> bool:
        return self.enabled and not self.project.suspended

    @property
    def allowed(self) -> frozenset[str]:
        return BASIC | {REVIEWED} if self.reviewed else BASIC


@dataclass(eq=False)
class Person:
    """A person. Someone who signs up again after a deletion is another person."""

    email: str
    pk: int
    owns: bool = False  # they own all projects
    active: bool = True
    deleted: bool = False

    @property
    def may_sign_in(self) -> bool:
        return self.active and not self.deleted


@dataclass(eq=False)
class Asked:
    """An authorization request, as its app sent it."""

    app: App
    scopes: tuple[str, ...]
    prompt: str
    max_age: int | None
    redirect_uri: str
    number: int

    @property
    def state(self) -> str:
        return f"state-{self.number}"

    @property
    def nonce(self) -> str:
        return f"nonce-{self.number}"

    @property
    def verifier(self) -> str:
        return f"verifier-{self.number}-".ljust(64, "v")

    @property
    def query(self) -> str:
        asked = {"scope": " ".join(self.scopes), "state": self.state, "nonce": self.nonce, "prompt": self.prompt}
        if self.max_age is not None:
            asked["max_age"] = str(self.max_age)
        parameters = authorization_request(self.app.client_id, self.redirect_uri, self.verifier, **asked)
        return urlencode({name: value for name, value in parameters.items() if value})


@dataclass
class Waiting:
    """An authorization request in a browser's session, pending or answered."""

    at: float
    answered: bool = False
    chosen: bool = False  # the session's person was chosen for it
    switched: bool = False  # a form of it was sent after the account had changed


def bounded(pending: dict[Asked, Waiting]) -> dict[Asked, Waiting]:
    """Return the requests that a session keeps: answered ones make way first, then the oldest."""
    first_to_go = sorted(pending, key=lambda asked: not pending[asked].answered)
    gone = first_to_go[: max(0, len(pending) - MAX_PENDING)]
    return {asked: waiting for asked, waiting in pending.items() if asked not in gone}


@dataclass(eq=False)
class Session:
    """The session of a browser: who is signed in, since when, and the pending requests."""

    person: Person | None = None
    signed_in_at: float = 0.0
    pending: dict[Asked, Waiting] = field(default_factory=dict)

    def find(self, asked: Asked, now: float) -> Waiting | None:
        waiting = self.pending.get(asked)
        return waiting if waiting and waiting.at >= now - PENDING_SECONDS else None

    def came_at(self, asked: Asked, now: float) -> float:
        waiting = self.find(asked, now)
        return waiting.at if waiting and not waiting.answered else now

    def remember(self, asked: Asked, now: float) -> None:
        waiting = self.find(asked, now)
        if waiting is None or waiting.answered:
            self.pending.pop(asked, None)
            kept = {each: entry for each, entry in self.pending.items() if entry.at >= now - PENDING_SECONDS}
            self.pending = bounded(kept | {asked: Waiting(now)})

    def has_chosen(self, asked: Asked, came_at: float) -> bool:
        waiting = self.pending.get(asked)
        return self.signed_in_at >= came_at or bool(waiting and waiting.chosen and waiting.at == came_at)

    def was_switched(self, asked: Asked, came_at: float) -> bool:
        waiting = self.pending.get(asked)
        return bool(waiting and waiting.switched and not waiting.answered and waiting.at == came_at)

    def give_pending_to(self, other: "Session") -> None:
        """Move the pending requests to the session that replaces this one."""
        moving = {asked: Waiting(entry.at) for asked, entry in self.pending.items() if not entry.answered}
        self.pending = {asked: entry for asked, entry in self.pending.items() if entry.answered}
        merged = sorted((other.pending | moving).items(), key=lambda item: item[1].at)
        other.pending = bounded(dict(merged))

    def answer(self, asked: Asked, now: float) -> None:
        if waiting := self.find(asked, now):
            waiting.answered = True


# --- Consents, codes and tokens ---


@dataclass(eq=False)
class Connection:
    """A person's consent to an app."""

    person: Person
    app: App
    scopes: set[str] = field(default_factory=set)


@dataclass(eq=False)
class Family:
    """One authorization: a code, and all tokens that were issued from it."""

    connection: Connection
    asked: Asked
    auth_time: int
    ended: bool = False

    @property
    def app(self) -> App:
        return self.connection.app

    @property
    def person(self) -> Person:
        return self.connection.person

    @property
    def given(self) -> bool:
        return not self.ended and self.person.may_sign_in

    @property
    def live(self) -> bool:
        return self.given and self.app.is_on

    @property
    def live_scopes(self) -> frozenset[str]:
        return frozenset(self.asked.scopes) & self.connection.scopes & self.app.allowed


@dataclass(eq=False)
class Credential:
    """A code or token. `forgotten`: the service has deleted its row."""

    raw: str
    family: Family
    expires: float
    forgotten: bool = False

    def is_live(self, now: float) -> bool:
        return not self.forgotten and self.family.live and now < self.expires


@dataclass(eq=False)
class Code(Credential):
    """An authorization code."""

    consumed: bool = False


@dataclass(eq=False)
class Access(Credential):
    """An access token. Its signed `exp` is in whole seconds; its row expires a fraction of a second later."""

    scopes: frozenset[str] = frozenset()
    row_expires: float = 0.0


@dataclass(eq=False)
class Refresh(Credential):
    """A refresh token."""

    superseded_at: float | None = None
