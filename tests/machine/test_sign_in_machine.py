"""The whole sign-in service against a model of it: random people, apps and operators.

After every step the question is whether exactly those codes and tokens work that should.
"""

import io
import logging
import sys
import time
from collections import Counter
from contextlib import ExitStack
from typing import Any

import pytest
from django.conf import settings as service_settings
from django.core.management import call_command
from django.db.models import F
from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from accounts import data
from accounts.models import Account
from devportal.lib import clock as service_clock
from oidc import keys, tasks
from oidc.models import Client, Connection, Project, RefreshToken
from tests.factories import make_account
from tests.machine.journeys import Journeys, begin, sign_out_url
from tests.machine.model import CAP, App, Person, Session
from tests.machine.world import BROWSERS, Clock, World, new_browser, pick
from tests.relying_party import header_of

MINUTE, HOUR, DAY = 60, 3600, 24 * 3600
SCOPES = ["openid email profile offline_access", "openid offline_access", "openid email", "openid"]
ODD_SCOPES = ["openid account.read offline_access", "email", "openid admin"]
PROMPTS = ["", "", "", "none", "consent", "login", "select_account", "login consent", "create", "none login"]

MISTAKES = {
    "verifier": {"code_verifier": "w" * 64},
    "address": {"redirect_uri": "https://orbit-web.example.com/callback/"},
}

tabs = st.integers(0, BROWSERS - 1)
apps = st.integers(0, 4)
people = st.integers(0, 4)
which = st.integers(0, 7)
decisions = st.sampled_from(["allow", "allow", "allow", "meddle", "cancel", "leave"])


