"""The actions of people at the service: they sign in and out, remove apps, and leave and come back."""

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from accounts.deletion import deleting
from accounts.models import Account
from oidc.models import Connection
from tests.factories import make_account
from tests.machine.draws import people, tabs, which
from tests.machine.journeys import Journeys, sign_out_url
from tests.machine.things import Person, Session
from tests.machine.world import Tab, new_browser, pick


class PeopleRules(Journeys):
    """Rules that people follow."""

    @rule(tab=tabs, person=people, press=st.booleans())
    def switch_account(self, tab: int, person: int, press: bool) -> None:
        """Sign in to a further account. Pending requests stay; open pages of the previous account become invalid."""
        chosen, page = self.someone(person), "/account/login/"
        here = self.state.tabs[tab]
        if here.session.person is not None:
            page = self.world.post(here.http, "/account/choose", {"decision": "another"})["Location"]
            here.put_aside()
        if chosen is not None:
            self.authenticate(here, page, chosen)
        left = [form for form in self.state.forms if form.tab is here]
        if press and left:
            self.answer(left[-1], "allow")

    @rule(tab=tabs, person=people, press=st.booleans())
    def choose_account(self, tab: int, person: int, press: bool) -> None:
        """Make another account of this browser the current one. Open pages of the previous account become invalid."""
        here = self.state.tabs[tab]
        self.choose(here, "/account/choose", self.state.people[person])
        left = [form for form in self.state.forms if form.tab is here]
        if press and left:
            self.answer(left[-1], "allow")

    @rule(tab=tabs)
    def sign_out_of_all(self, tab: int) -> None:
        """Sign out of every account of this browser."""
        here = self.state.tabs[tab]
        self.world.post(here.http, "/account/choose", {"decision": "sign-out-all"})
        here.session, here.others = Session(), []
        assert not here.has_others

    @rule(tab=tabs)
    def sign_out(self, tab: int) -> None:
        """Sign out of this browser, which ends no token."""
        here = self.state.tabs[tab]
        self.world.post(here.http, "/account/logout/", {})
        here.session = Session()

    @precondition(lambda self: self.state.hints)
    @rule(tab=tabs, hint=which, decision=st.sampled_from(["sign-out", "stay"]))
    def sign_out_by_an_app(self, tab: int, hint: int, decision: str) -> None:
        """Open the sign-out URL of an app. Only the session of the hint's person ends without a confirmation.

        Nobody is led back to an app that is off, so its sign-out always asks.
        """
        here, chosen = self.state.tabs[tab], pick(self.state.hints, hint)
        back = f"{chosen.family.app.sign_out_uri}?state=bye"
        response = self.world.get(here.http, sign_out_url(chosen), back)
        signed_in, hinted = here.session.person, chosen.family.person
        beside = [each.person for each in here.others]
        if chosen.family.app.is_on and (signed_in is None or hinted is signed_in or hinted in beside):
            assert response["Location"] == back
            if hinted is not signed_in:
                here.end(hinted)
                return
        elif signed_in is None:
            assert response["Location"] == "/connect/signed-out"
        else:
            assert response.status_code == 200
            self.world.post(here.http, "/connect/logout/confirm", {"decision": decision})
            if decision == "stay":
                return
        here.session = Session()

    @precondition(lambda self: self.model.connections)
    @rule(tab=tabs, connection=which, again=st.booleans())
    def remove_app(self, tab: int, connection: int, again: bool) -> None:
        """Remove an app under Connected apps. People can only remove apps that they have authorized."""
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
                # Codes and tokens from before the removal stay invalid.
                self.visit(here, self.ask(chosen.app, "openid email"), "allow", None)

    @rule(person=people, back=st.booleans())
    def deactivate(self, person: int, back: bool) -> None:
        """Deactivate someone, and with `back` activate them again. Their codes and tokens stay invalid."""
        chosen = self.state.people[person]
        if chosen.deleted:
            return
        if chosen.active:
            self.set_active(chosen, False)
            self.model.end_person(chosen, deleted=False)
            for tab in self.browsers_of(chosen):
                tab.session = Session()
        if back:
            self.set_active(chosen, True)
            chosen.active = True

    @precondition(lambda self: sum(person.may_sign_in for person in self.state.people) > 2)
    @rule(person=people)
    def delete(self, person: int) -> None:
        """Delete an account. The owner of a project can't delete theirs."""
        chosen = self.state.people[person]
        if chosen.deleted or chosen.owns:
            return
        with self.world.committing():
            deleting.delete_account(Account.objects.get(pk=chosen.pk))
        self.model.end_person(chosen, deleted=True)
        for tab in self.browsers_of(chosen):
            tab.http, tab.session, tab.others = new_browser(), Session(), []

    @precondition(lambda self: any(person.deleted for person in self.state.people))
    @rule()
    def come_back(self) -> None:
        """Let a deleted person sign up again with the same email address. No app recognizes them."""
        place = next(place for place, person in enumerate(self.state.people) if person.deleted)
        account = make_account(self.state.people[place].email)
        self.state.people[place] = Person(account.email, account.pk)

    def browsers_of(self, person: Person) -> list[Tab]:
        """Return the browsers in which the person was the current account, and check that they are signed out there."""
        for tab in self.state.tabs:
            tab.end(person)
        found = [tab for tab in self.state.tabs if tab.session.person is person]
        for tab in found:
            response = self.world.get(tab.http, "/account/apps/")
            assert response["Location"].startswith("/account/login/")
        return found

    def set_active(self, person: Person, active: bool) -> None:
        account = Account.objects.get(pk=person.pk)
        account.is_active = active
        account.save()
