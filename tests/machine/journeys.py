"""The steps of people and apps over HTTP. The result of each step is compared with that of the model."""

from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from tests.factories import PASSWORD
from tests.machine.model import Model
from tests.machine.things import PENDING_SECONDS, Access, App, Asked, Code, Family, Person, Refresh
from tests.machine.world import Form, Hint, State, Tab, World, new_browser
from tests.relying_party import answer_of, claims_of, header_of

PAGES = {"error page": 400, "unavailable page": 403, "full page": 403, "consent page": 200}
SIGN_IN_PAGES = {
    "sign-in page": "/account/login/",
    "sign-up page": "/account/signup/",
    "reauthentication page": "/account/reauthenticate/",
    "account chooser": "/account/choose",
}
CLAIMS = {"email": {"email", "email_verified"}, "profile": {"name", "given_name", "family_name"}}


class Journeys:
    """The steps. The rules that use them are in subclasses."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.touched: list[Family] = []

    @property
    def state(self) -> State:
        return self.world.state

    @property
    def model(self) -> Model:
        return self.state.model

    def someone(self, person: int) -> Person | None:
        """Return a person who can sign in: this one, or the next one who can; None if nobody can."""
        order = self.state.people[person:] + self.state.people[:person]
        return next((one for one in order if one.may_sign_in), None)

    def note(self, what: str) -> None:
        """Record that a case was reached, for Hypothesis's statistics."""

    # --- Browsers ---

    def visit(self, tab: Tab, asked: Asked, decision: str, person: Person | None) -> Code | None:
        """Open an app's authorization request, and continue with `decision` and `person`; return the code, if any."""
        url = f"{reverse('authorize')}?{asked.query}"
        for _ in range(3):
            had_others, others = tab.has_others, [each.person for each in tab.others if each.person is not None]
            response = self.world.get(tab.http, url, asked)
            came_at = tab.session.came_at(asked, self.world.now)
            outcome = self.model.outcome(tab.session, asked, came_at, has_others=had_others, others=others)
            code = self._arrive(tab, asked, response, outcome)
            if outcome in ("consent page", "full page") and decision != "leave":
                return self.answer(self.state.forms[-1], decision)
            if outcome not in SIGN_IN_PAGES or outcome == "sign-up page" or decision == "leave" or person is None:
                return code
            page = response["Location"]
            if outcome == "account chooser":
                page = self.choose(tab, page, person)
            if page != url:
                back = self.authenticate(tab, page, tab.session.person or person)
                assert self.world.get(tab.http, back)["Location"] == url
            elif asked in tab.session.pending:
                tab.session.pending[asked].chosen = True
        raise AssertionError("signed in three times, and still asked to")

    def choose(self, tab: Tab, url: str, person: Person) -> str:
        """Choose a person in the account chooser, or the first one if they are not listed; return the next URL."""
        page = self.world.get(tab.http, url)
        listed = [each.person for each in (tab.session, *tab.others) if each.person is not None]
        self.note(f"chooser: {len(listed)} accounts")
        if not listed:
            assert page["Location"].startswith("/account/login/")
            return str(page["Location"])
        shown = {choice.account.email: choice.reference for choice in page.context["choices"]}
        assert [*shown] == [each.email for each in listed]
        chosen = person if person in listed else listed[0]
        form = {"account": shown[chosen.email], "request": page.context["request_key"]}
        response = self.world.post(tab.http, "/account/choose", form)
        if chosen is not tab.session.person:
            tab.choose(chosen)
        return str(response["Location"])

    def authenticate(self, tab: Tab, url: str, person: Person) -> str:
        """Submit the form of a sign-in page; return the next URL."""
        response = self.world.post(tab.http, url, {"login": person.email, "password": PASSWORD})
        assert response.status_code == 302, response.content
        tab.end(person)  # an older session of this person in this browser
        tab.session.person, tab.session.signed_in_at = person, self.world.now
        return str(response["Location"])

    def answer(self, form: Form, decision: str) -> Code | None:
        """Press a button of an open page, however old it is; `meddle` adds fields that the form does not have."""
        tab, asked = form.tab, form.asked
        fields = {"reference": form.reference, "decision": "allow" if decision == "meddle" else decision}
        if decision == "meddle":
            fields |= {"scope": "openid account.read", "client_id": self.state.apps[0].client_id}
            fields |= {"redirect_uri": "https://elsewhere.example.com/", "consent_given_now": "true"}
        response = self.world.post(tab.http, reverse("consent"), fields, asked)
        session, now = tab.session, self.world.now
        waiting = session.find(asked, now)
        is_valid = form.session_key == tab.session_key and now - form.signed_at <= PENDING_SECONDS
        if session.person is None:
            assert response["Location"].startswith("/account/login/")
        elif waiting is None or not is_valid or form.person is not session.person:
            self.note("form: stale")
            assert response["Location"].startswith(reverse("resume"))
            if waiting is not None:
                waiting.switched = True
        else:
            outcome = self.model.outcome(session, asked, waiting.at, allowed=decision != "cancel")
            if decision == "cancel" and outcome != "unavailable page":
                outcome = "access_denied"
            self.note(f"form: {outcome}")
            return self._arrive(tab, asked, response, outcome)
        return None

    def _arrive(self, tab: Tab, asked: Asked, response: Any, outcome: str) -> Code | None:
        """Compare the response to an authorization request with the expected outcome, and update the model."""
        self.note(f"authorize: {outcome}")
        session, now = tab.session, self.world.now
        if outcome in PAGES:
            assert (response.status_code, "Location" in response) == (PAGES[outcome], False), outcome
        elif outcome in SIGN_IN_PAGES:
            assert answer_of(response) is not None
            assert response["Location"].startswith(SIGN_IN_PAGES[outcome]), (outcome, response["Location"])
        else:
            answer = answer_of(response)
            assert answer.get("error", "code") == outcome
        if outcome in ("consent page", "full page"):
            assert session.person is not None
            reference = response.context["reference"]
            self.state.forms.append(Form(tab, asked, session.person, reference, tab.session_key, int(now)))
        if outcome == "consent page":
            assert {access["scope"] for access in response.context["scope_descriptions"]} == set(asked.scopes)
        if outcome in ("consent page", "full page", *SIGN_IN_PAGES):
            session.remember(asked, now)
        elif outcome not in PAGES:
            session.answer(asked, now)
        if outcome != "code":
            return None
        code = self.model.issue(session, asked, answer_of(response)["code"], now)
        self.touched.append(code.family)
        return code

    # --- Apps ---

    def ask(self, app: App, scopes: str, prompt: str = "", max_age: int | None = None, address: str = "") -> Asked:
        """Return a new request of an app, with its first redirect URI unless `address` is another one."""
        requests = self.state.requests
        uri = address or app.redirect_uris[0]
        requests.append(Asked(app, tuple(scopes.split()), prompt, max_age, uri, len(requests)))
        return requests[-1]

    def redeem(self, code: Code, app: App, **changes: str) -> str:
        """Exchange a code as `app`, with the correct parameters except for `changes`; return the outcome."""
        asked = code.family.asked
        right = {"redirect_uri": asked.redirect_uri, "code_verifier": asked.verifier}
        form = {"grant_type": "authorization_code", "code": code.raw} | right | changes
        response = self.world.app_posts(app, "/connect/token", form)
        outcome = self.model.exchange_outcome(code, app, self.world.now, proven=not changes)
        self._token_answer(response, outcome, code, code.family.live_scopes)
        return outcome

    def renew(self, token: Refresh, app: App, scopes: frozenset[str] | None = None) -> str:
        """Refresh as `app`; return the outcome."""
        form = {"grant_type": "refresh_token", "refresh_token": token.raw}
        if scopes is not None:
            form["scope"] = " ".join(sorted(scopes))
        response = self.world.app_posts(app, "/connect/token", form, in_header=True)
        outcome = self.model.refresh_outcome(token, app, self.world.now)
        wanted = token.family.live_scopes if scopes is None else scopes
        if outcome == "tokens" and not wanted <= token.family.live_scopes:
            assert (response.status_code, response.json()["error"]) == (400, "invalid_scope")
            return "invalid_scope"
        self._token_answer(response, outcome, token, wanted)
        return outcome

    def _token_answer(self, response: Any, outcome: str, source: Code | Refresh, scopes: frozenset[str]) -> None:
        family = source.family
        self.touched.append(family)
        answer = response.json()
        if outcome != "tokens":
            assert (response.status_code, answer) == (400, {"error": "invalid_grant"} | answer), (outcome, answer)
            assert not {"access_token", "refresh_token", "id_token"} & set(answer)
            family.ended = family.ended or outcome == "ends"
            return
        assert response.status_code == 200, (answer, family)
        assert set(answer["scope"].split()) == scopes <= set(family.asked.scopes)
        assert ("refresh_token" in answer) == ("offline_access" in family.live_scopes)
        access = claims_of(answer["access_token"])
        assert (access["client_id"], access["scope"]) == (family.app.client_id, answer["scope"])
        self.world.know_sub(family.person, family.app.project, access["sub"])
        self._look_at_id_token(answer["id_token"], source, scopes, access["sub"])
        self.state.hints.append(Hint(answer["id_token"], family))
        now, refresh = self.world.now, answer.get("refresh_token")
        self.model.tokens(source, now, answer["scope"].split(), answer["access_token"], refresh)

    def _look_at_id_token(self, raw: str, source: Code | Refresh, scopes: frozenset[str], sub: str) -> None:
        family, claims = source.family, claims_of(raw)
        assert (claims["sub"], claims["aud"], claims["auth_time"]) == (sub, family.app.client_id, family.auth_time)
        assert claims.get("nonce") == (family.asked.nonce if isinstance(source, Code) else None)
        for scope, names in CLAIMS.items():
            assert (names if scope in scopes else set()) == names & set(claims)

    # --- Are all valid codes and tokens accepted, and no others? ---

    def look_at_access(self, token: Access) -> None:
        """Check an access token at userinfo and at the API."""
        family, is_live = token.family, token.is_live(self.world.now + 0.001)
        project = family.app.project
        info = self.world.call("/connect/userinfo", token.raw, project)
        assert info.status_code == (200 if is_live else 401), (info.content, family)
        me = self.world.call("/v1/me", token.raw, project)
        readable = {scope for scope in CLAIMS if scope in token.scopes}
        if not is_live or family.app.first_party:
            assert me.status_code == 401, (me.content, family)
        else:
            assert me.status_code == (200 if readable else 403), (me.content, family)
        if info.status_code == 200:
            self.world.know_sub(family.person, project, info.json()["sub"])
            assert set(info.json()) == {"sub"}.union(*(CLAIMS[scope] for scope in readable))
        if me.status_code == 200:
            self.world.know_sub(family.person, project, me.json()["id"])
            reviewed = "account.read" in token.scopes & family.live_scopes
            shown = set(CLAIMS) if reviewed else readable
            assert set(me.json()) - {"picture"} == {"id"}.union(*(CLAIMS[scope] for scope in shown))

    def try_refresh(self, token: Refresh) -> None:
        """Refresh as the token's app, compare the outcome, and roll it back."""
        with self.world.undone():
            form = {"grant_type": "refresh_token", "refresh_token": token.raw}
            response = self.world.app_posts(token.family.app, "/connect/token", form)
        expected = self.model.refresh_outcome(token, token.family.app, self.world.now)
        assert response.status_code == (200 if expected == "tokens" else 400), (expected, response.content)
        if expected == "tokens":
            assert set(response.json()["scope"].split()) == token.family.live_scopes

    def try_code(self, code: Code) -> None:
        """Exchange a code as its app, compare the outcome, and roll it back."""
        asked = code.family.asked
        form = {"grant_type": "authorization_code", "code": code.raw, "redirect_uri": asked.redirect_uri}
        with self.world.undone():
            form["code_verifier"] = asked.verifier
            response = self.world.app_posts(code.family.app, "/connect/token", form)
        expected = self.model.exchange_outcome(code, code.family.app, self.world.now)
        assert response.status_code == (200 if expected == "tokens" else 400), (expected, response.content)

    def look_at(self, family: Family, newest: int | None = None) -> None:
        """Check all codes and tokens of one family, or only its `newest` tokens."""
        first = slice(None) if newest is None else slice(-newest, None)
        for token in [token for token in self.model.access if token.family is family][first]:
            self.look_at_access(token)
        for refresh in [token for token in self.model.refresh if token.family is family][first]:
            self.try_refresh(refresh)
        for code in [code for code in self.model.codes if code.family is family]:
            self.try_code(code)

    def look_at_keys(self) -> None:
        """Check that the key of every valid token is published."""
        published = {key["kid"] for key in self.world.get(new_browser(), "/.well-known/jwks").json()["keys"]}
        live = [token for token in self.model.access if token.is_live(self.world.now)]
        assert {header_of(token.raw)["kid"] for token in live} <= published