class SignInMachine(Journeys, RuleBasedStateMachine):
    """Rules that people, apps, operators and time follow in any order."""

    def __init__(self, world: World) -> None:
        RuleBasedStateMachine.__init__(self)
        Journeys.__init__(self, world)
        self.example = ExitStack()
        self.example.enter_context(world.example())
        self.state = world.state

    def note(self, what: str) -> None:
        event(what)

    # --- Asking for access ---

    @rule(
        tab=tabs,
        app=apps,
        scopes=st.sampled_from(SCOPES * 2 + ODD_SCOPES),
        prompt=st.sampled_from(PROMPTS),
        max_age=st.sampled_from([None, None, None, 0, 600]),
        address=st.sampled_from(["first", "first", "last", "last", "slash", "foreign"]),
        decision=decisions,
        person=people,
    )
    def app_asks(self, tab: int, app: int, address: str, decision: str, person: int, **request: Any) -> None:
        """An app asks; the code, if there is one, waits."""
        client = self.state.apps[app]
        addresses = {
            "first": client.redirect_uris[0],
            "last": client.redirect_uris[-1],
            "slash": f"{client.redirect_uris[0]}/",
            "foreign": self.state.apps[app - 1].redirect_uris[0],
        }
        asked = self.ask(client, **request, address=addresses[address])
        self.visit(self.state.tabs[tab], asked, decision, self.somebody(person))

    @rule(tab=tabs, app=apps, scopes=st.sampled_from(SCOPES), person=people)
    def connect(self, tab: int, app: int, scopes: str, person: int) -> None:
        """An app asks, gets a code and exchanges it at once: what happens most."""
        client = self.state.apps[app]
        code = self.visit(self.state.tabs[tab], self.ask(client, scopes), "allow", self.somebody(person))
        if code is not None:
            self.note(f"connect: {self.redeem(code, client)}")

    @precondition(lambda self: self.state.requests)
    @rule(tab=tabs, request=which, decision=decisions, person=people)
    def ask_again(self, tab: int, request: int, decision: str, person: int) -> None:
        """The same request once more: reloaded, bookmarked, or opened in another browser."""
        self.visit(self.state.tabs[tab], pick(self.state.requests, request), decision, self.somebody(person))

    @precondition(lambda self: self.state.forms)
    @rule(form=which, decision=st.sampled_from(["allow", "meddle", "cancel"]))
    def answer_a_page_left_open(self, form: int, decision: str) -> None:
        """A button pressed late, or twice."""
        self.answer(pick(self.state.forms, form), decision)

    # --- Codes and tokens ---

    @precondition(lambda self: any(not code.consumed for code in self.model.codes))
    @rule(code=which, mistake=st.sampled_from(["", "", "", *MISTAKES, "client"]), app=apps)
    def exchange(self, code: int, mistake: str, app: int) -> None:
        """An app exchanges a code that was not used yet: rightly, or with one thing wrong."""
        chosen = pick([code for code in self.model.codes if not code.consumed], code)
        client, changes = chosen.family.app, MISTAKES.get(mistake, {})
        if mistake == "client":
            client = self.state.apps[app]
        self.note(f"exchange: {self.redeem(chosen, client, **changes)}")

    @precondition(lambda self: any(code.consumed for code in self.model.codes))
    @rule(code=which, app=apps, by_its_own=st.booleans())
    def replay(self, code: int, app: int, by_its_own: bool) -> None:
        """A used code comes back, from its own app or from another."""
        chosen = pick([code for code in self.model.codes if code.consumed], code)
        self.note(f"replay: {self.redeem(chosen, chosen.family.app if by_its_own else self.state.apps[app])}")

    @precondition(lambda self: self.model.refresh)
    @rule(token=which, scopes=st.sampled_from([None, None, None, "narrow", "wide"]))
    def refresh(self, token: int, scopes: str | None) -> None:
        """An app refreshes with the newest token of a family."""
        chosen = pick([token for token in self.model.refresh if token.superseded_at is None], token)
        live = chosen.family.live_scopes
        wanted = {
            None: None,
            "narrow": frozenset({"openid"}) | (live & {"email"}),
            "wide": live | {"account.read" if "account.read" not in live else "admin"},
        }
        self.note(f"refresh: {self.renew(chosen, chosen.family.app, wanted[scopes])}")

    @precondition(lambda self: any(token.superseded_at for token in self.model.refresh))
    @rule(token=which, seconds=st.sampled_from([0, 5, 11, 60]))
    def refresh_with_a_superseded_token(self, token: int, seconds: int) -> None:
        """Sent twice, or stolen."""
        self.world.clock.go(seconds)
        chosen = pick([token for token in self.model.refresh if token.superseded_at], token)
        self.note(f"reuse: {self.renew(chosen, chosen.family.app)}")

    @precondition(lambda self: self.model.refresh)
    @rule(token=which, app=apps)
    def refresh_by_any_app(self, token: int, app: int) -> None:
        """A refresh token is worth nothing to another app, and trying harms nobody."""
        self.note(f"refresh by any: {self.renew(pick(self.model.refresh, token), self.state.apps[app])}")

    @precondition(lambda self: self.model.access)
    @rule(token=which, kind=st.booleans(), app=apps, by_its_own=st.booleans(), secret=st.booleans())
    def revoke(self, token: int, kind: bool, app: int, by_its_own: bool, secret: bool) -> None:
        """An app revokes a token, its own or somebody else's."""
        tokens = self.model.refresh if kind and self.model.refresh else self.model.access
        chosen = pick(tokens, token)
        client = chosen.family.app if by_its_own else self.state.apps[app]
        form = {"token": chosen.raw, "token_type_hint": "access_token"}
        if secret:
            response = self.world.app_posts(client, "/connect/revoke", form)
        else:
            response = self.world.bare_post(client, "/connect/revoke", form | {"client_id": client.client_id})
        assert (response.status_code, response.json()) == (200, {})
        self.model.revoke(chosen, client, secret_shown=secret)
        self.touched.append(chosen.family)

    # --- People ---

    @rule(tab=tabs, person=people, press=st.booleans())
    def switch_account(self, tab: int, person: int, press: bool) -> None:
        """Sign in, out of another account first; a pending request stays, a page of the one before is worth nothing."""
        chosen, page = self.somebody(person), "/account/login/"
        here = self.state.tabs[tab]
        if here.session.person is not None:
            page = self.world.post(here.http, "/account/switch", {})["Location"]
            here.session.person = None
        if chosen is not None:
            self.authenticate(here, page, chosen)
        left = [form for form in self.state.forms if form.tab is here]
        if press and left:
            self.answer(left[-1], "allow")

    @rule(tab=tabs)
    def sign_out(self, tab: int) -> None:
        """Sign out of this browser: no token ends with that."""
        here = self.state.tabs[tab]
        self.world.post(here.http, "/account/logout/", {})
        here.session = Session()

    @precondition(lambda self: self.state.hints)
    @rule(tab=tabs, hint=which, decision=st.sampled_from(["sign-out", "stay"]))
    def sign_out_by_an_app(self, tab: int, hint: int, decision: str) -> None:
        """An app sends somebody to sign out: nobody's session ends unasked but that of the hint's person."""
        here, chosen = self.state.tabs[tab], pick(self.state.hints, hint)
        back = f"{chosen.family.app.sign_out_uri}?state=bye"
        response = self.world.get(here.http, sign_out_url(chosen), back)
        if here.session.person in (None, chosen.family.person):
            assert response["Location"] == back
        else:
            assert response.status_code == 200
            self.world.post(here.http, "/connect/logout/confirm", {"decision": decision})
            if decision == "stay":
                return
        here.session = Session()

    @precondition(lambda self: self.model.connections)
    @rule(tab=tabs, connection=which, again=st.booleans())
    def remove_app(self, tab: int, connection: int, again: bool) -> None:
        """Somebody removes an app under Connected apps; it has to be one of their own."""
        here = self.state.tabs[tab]
        own = [each for each in self.model.connections.values() if each.person is here.session.person]
        chosen = pick(own or self.model.connections.values(), connection)
        row = Connection.objects.filter(client=chosen.app.pk, account=chosen.person.pk).first()
        response = self.world.post(here.http, f"/account/apps/{row.pk if row else 0}/remove", {})
        if here.session.person is None:
            assert response["Location"].startswith("/account/login/")
        elif not own or not chosen.scopes:
            assert response.status_code == 404
        else:
            assert response["Location"] == "/account/apps/"
            self.model.remove(chosen)
            self.note("removed an app")
            self.touched += [family for family in self.model.families if family.connection is chosen][-2:]
            if again:
                # What was given before the removal stays dead.
                self.visit(here, self.ask(chosen.app, "openid email"), "allow", None)

    @rule(person=people, back=st.booleans())
    def deactivate(self, person: int, back: bool) -> None:
        """An operator deactivates somebody, and perhaps takes it back: what was given out stays dead."""
        chosen = self.state.people[person]
        if chosen.deleted:
            return
        if chosen.active:
            self.set_active(chosen, False)
            self.model.end_person(chosen, deleted=False)
            self.leave_browsers_of(chosen)
        if back:
            self.set_active(chosen, True)
            chosen.active = True

    @precondition(lambda self: sum(person.may_sign_in for person in self.state.people) > 2)
    @rule(person=people)
    def delete(self, person: int) -> None:
        """Somebody deletes their account; the owner of a project can't."""
        chosen = self.state.people[person]
        if chosen.deleted or chosen.owns:
            return
        with self.world.committing():
            data.delete(Account.objects.get(pk=chosen.pk))
        self.model.end_person(chosen, deleted=True)
        self.leave_browsers_of(chosen)

    @precondition(lambda self: any(person.deleted for person in self.state.people))
    @rule()
    def come_back(self) -> None:
        """A deleted person signs up again under the same address: nobody whom any app knows."""
        place = next(place for place, person in enumerate(self.state.people) if person.deleted)
        account = make_account(self.state.people[place].email)
        self.state.people[place] = Person(account.email, account.pk)

    # --- Operators and time ---

    @rule(app=apps, stays=st.booleans())
    def turn_off_or_on(self, app: int, stays: bool) -> None:
        """A client is turned off or on, for a moment or for longer."""
        chosen = self.state.apps[app]
        for _ in range(1 if stays else 2):
            chosen.enabled = not chosen.enabled
            Client.objects.filter(pk=chosen.pk).update(enabled=chosen.enabled)
            self.look_at_families_of(chosen)

    @rule(app=apps, stays=st.booleans())
    def suspend_or_not(self, app: int, stays: bool) -> None:
        """A project is suspended or freed, for a moment or for longer."""
        chosen = self.state.apps[app].project
        for _ in range(1 if stays else 2):
            chosen.suspended = not chosen.suspended
            moment = service_clock.now() if chosen.suspended else None
            Project.objects.filter(pk=chosen.pk).update(suspended_at=moment)
            for each in self.state.apps:
                if each.project is chosen:
                    self.look_at_families_of(each)

    @rule(app=apps, stays=st.booleans())
    def review(self, app: int, stays: bool) -> None:
        """The approval of `account.read` is given or withdrawn, for a moment or for longer."""
        chosen = self.state.apps[app]
        for _ in range(1 if stays else 2):
            chosen.reviewed = not chosen.reviewed
            approved = "account.read" if chosen.reviewed else ""
            Client.objects.filter(pk=chosen.pk).update(approved_scopes=approved)
            self.look_at_families_of(chosen)

    @rule(now=st.booleans())
    def rotate_keys(self, now: bool) -> None:
        """A signing key is published or begins to sign, when due or at once."""
        with self.world.committing():
            call_command("rotate_keys", now=now, verbosity=0, stdout=io.StringIO())

    @rule(
        seconds=st.sampled_from(
            [1, 1, 9, 11, 11, 55, 65, 5 * MINUTE, 14 * MINUTE, 20 * MINUTE, 2 * HOUR, 2 * DAY, 8 * DAY, 25 * DAY]
        )
    )
    def wait(self, seconds: int) -> None:
        """Time passes."""
        self.world.clock.go(seconds)
        keys.reload()

    @rule()
    def clear_expired(self) -> None:
        """The periodic clean-up."""
        tasks.clear_expired()
        self.model.clear_expired(self.world.now)

    @rule()
    def look_at_everything(self) -> None:
        """Every code and token that was ever given out is tried."""
        for family in self.model.families:
            self.look_at(family)
        self.look_at_keys()

    # --- After every step ---

    @invariant()
    def what_was_touched_is_as_it_should_be(self) -> None:
        """Look at the families that this step was about, and at one other in turn."""
        families = list(dict.fromkeys(self.touched))
        self.touched = []
        if self.model.families:
            families.append(self.model.families[int(self.world.now * 1000) % len(self.model.families)])
        for family in families:
            self.look_at(family, newest=1)

    @invariant()
    def one_live_refresh_token_a_family(self) -> None:
        live = RefreshToken.objects.filter(revoked=None, family__revoked_at=None, expires__gt=service_clock.now())
        assert all(count == 1 for count in Counter(live.values_list("family", flat=True)).values())

    @invariant()
    def no_app_has_too_many_people(self) -> None:
        for app in self.state.apps:
            if app.capped:
                assert len(self.model.people_of(app)) <= CAP
                rows = Connection.objects.filter(client=app.pk)
                owners = rows.filter(account=F("client__project__members__account"))
                assert rows.count() - owners.count() <= CAP

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:
                self.look_at_everything()
                self.count_what_was_reached()
        finally:
            self.example.close()

    # --- Beside the rules ---

    def somebody(self, person: int) -> Person | None:
        """Return a person who can sign in: this one, or the next who can."""
        order = self.state.people[person:] + self.state.people[:person]
        return next((one for one in order if one.may_sign_in), None)

    def set_active(self, person: Person, active: bool) -> None:
        account = Account.objects.get(pk=person.pk)
        account.is_active = active
        account.save()

    def leave_browsers_of(self, person: Person) -> None:
        """Nobody is signed in any more where this person was."""
        for tab in self.state.tabs:
            if tab.session.person is person:
                response = self.world.get(tab.http, "/account/apps/")
                assert response["Location"].startswith("/account/login/")
                tab.http, tab.session = new_browser(), Session()

    def look_at_families_of(self, app: App) -> None:
        for family in [family for family in self.model.families if family.app is app][-3:]:
            self.look_at(family, newest=1)

    def look_at_keys(self) -> None:
        """The key of every token that still works is published."""
        published = {key["kid"] for key in self.world.get(new_browser(), "/.well-known/jwks").json()["keys"]}
        live = [token for token in self.model.access if token.is_live(self.world.now)]
        assert {header_of(token.raw)["kid"] for token in live} <= published

    def count_what_was_reached(self) -> None:
        live = [token for token in self.model.access if token.is_live(self.world.now)]
        self.note(f"families: {min(len(self.model.families), 9)}")
        self.note(f"live access tokens at the end: {min(len(live), 9)}")
        self.note(f"longest chain of refreshes: {self.longest_chain()}")

    def longest_chain(self) -> int:
        return max(Counter(id(token.family) for token in self.model.refresh).values(), default=0)


