"""The playground exchanges codes without the client's secret. Nothing else gains from that."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.http import HttpRequest
from django.test import Client as Browser
from django.test import RequestFactory

from accounts.models import Account
from core import clock
from core.credentials import digest, random_text
from devportal.console.playground import flow, internal_client
from oidc.models import Client, Project, ProjectMember
from oidc.protocol.server import Backend
from oidc.tokens.vouchers import Voucher
from oidc.values.redirect_uris import playground_redirect_uri
from tests.devportal.console.playground.playing import Playground, parameters_of, tokens_on
from tests.factories import make_account, make_project, make_web_client
from tests.relying_party import FORM, RelyingParty, challenge_of, sign_in

Role = ProjectMember.Role
REFUSED = ("invalid_client", 401)


@pytest.fixture
def developer(db: None) -> Account:
    return make_account("dan@example.com")


@pytest.fixture
def project(developer: Account) -> Project:
    return make_project(developer)


@pytest.fixture
def web(project: Project, developer: Account) -> Playground:
    return Playground(make_web_client(project)[0], sign_in(Browser(), developer)).open()


class Attempt:
    """A code of a person at a client with a secret, and the voucher that would cover it."""

    def __init__(self, client: Client, account: Account) -> None:
        self.app = RelyingParty(client, sign_in(Browser(), account), redirect_uri=playground_redirect_uri())
        self.code = self.app.code(scope="openid email offline_access")
        self.client = client
        self.voucher = Voucher(client.client_id, account.pk, digest(self.code), challenge_of(self.app.verifier))

    @property
    def form(self) -> dict[str, str]:
        return {
            "grant_type": "authorization_code",
            "code": self.code,
            "redirect_uri": playground_redirect_uri(),
            "code_verifier": self.app.verifier,
        }

    def send(self, voucher: Voucher | None, **changes: str) -> tuple[str, int]:
        sent = internal_client.request_tokens(self.form | changes, self.client.client_id, voucher=voucher)
        return sent.error, sent.status


def from_outside(form: dict[str, str], **headers: str) -> Any:
    """Send a form to the token endpoint as anyone can."""
    return Browser().post("/connect/token", urlencode(form), content_type=FORM, headers=headers)


@pytest.fixture
def attempt(web: Playground, developer: Account) -> Attempt:
    return Attempt(web.client, developer)


# --- What a voucher is good for ---


def test_a_voucher_is_good_for_its_own_code_once(attempt: Attempt) -> None:
    assert attempt.send(None) == REFUSED
    assert attempt.send(attempt.voucher) == ("", 200)
    assert attempt.send(attempt.voucher) == ("invalid_grant", 400)


@pytest.mark.parametrize(
    "change",
    [
        {"client_id": "op_client_another"},
        {"account": 0},
        {"credential": digest("another")},
        {"credential": ""},
        {"code_challenge": ""},
        {"code_challenge": challenge_of("x" * 43)},
        {"code_challenge": "", "family": 1},
    ],
)
def test_a_voucher_for_something_else_is_no_secret(attempt: Attempt, change: dict[str, Any]) -> None:
    assert attempt.send(replace(attempt.voucher, **change)) == REFUSED
    assert attempt.send(attempt.voucher) == ("", 200)


def test_a_vouched_code_still_needs_its_verifier_and_redirect_url(attempt: Attempt) -> None:
    assert attempt.send(attempt.voucher, code_verifier="x" * 43)[0] == "invalid_grant"
    assert attempt.send(attempt.voucher, redirect_uri="https://app.example.com/callback")[0] == "invalid_grant"


def test_another_persons_code_is_not_covered(web: Playground, developer: Account) -> None:
    theirs = Attempt(web.client, make_account())
    assert theirs.send(replace(theirs.voucher, account=developer.pk)) == REFUSED


def test_a_code_of_another_client_is_not_covered(web: Playground, developer: Account) -> None:
    elsewhere = Attempt(make_web_client(redirect_uris=playground_redirect_uri())[0], developer)
    sent = internal_client.request_tokens(elsewhere.form, web.client.client_id, voucher=elsewhere.voucher)
    assert (sent.error, sent.status) == REFUSED
    mixed = replace(elsewhere.voucher, client_id=web.client.client_id)
    assert internal_client.request_tokens(elsewhere.form, web.client.client_id, voucher=mixed).error == "invalid_client"
    assert elsewhere.send(mixed) == REFUSED


def test_a_wrong_secret_is_wrong_with_a_voucher_too(attempt: Attempt) -> None:
    sent = internal_client.request_tokens(attempt.form, attempt.client.client_id, "wrong", attempt.voucher)
    assert (sent.error, sent.status) == REFUSED
    assert attempt.send(attempt.voucher, client_secret="wrong") == REFUSED


@pytest.mark.parametrize("change", [{"revoked_at": timedelta(0)}, {"expires_at": timedelta(seconds=-1)}])
def test_without_a_live_secret_a_voucher_is_no_secret(attempt: Attempt, change: dict[str, timedelta]) -> None:
    attempt.client.secrets.update(**{name: clock.now() + delay for name, delay in change.items()})
    assert attempt.send(attempt.voucher)[0] == "invalid_client"


def test_suspended_and_disabled_stay_refused(attempt: Attempt) -> None:
    project = Project.objects.filter(pk=attempt.client.project_id)
    clients = Client.objects.filter(pk=attempt.client.pk)
    for rows, values in (
        (project, {"suspended_at": clock.now()}),
        (project, {"deleted_at": clock.now()}),
        (clients, {"enabled": False}),
    ):
        before = rows.values(*values).get()
        rows.update(**values)
        assert attempt.send(attempt.voucher)[0] == "invalid_grant", values
        rows.update(**before)
    assert attempt.send(attempt.voucher) == ("", 200)


def test_a_voucher_for_a_code_refreshes_nothing(attempt: Attempt, developer: Account) -> None:
    token = internal_client.request_tokens(attempt.form, attempt.client.client_id, voucher=attempt.voucher).answer[
        "refresh_token"
    ]
    form = {"grant_type": "refresh_token", "refresh_token": token}
    for voucher in (
        attempt.voucher,
        replace(attempt.voucher, credential=digest(token)),
        replace(attempt.voucher, credential=digest(token), code_challenge="", family=0),
        replace(attempt.voucher, credential=digest(attempt.code), family=1),
    ):
        assert internal_client.request_tokens(form, attempt.client.client_id, voucher=voucher).status == 401
        both = form | {"code": attempt.code}
        assert internal_client.request_tokens(both, attempt.client.client_id, voucher=voucher).status >= 400


# --- Nobody else can use one ---


def test_a_request_from_outside_never_has_a_voucher(attempt: Attempt, rf: RequestFactory) -> None:
    """Whatever is sent: a voucher is neither a header, nor a field, nor a key of the WSGI environment."""
    names = ("voucher", "HTTP_VOUCHER", "HTTP_X_VOUCHER", "openport.voucher", "wsgi.voucher", "extra_credentials")
    form = attempt.form | {"client_id": attempt.client.client_id}
    extra: dict[str, Any] = dict.fromkeys(names, attempt.voucher)
    request = rf.post("/connect/token", form, **extra)
    assert Backend()._get_extra_credentials(request) is None
    answer = from_outside(form | dict.fromkeys(names, "x"), Voucher="x", **{"X-Voucher": "x"})
    assert (answer.json()["error"], answer.status_code) == REFUSED
    request.voucher = attempt.voucher  # type: ignore[attr-defined]
    assert Backend()._get_extra_credentials(request) is None


def test_only_the_token_endpoint_reads_it(attempt: Attempt, monkeypatch: pytest.MonkeyPatch) -> None:
    token = internal_client.request_tokens(attempt.form, attempt.client.client_id, voucher=attempt.voucher).answer[
        "access_token"
    ]
    seen: list[HttpRequest] = []

    def no_credentials(self: Backend, request: HttpRequest) -> None:
        seen.append(request)

    monkeypatch.setattr(Backend, "_get_extra_credentials", no_credentials)
    assert internal_client.get_endpoint("/v1/me", token).status == 200
    attempt.app.post("/connect/revoke", {"token": token, "client_id": attempt.client.client_id})
    assert seen == []


def test_an_exception_leaves_no_voucher_behind(attempt: Attempt, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("it breaks inside")

    with monkeypatch.context() as patched:
        patched.setattr("oidc.tokens.store.consume_and_store", fail)
        assert attempt.send(attempt.voucher)[1] >= 500
    form = attempt.form | {"client_id": attempt.client.client_id}
    assert from_outside(form).status_code == 401
    assert attempt.send(None) == REFUSED


def test_a_request_within_and_beside_a_vouched_one_has_no_voucher(
    attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a vouched exchange is under way, the same request from elsewhere is refused, in any thread."""
    from oidc.tokens import authentication

    started = threading.Event()
    found: list[object] = []
    whole = authentication.authenticate_client

    def during(*args: Any, **kwargs: Any) -> Any:
        if kwargs["voucher"] is not None and not started.is_set():
            started.set()
            with ThreadPoolExecutor(1) as pool:
                found.append(pool.submit(lambda: Backend()._get_extra_credentials(HttpRequest())).result())
            form = attempt.form | {"client_id": attempt.client.client_id}
            found.append(from_outside(form).status_code)
            found.append(internal_client.request_tokens(attempt.form, attempt.client.client_id).status)
        return whole(*args, **kwargs)

    monkeypatch.setattr(authentication, "authenticate_client", during)
    assert attempt.send(attempt.voucher) == ("", 200)
    assert found == [None, 401, 401]


