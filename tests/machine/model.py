"""The model: which codes and tokens must be valid, in plain Python, without database, HTTP, or code of the service.

The model has no clock: each function gets the current time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.machine.things import (
    ACCESS_SECONDS,
    CAP,
    CODE_SECONDS,
    KEEP_CODES,
    REFRESH_SECONDS,
    REUSE_SECONDS,
    Access,
    App,
    Asked,
    Code,
    Connection,
    Family,
    Person,
    Project,
    Refresh,
    Session,
)


@dataclass
class Model:
    """All codes and tokens that were issued, and the effects of each event on them."""

    connections: dict[tuple[Person, App], Connection] = field(default_factory=dict)
    families: list[Family] = field(default_factory=list)
    codes: list[Code] = field(default_factory=list)
    access: list[Access] = field(default_factory=list)
    refresh: list[Refresh] = field(default_factory=list)

    # --- Authorization ---

    def consented(self, person: Person, app: App) -> set[str]:
        connection = self.connections.get((person, app))
        return connection.scopes if connection else set()

    def people_of(self, project: Project) -> set[Person]:
        """Return everyone who has ever authorized an app of the project that is not reviewed, without the owners."""
        return {person for person, app in self.connections if app.project is project and app.capped and not person.owns}

    def is_full_for(self, person: Person, app: App) -> bool:
        if not app.capped or (person, app) in self.connections or person.owns:
            return False
        people = self.people_of(app.project)
        return len(people) >= CAP and person not in people

    def outcome(
        self,
        session: Session,
        asked: Asked,
        came_at: float,
        *,
        allowed: bool = False,
        has_others: bool = False,
        others: Sequence[Person] = (),
    ) -> str:
        """Return the outcome of a request: the name of a page, the error that the app gets, or "code".

        `others` are the other people who are signed in in this browser.
        """
        app, person, prompts = asked.app, session.person, asked.prompt.split()
        silent = prompts == ["none"]
        if asked.redirect_uri not in app.redirect_uris:
            return "error page"
        if not app.is_on:
            return "unavailable page"
        if "none" in prompts and not silent:
            return "invalid_request"
        if not {"openid"} <= set(asked.scopes) <= app.allowed:
            return "invalid_scope"
        if person is None:
            page = "account chooser" if has_others else "sign-in page"
            return "login_required" if silent else "sign-up page" if "create" in prompts else page
        several = sum(bool(self.consented(each, app)) for each in (person, *others)) > 1
        may_choose = not silent and not allowed and not session.has_chosen(asked, came_at)
        if may_choose and ("select_account" in prompts or several):
            return "account chooser"
        if self._too_old(session, asked, came_at):
            return "login_required" if silent else "reauthentication page"
        if self.is_full_for(person, app):
            return "consent_required" if silent else "full page"
        if not allowed and session.was_switched(asked, came_at):
            return "consent page"
        return self._consent_outcome(person, asked, silent=silent, allowed=allowed)

    def _too_old(self, session: Session, asked: Asked, came_at: float) -> bool:
        wanted = "login" in asked.prompt.split()
        if asked.max_age is not None:
            wanted = wanted or came_at - session.signed_in_at > asked.max_age
        return wanted and session.signed_in_at < came_at

    def _consent_outcome(self, person: Person, asked: Asked, *, silent: bool, allowed: bool) -> str:
        missing = set(asked.scopes) - self.consented(person, asked.app)
        if allowed or ("consent" not in asked.prompt.split() and (not missing or asked.app.first_party)):
            return "code"
        return "consent_required" if silent else "consent page"

    def issue(self, session: Session, asked: Asked, raw: str, now: float) -> Code:
        """Record an issued code, and the consent to its scopes."""
        assert session.person is not None
        pair = (session.person, asked.app)
        connection = self.connections.setdefault(pair, Connection(*pair))
        connection.scopes |= set(asked.scopes)
        for twin in self.codes:
            if twin.family.asked is asked and twin.family.connection is connection and not twin.consumed:
                twin.family.ended = True
        family = Family(connection, asked, int(session.signed_in_at))
        code = Code(raw, family, now + CODE_SECONDS)
        self.families.append(family)
        self.codes.append(code)
        return code

    # --- Tokens ---

    def exchange_outcome(self, code: Code, app: App, now: float, *, proven: bool = True) -> str:
        """Return "tokens", "refused", or "ends" for a replay that ends the family."""
        if code.forgotten or code.family.app is not app:
            return "refused"
        if code.consumed:
            return "ends"
        return "tokens" if proven and code.is_live(now) else "refused"

    def refresh_outcome(self, token: Refresh, app: App, now: float) -> str:
        """Return "tokens", "refused", or "ends" for a reuse that ends the family."""
        if token.family.app is not app or token.forgotten or now >= token.expires or not token.family.given:
            return "refused"
        if token.superseded_at is None:
            return "tokens" if app.is_on else "refused"
        # Reuse ends the family even while the app is off.
        return "ends" if now - token.superseded_at > REUSE_SECONDS else "refused"

    def tokens(
        self, source: Code | Refresh, now: float, scopes: Iterable[str], access: str, refresh: str | None
    ) -> tuple[Access, Refresh | None]:
        """Record the tokens that were issued for a code or refresh token."""
        family = source.family
        if isinstance(source, Code):
            source.consumed = True
        else:
            source.superseded_at = now
        row_expires = now + ACCESS_SECONDS
        given = Access(access, family, int(row_expires), scopes=frozenset(scopes), row_expires=row_expires)
        self.access.append(given)
        successor = None
        if refresh is not None:
            successor = Refresh(refresh, family, now + REFRESH_SECONDS)
            self.refresh.append(successor)
        return given, successor

    def revoke(self, token: Access | Refresh, app: App, *, secret_shown: bool) -> None:
        """Record a revocation request of an app. Web apps may revoke refresh tokens without their secret."""
        proven = secret_shown or app.secret is None
        if token.forgotten or token.family.app is not app or (isinstance(token, Access) and not proven):
            return
        token.family.ended = True

    # --- The end of authorizations ---

    def remove(self, connection: Connection) -> None:
        connection.scopes = set()
        self._end(family for family in self.families if family.connection is connection)

    def end_person(self, person: Person, *, deleted: bool) -> None:
        person.active = False
        person.deleted = person.deleted or deleted
        self._end(family for family in self.families if family.person is person)
        if deleted:
            for connection in self.connections.values():
                if connection.person is person:
                    connection.scopes = set()
            for credential in (*self.codes, *self.access, *self.refresh):
                credential.forgotten = credential.forgotten or credential.family.person is person

    def _end(self, families: Iterable[Family]) -> None:
        for family in families:
            family.ended = True

    def clear_expired(self, now: float) -> None:
        for token in self.access:
            token.forgotten = token.forgotten or token.row_expires < now
        for refresh in self.refresh:
            refresh.forgotten = refresh.forgotten or refresh.expires < now
        for code in self.codes:
            code.forgotten = code.forgotten or code.expires < now - KEEP_CODES