@pytest.fixture
def world(db: None, monkeypatch: pytest.MonkeyPatch, settings: Any) -> World:
    settings.UNVERIFIED_APP_PEOPLE = CAP
    settings.SIGNING_KEY_REFRESH_SECONDS = DAY  # no thread of its own: it would not see this transaction
    # What is tested here is not how often one may try.
    settings.ACCOUNT_RATE_LIMITS = False
    for name in [name for name in dir(service_settings) if name.endswith("_PER_MINUTE")]:
        setattr(settings, name, 10**6)
    monkeypatch.setattr(logging.root.manager, "disable", logging.WARNING)  # refusals by the thousand
    clock = Clock()
    monkeypatch.setattr(service_clock, "now", clock.now)
    monkeypatch.setattr(time, "time", clock.time)  # what allauth and Django's signatures go by
    world = World(clock)
    begin(world)
    return world


def run(world: World, examples: int, steps: int, **options: Any) -> None:
    profile = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        **options,
    )
    run_state_machine_as_test(lambda: SignInMachine(world), settings=profile)  # type: ignore[no-untyped-call]


def test_what_lives_works_and_nothing_else(world: World) -> None:
    run(world, examples=25, steps=30, derandomize=True)


@pytest.mark.slow
def test_what_lives_works_and_nothing_else_at_length(world: World) -> None:
    run(world, examples=100, steps=60, print_blob=True)