# --- Who gets one ---


def test_a_voucher_needs_the_role(web: Playground, developer: Account) -> None:
    once = web.go("email").context["once"]
    owner = ProjectMember.objects.create(project=web.client.project, account=make_account(), role=Role.OWNER)
    members = ProjectMember.objects.filter(project=web.client.project).exclude(pk=owner.pk)
    members.update(role=Role.VIEWER)
    assert web.exchange(once=once).status_code == 403
    assert web.post("refresh", refresh_token="x", once=once).status_code == 403
    assert web.run["stage"] == "answered"
    members.delete()
    assert web.exchange(once=once).status_code == 404


def test_the_role_is_checked_again_with_the_project_locked(web: Playground, monkeypatch: pytest.MonkeyPatch) -> None:
    once = web.go("email").context["once"]
    find = flow.find_run

    def demote(*args: Any) -> Any:
        owner = ProjectMember.objects.create(project=web.client.project, account=make_account(), role=Role.OWNER)
        ProjectMember.objects.filter(project=web.client.project).exclude(pk=owner.pk).update(role=Role.VIEWER)
        return find(*args)

    monkeypatch.setattr(flow, "find_run", demote)
    assert web.exchange(once=once).status_code == 403
    assert web.run["stage"] == "answered"


def test_a_code_of_another_account_in_the_same_browser_is_refused(web: Playground) -> None:
    """The run's state is right, but another person signed in to the app with the run's request."""
    url = web.begin("email")
    other = Playground(web.client, sign_in(Browser(), make_account("vic@example.com")))
    answer = parameters_of(other.sign_in(url))
    assert web.browser.get("/console/playground/callback", answer).status_code == 302
    result = web.exchange().context["result"]
    assert result.exchange.error == "invalid_client"
    assert result.tokens == []


