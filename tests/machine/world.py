"""The service as the machine uses it: some projects, apps and people, a clock, and HTTP.

Every response is checked for rules that apply to all responses.
"""

import copy
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.test import Client as Browser
from django.test import TestCase
from django.test.client import ClientHandler

from accounts.sessions.browser_accounts import cookie_name
from oidc.models import Client
from oidc.tokens import signing_keys
from tests.factories import make_account, make_client, make_project, make_web_client
from tests.machine.model import Model
from tests.machine.things import App, Asked, Family, Person, Project, Session
from tests.relying_party import FORM, basic, sign_in, url_in_page

BROWSERS = 3
# All browsers share one handler, because loading the middleware for each of them would take most of the time.
_HANDLER = ClientHandler(enforce_csrf_checks=False)


def new_browser() -> Browser:
    """Return a browser without cookies."""
    browser = Browser()
    browser.handler = _HANDLER
    return browser


class Clock:
    """The service's time. It does not change within a request, and advances by a millisecond before each one."""

    def __init__(self) -> None:
        self.moment = datetime.now(UTC).replace(microsecond=0)

    def now(self) -> datetime:
        return self.moment

    def time(self) -> float:
        return self.moment.timestamp()

    def go(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


@dataclass(eq=False)
class Tab:
    """A browser, with the model of its current session and of the sessions of its other accounts."""

    http: Browser = field(default_factory=new_browser)
    session: Session = field(default_factory=Session)
    others: list[Session] = field(default_factory=list)

    @property
    def session_key(self) -> str:
        cookie = self.http.cookies.get(settings.SESSION_COOKIE_NAME)
        return cookie.value if cookie else ""

    @property
    def has_others(self) -> bool:
        """Whether the browser has keys of other accounts' sessions, which may have ended."""
        cookie = self.http.cookies.get(cookie_name())
        return bool(cookie and cookie.value)

    def put_aside(self) -> None:
        """Begin a session in which nobody is signed in. The current account becomes one of the others."""
        left, self.session = self.session, Session()
        left.give_pending_to(self.session)
        if left.person is not None:
            self.others.insert(0, left)

    def choose(self, person: Person) -> None:
        """Make another account the current one."""
        chosen = next(each for each in self.others if each.person is person)
        self.session.give_pending_to(chosen)
        kept = [self.session] if self.session.person is not None else []
        self.others = kept + [each for each in self.others if each is not chosen]
        self.session = chosen

    def end(self, person: Person) -> None:
        """Drop the sessions of a person among the other accounts, because they have ended."""
        self.others = [each for each in self.others if each.person is not person]

    def __deepcopy__(self, memo: dict[int, Any]) -> "Tab":
        twin = Tab(session=copy.deepcopy(self.session, memo), others=copy.deepcopy(self.others, memo))
        twin.http.cookies[settings.SESSION_COOKIE_NAME] = self.session_key
        if self.has_others:
            twin.http.cookies[cookie_name()] = self.http.cookies[cookie_name()].value
        memo[id(self)] = twin
        return twin


@dataclass(frozen=True)
class Form:
    """An open page with a form: a consent page, or the page of an app that has reached its user limit."""

    tab: Tab
    asked: Asked
    person: Person
    reference: str
    session_key: str
    signed_at: int


@dataclass(frozen=True)
class Hint:
    """An ID token that an app has stored."""

    raw: str
    family: Family


@dataclass
class State:
    """Everything that a run changes, except the database."""

    projects: list[Project]
    apps: list[App]
    people: list[Person]
    tabs: list[Tab]
    model: Model = field(default_factory=Model)
    requests: list[Asked] = field(default_factory=list)
    forms: list[Form] = field(default_factory=list)
    hints: list[Hint] = field(default_factory=list)
    # The id of each person in each project, if an app has received it.
    subs: dict[tuple[Person, Project], str] = field(default_factory=dict)


def people_and_apps(clock: Clock) -> State:
    """Return three projects with five apps, their owner and four other people, three of them signed in."""
    owner = make_account("owner@example.com")
    rows = [make_project(owner, name=name) for name in ("Orbit", "Tide", "Own")]
    orbit, tide, own = projects = [Project(row.name, row.pk) for row in rows]

    def app(name: str, project: Project, kind: Client.Type, **traits: bool) -> App:
        callback = f"https://{name}.example.com/callback"
        uris = (callback, f"{callback}?tenant=7") if kind != Client.Type.NATIVE else ("http://127.0.0.1:4711/back",)
        fields: dict[str, Any] = {
            "name": name,
            "redirect_uris": " ".join(uris),
            "post_logout_redirect_uris": f"https://{name}.example.com/bye",
            "first_party": traits.get("first_party", False),
            "verified_at": None if traits.get("capped") else clock.now(),
            "approved_scopes": "account.read" if traits.get("reviewed") else "",
        }
        row, secret = rows[projects.index(project)], None
        if kind == Client.Type.WEB:
            client, secret = make_web_client(row, **fields)
        else:
            client = make_client(row, type=kind, **fields)
        bye = client.post_logout_redirect_uris
        return App(name, client.pk, client.client_id, project, uris, bye, secret, **traits)

    kinds = Client.Type
    apps = [
        app("orbit-web", orbit, kinds.WEB, reviewed=True),
        app("orbit-spa", orbit, kinds.SPA),
        app("tide-new", tide, kinds.SPA, capped=True),
        app("tide-native", tide, kinds.NATIVE),
        app("own", own, kinds.WEB, first_party=True),
    ]
    accounts = [make_account(f"{name}@example.com") for name in ("ada", "bob", "cyd", "dee")]
    people = [Person(account.email, account.pk) for account in accounts] + [Person(owner.email, owner.pk, owns=True)]
    tabs = [
        Tab(sign_in(new_browser(), account), Session(person, clock.time()))
        for account, person in zip(accounts[:BROWSERS], people, strict=False)
    ]
    return State(projects, apps, people, tabs)


class World:
    """The service, its state, and requests to it."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.state = people_and_apps(clock)

    @contextmanager
    def example(self) -> Iterator[None]:
        """Roll back everything that happens within the block, so that each run begins with the same state."""
        moment, state = self.clock.moment, self.state
        self.state = copy.deepcopy(state)
        cache.clear()
        signing_keys.reload_keyring()
        with transaction.atomic():
            yield
            transaction.set_rollback(True)
        self.clock.moment, self.state = moment, state

    # --- Time and transactions ---

    @property
    def now(self) -> float:
        return self.clock.time()

    @contextmanager
    def committing(self) -> Iterator[None]:
        """Run the functions that wait for a commit, although the transaction of the run is never committed."""
        with TestCase.captureOnCommitCallbacks(execute=True):
            yield

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Roll back the database at the end of the block, to try something that works only once."""
        with transaction.atomic():
            yield
            transaction.set_rollback(True)

    # --- Requests ---

    def get(self, browser: Browser, path: str, leads_to: "Asked | str | None" = None) -> Any:
        """Get a page. It may only redirect to other hosts with a response to the request `leads_to`, or to that URL."""
        return self._looked_at(lambda: browser.get(path), leads_to)

    def post(self, browser: Browser, path: str, form: dict[str, str], leads_to: Asked | None = None) -> Any:
        return self._looked_at(lambda: browser.post(path, form), leads_to)

    def call(self, path: str, token: str, project: Project) -> Any:
        """Call an endpoint with an access token of an app in `project`."""
        headers = {"Authorization": f"Bearer {token}"}
        return self._looked_at(lambda: new_browser().get(path, headers=headers), project=project)

    def app_posts(self, app: App, path: str, form: dict[str, str], *, in_header: bool = False) -> Any:
        """Post a form as the app does, with its secret, if it has one, in the header or in the form."""
        headers = {}
        if app.secret and in_header:
            headers["Authorization"] = basic(app.client_id, app.secret)
        else:
            form = form | {"client_id": app.client_id} | ({"client_secret": app.secret} if app.secret else {})
        return self.bare_post(app, path, form, headers)

    def bare_post(self, app: App, path: str, form: dict[str, str], headers: dict[str, str] | None = None) -> Any:
        def send() -> Any:
            return new_browser().post(path, urlencode(form), content_type=FORM, headers=headers or {})

        return self._looked_at(send, project=app.project)

    def _looked_at(
        self, send: Callable[[], Any], leads_to: Asked | str | None = None, project: Project | None = None
    ) -> Any:
        self.clock.go(0.001)
        with self.committing():
            response = send()
        assert response.status_code < 500, (response.status_code, response.content[:600])
        page = response.content.decode()
        if url := response.get("Location") or url_in_page(page):
            _look_at_redirect(url, leads_to)
        shown = page + str(response.headers.items()) + str(response.cookies)
        for (person, of), sub in self.state.subs.items():
            assert of is project or sub not in shown, f"{person.email} as known in {of.name}"
        return response

    # --- Pairwise ids ---

    def know_sub(self, person: Person, project: Project, sub: str) -> None:
        """Check that an id is the same in all apps of the project, and that no other person or project has it."""
        known = self.state.subs.setdefault((person, project), sub)
        assert known == sub, "a second id of one person in one project"
        others = [one for pair, one in self.state.subs.items() if pair != (person, project)]
        assert sub not in others, "one id of two people, or in two projects"


def _look_at_redirect(location: str, leads_to: Asked | str | None) -> None:
    if location.startswith("/") and not location.startswith("//"):
        return
    if isinstance(leads_to, Asked):
        uri = leads_to.redirect_uri
        assert uri in leads_to.app.redirect_uris, location
        assert location.startswith(uri + ("&" if "?" in uri else "?")), location
        answer = parse_qs(urlsplit(location).query, strict_parsing=True)
        assert answer["state"] == [leads_to.state]
        assert answer["iss"] == [settings.ISSUER]
        assert len(answer.get("code", [])) + len(answer.get("error", [])) == 1
    else:
        assert location == leads_to


def pick(things: Iterable[Any], which: int) -> Any:
    """Return one of `things`: 0 is the newest one. Larger numbers wrap around."""
    listed = list(things)
    return listed[-1 - which % len(listed)]