def sign_out_url(hint: Hint) -> str:
    """Return the sign-out URL to which an app sends a person."""
    parameters = {"id_token_hint": hint.raw, "post_logout_redirect_uri": hint.family.app.sign_out_uri, "state": "bye"}
    return f"{reverse('logout')}?{urlencode(parameters)}"


def begin(world: World) -> None:
    """Take some first steps, so that no run of the machine begins with an empty service."""
    journeys, state = Journeys(world), world.state
    full = "openid email profile offline_access"
    web, spa, new, native, own = state.apps
    ada, bob, cyd = state.tabs
    # Only two people may use the app `new`. The third one has opened the consent page before, and answers too late.
    journeys.visit(ada, journeys.ask(new, full), "leave", None)
    for tab, app, scopes in [
        (ada, web, f"{full} account.read"),
        (bob, web, "openid profile"),
        (cyd, native, full),
        (bob, new, full),
        (cyd, new, "openid email"),
        (cyd, own, full),
        (ada, spa, "openid offline_access"),
    ]:
        code = journeys.visit(tab, journeys.ask(app, scopes), "allow", None)
        assert code is not None
        assert journeys.redeem(code, app) == "tokens"
    for token in list(state.model.refresh)[:3]:
        assert journeys.renew(token, token.family.app) == "tokens"
    journeys.visit(ada, journeys.ask(native, full), "allow", None)
    journeys.visit(bob, journeys.ask(spa, full), "leave", None)
    for family in state.model.families:
        journeys.look_at(family)