def test_only_the_runs_own_refresh_token_is_refreshed(web: Playground, developer: Account) -> None:
    theirs = Attempt(web.client, make_account())
    stolen = internal_client.request_tokens(theirs.form, web.client.client_id, voucher=theirs.voucher).answer
    mine = Attempt(web.client, developer)
    other_run = internal_client.request_tokens(mine.form, web.client.client_id, voucher=mine.voucher).answer
    web.go("email", "offline_access")
    own = tokens_on(web.exchange())["refresh_token"]
    for token in (stolen["refresh_token"], other_run["refresh_token"], random_text(43), "", "x" * 9999, own[:-1]):
        assert web.refresh(token).status_code == 302
        assert "not the refresh token of the current test" in web.page().content.decode()
    assert web.refresh(own).context["result"].exchange.status == 200


def test_a_stolen_token_in_a_changed_run_is_refused(web: Playground) -> None:
    """Even a run that names another person's family gets no voucher that covers it."""
    theirs = Attempt(web.client, make_account())
    stolen = internal_client.request_tokens(theirs.form, web.client.client_id, voucher=theirs.voucher).answer
    web.go("email", "offline_access")
    web.exchange()
    session = web.browser.session
    run = flow.PlaygroundRun(**session["playground"])
    run.family = None
    assert not flow.owns_refresh_token(run, stolen["refresh_token"])
    result = flow.refresh(run, web.client, stolen["refresh_token"])
    assert (result.exchange.error, result.exchange.status) == REFUSED


def test_a_suspended_project_gets_no_tokens(web: Playground, later: Callable[[float], None]) -> None:
    web.go("email", "offline_access")
    own = tokens_on(web.exchange())["refresh_token"]
    Project.objects.filter(pk=web.client.project_id).update(suspended_at=clock.now())
    assert web.refresh(own).context["result"].exchange.error == "invalid_grant"
