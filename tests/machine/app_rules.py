"""The actions of apps: they ask for access, and use codes and tokens correctly or with mistakes."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.machine.draws import apps, decisions, people, tabs, which
from tests.machine.journeys import Journeys
from tests.machine.world import pick

SCOPES = ["openid email profile offline_access", "openid offline_access", "openid email", "openid"]
ODD_SCOPES = ["openid account.read offline_access", "email", "openid admin"]
PROMPTS = ["", "", "", "none", "consent", "login", "select_account", "login consent", "create", "none login"]

MISTAKES = {
    "verifier": {"code_verifier": "w" * 64},
    "address": {"redirect_uri": "https://orbit-web.example.com/callback/"},
}


class AppRules(Journeys):
    """Rules that apps follow."""

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
        """Send an authorization request of an app. If it returns a code, other rules can use it later."""
        client = self.state.apps[app]
        addresses = {
            "first": client.redirect_uris[0],
            "last": client.redirect_uris[-1],
            "slash": f"{client.redirect_uris[0]}/",
            "foreign": self.state.apps[app - 1].redirect_uris[0],
        }
        asked = self.ask(client, **request, address=addresses[address])
        self.visit(self.state.tabs[tab], asked, decision, self.someone(person))

    @rule(tab=tabs, app=apps, scopes=st.sampled_from(SCOPES), person=people)
    def connect(self, tab: int, app: int, scopes: str, person: int) -> None:
        """Send an authorization request, and exchange its code immediately, as most apps do."""
        client = self.state.apps[app]
        code = self.visit(self.state.tabs[tab], self.ask(client, scopes), "allow", self.someone(person))
        if code is not None:
            self.note(f"connect: {self.redeem(code, client)}")

    @precondition(lambda self: self.state.requests)
    @rule(tab=tabs, request=which, decision=decisions, person=people)
    def ask_again(self, tab: int, request: int, decision: str, person: int) -> None:
        """Send an earlier request again, as if it was reloaded, bookmarked, or opened in another browser."""
        self.visit(self.state.tabs[tab], pick(self.state.requests, request), decision, self.someone(person))

    @precondition(lambda self: self.state.forms)
    @rule(form=which, decision=st.sampled_from(["allow", "meddle", "cancel"]))
    def answer_a_page_left_open(self, form: int, decision: str) -> None:
        """Press a button of a page that is still open, late or for the second time."""
        self.answer(pick(self.state.forms, form), decision)

    # --- Codes and tokens ---

    @precondition(lambda self: any(not code.consumed for code in self.model.codes))
    @rule(code=which, mistake=st.sampled_from(["", "", "", *MISTAKES, "client"]), app=apps)
    def exchange(self, code: int, mistake: str, app: int) -> None:
        """Exchange a code that was not used yet, correctly or with one mistake."""
        chosen = pick([code for code in self.model.codes if not code.consumed], code)
        client, changes = chosen.family.app, MISTAKES.get(mistake, {})
        if mistake == "client":
            client = self.state.apps[app]
        self.note(f"exchange: {self.redeem(chosen, client, **changes)}")

    @precondition(lambda self: any(code.consumed for code in self.model.codes))
    @rule(code=which, app=apps, by_its_own=st.booleans())
    def replay(self, code: int, app: int, by_its_own: bool) -> None:
        """Exchange a used code again, from its own app or from another one."""
        chosen = pick([code for code in self.model.codes if code.consumed], code)
        self.note(f"replay: {self.redeem(chosen, chosen.family.app if by_its_own else self.state.apps[app])}")

    @precondition(lambda self: self.model.refresh)
    @rule(token=which, scopes=st.sampled_from([None, None, None, "narrow", "wide"]))
    def refresh(self, token: int, scopes: str | None) -> None:
        """Refresh with the newest token of a family."""
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
        """Refresh with a superseded token, as if it was sent twice or stolen."""
        self.world.clock.go(seconds)
        chosen = pick([token for token in self.model.refresh if token.superseded_at], token)
        self.note(f"reuse: {self.renew(chosen, chosen.family.app)}")

    @precondition(lambda self: self.model.refresh)
    @rule(token=which, app=apps)
    def refresh_by_any_app(self, token: int, app: int) -> None:
        """Refresh as any app: a token is not valid for another app, and the attempt does not end it for its own."""
        self.note(f"refresh by any: {self.renew(pick(self.model.refresh, token), self.state.apps[app])}")

    @precondition(lambda self: self.model.access)
    @rule(token=which, kind=st.booleans(), app=apps, by_its_own=st.booleans(), secret=st.booleans())
    def revoke(self, token: int, kind: bool, app: int, by_its_own: bool, secret: bool) -> None:
        """Revoke a token, as its own app or as another one."""
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
