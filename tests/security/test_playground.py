"""The playground under misuse: nobody reads an answer that is not theirs, and nothing redirects anywhere new."""

from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.test import Client as Browser
from django.test import RequestFactory, override_settings

from accounts.models import Account
from core.http import client_ip, request_id
from core.http.request_id import RequestIdMiddleware
from devportal.console.playground import internal_client
from oidc.models import Project, ProjectMember
from oidc.values.redirect_uris import playground_redirect_uri, validate_redirect_uri
from tests.devportal.console.playground.playing import CALLBACK, Playground, parameters_of
from tests.factories import make_account, make_client, make_project, make_web_client
from tests.relying_party import RelyingParty, sign_in

Role = ProjectMember.Role


@pytest.fixture
def developer(db: None) -> Account:
    return make_account("dan@example.com")


@pytest.fixture
def project(developer: Account) -> Project:
    return make_project(developer)


@pytest.fixture
def spa(project: Project, developer: Account) -> Playground:
    return Playground(make_client(project), sign_in(Browser(), developer)).open()


def is_turned_away(response: Any, *hidden: str) -> bool:
    """Tell whether an answer got the page that says so, without anything of the answer on it."""
    page = response.content.decode()
    return (
        response.status_code == 400
        and "No test is waiting" in page
        and "Location" not in response
        and not any(text in page for text in hidden)
    )


def stage(playground: Playground) -> str:
    found: str = playground.run["stage"]
    return found


# --- The address ---

VARIANTS = [
    "{own}/", "{own}?", "{own}?next=https://evil.example.com", "{own}#", "{own}/..", "{own}%00", "{own}evil", "{own};x",
    "{base}/console/playground/Callback", "{base}/console//playground/callback", "{base}/console/./playground/callback",
    "{base}/x/../console/playground/callback", "{base}//console/playground/callback", "{base}/console/playground",
    "{base}/console/playground/", "{base}/", "{base}/connect/authorize", "{base}/account/login/?next=/",
    "HTTP://localhost:8000/console/playground/callback", "http://LOCALHOST:8000/console/playground/callback",
    "http://a@localhost:8000/console/playground/callback",
]  # fmt: skip


def test_the_playgrounds_address_may_be_registered_and_no_other_of_the_service() -> None:
    validate_redirect_uri(playground_redirect_uri())
    for variant in VARIANTS:
        uri = variant.format(own=playground_redirect_uri(), base=settings.AUTH_URL)
        with pytest.raises(ValidationError):
            validate_redirect_uri(uri)


@override_settings(AUTH_URL="https://login.example.com", BASE_URL="https://api.example.com")
def test_it_is_on_the_host_of_the_sign_in_service_alone() -> None:
    validate_redirect_uri("https://login.example.com/console/playground/callback")
    for other in ("https://api.example.com", "http://login.example.com", "https://login.example.com:443"):
        with pytest.raises(ValidationError):
            validate_redirect_uri(f"{other}/console/playground/callback")


def test_a_client_without_it_redirects_nobody_there(project: Project, developer: Account) -> None:
    party = RelyingParty(make_client(project), sign_in(Browser(), developer), redirect_uri=playground_redirect_uri())
    response = party.authorize()
    assert response.status_code == 400
    assert "Location" not in response


def test_a_client_from_which_it_was_taken_gives_no_code(spa: Playground) -> None:
    url = spa.begin("email")
    spa.post("address", wanted="no")
    response = spa.browser.get(f"/connect/authorize?{urlencode(parameters_of(url))}")
    assert response.status_code == 400
    assert "Location" not in response


# --- Answers that are not this session's ---


def test_a_response_without_a_run_is_rejected(spa: Playground) -> None:
    query = {"code": "SecretCode1", "state": "SecretState1", "iss": settings.ISSUER}
    for browser in (Browser(), spa.browser, sign_in(Browser(), make_account())):
        response = browser.get(CALLBACK, query)
        assert is_turned_away(response, "SecretCode1", "SecretState1")
        assert response["Referrer-Policy"] == "no-referrer"
        assert "no-store" in response["Cache-Control"]


@pytest.mark.parametrize(
    "change",
    [
        {"state": "another"},
        {"state": ""},
        {"state": None},
        {"state": ["{state}", "{state}"]},
        {"state": ["another", "{state}"]},
        {"state": ["{state}", "another"]},
        {"state": "{state}\x00"},
        {"state": " {state}"},
        {"iss": None},
        {"iss": "https://evil.example.com/"},
        {"iss": "http://localhost:8000"},
        {"code": ["{code}", "other"]},
        {"code": "{code}\x00"},
        {"code": b"\xff"},
    ],
)
def test_a_modified_response_is_rejected(spa: Playground, change: dict[str, Any]) -> None:
    answer = parameters_of(spa.sign_in(spa.begin("email")))

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(one) for one in value]
        return value.format(**answer) if isinstance(value, str) else value

    changed = {name: filled(value) for name, value in (answer | change).items() if value is not None}
    response = spa.browser.get(f"{CALLBACK}?{urlencode(changed, doseq=True)}")
    assert response.status_code == 400
    assert answer["code"] not in response.content.decode()
    assert stage(spa) == "started"
    # The run still takes its own answer.
    assert spa.browser.get(CALLBACK, answer).status_code == 302


def test_a_response_is_useless_in_another_browser(spa: Playground) -> None:
    """The URL that a developer came back to gives a thief neither the run nor its verifier."""
    answer = parameters_of(spa.sign_in(spa.begin("email")))
    thief = sign_in(Browser(), make_account())
    assert is_turned_away(thief.get(CALLBACK, answer), answer["code"])
    party = RelyingParty(spa.client, thief, redirect_uri=playground_redirect_uri())
    assert party.exchange(answer["code"]).json()["error"] == "invalid_grant"


def test_a_run_ends_when_the_account_changes(spa: Playground) -> None:
    answer = parameters_of(spa.sign_in(spa.begin("email")))
    colleague = make_account()
    ProjectMember.objects.create(project=spa.client.project, account=colleague, role=Role.DEVELOPER)
    spa.browser.post("/account/logout/")
    sign_in(spa.browser, colleague)
    assert is_turned_away(spa.browser.get(CALLBACK, answer), answer["code"])


def test_a_run_in_the_session_counts_for_its_own_person_only(spa: Playground) -> None:
    answer = parameters_of(spa.sign_in(spa.begin("email")))
    session = spa.browser.session
    session["playground"] |= {"account": make_account().pk}
    session.save()
    assert is_turned_away(spa.browser.get(CALLBACK, answer), answer["code"])


def test_a_second_response_is_rejected_and_the_first_can_be_reloaded(spa: Playground) -> None:
    answer = parameters_of(spa.sign_in(spa.begin("email")))
    assert spa.browser.get(CALLBACK, answer).status_code == 302
    assert spa.browser.get(CALLBACK, answer).status_code == 302
    assert is_turned_away(spa.browser.get(CALLBACK, answer | {"code": "AnotherCode9"}), "AnotherCode9")
    error = {"error": "access_denied", "state": answer["state"], "iss": answer["iss"]}
    assert is_turned_away(spa.browser.get(CALLBACK, error))
    assert spa.exchange().context["result"].exchange.status == 200
    assert is_turned_away(spa.browser.get(CALLBACK, answer | {"code": "another"}))


def test_another_persons_code_is_rejected_in_a_run(spa: Playground) -> None:
    """A code that was issued to another app, or with another challenge, can't be slipped in."""
    state = parameters_of(spa.begin("email"))["state"]
    attacker = sign_in(Browser(), make_account("mallory@example.com"))
    theirs = make_client(redirect_uris=playground_redirect_uri())
    code = RelyingParty(theirs, attacker, redirect_uri=playground_redirect_uri()).code()
    assert spa.browser.get(CALLBACK, {"code": code, "state": state, "iss": settings.ISSUER}).status_code == 302
    assert spa.exchange().context["result"].exchange.error == "invalid_grant"

    state = parameters_of(spa.begin("email"))["state"]
    code = RelyingParty(spa.client, attacker, redirect_uri=playground_redirect_uri()).code(state=state)
    assert spa.browser.get(CALLBACK, {"code": code, "state": state, "iss": settings.ISSUER}).status_code == 302
    result = spa.exchange().context["result"]
    assert result.exchange.error == "invalid_grant"
    assert result.tokens == []


def test_a_run_is_exchanged_at_its_own_client_only(spa: Playground, project: Project) -> None:
    spa.go("email")
    neighbour = Playground(make_client(project), spa.browser).open()
    page = neighbour.page()
    assert page.context["run"] is None
    assert neighbour.exchange().status_code == 302
    assert spa.exchange().context["result"].exchange.status == 200


def test_a_member_sees_no_tokens_of_a_person_who_was_lured(spa: Playground, developer: Account) -> None:
    """A developer sends someone the authorization URL of a run: the answer ends in that browser."""
    url = spa.begin("email")
    victim = Playground(spa.client, sign_in(Browser(), make_account("vic@example.com")))
    location = victim.sign_in(url)
    code = parameters_of(location)["code"]
    assert is_turned_away(victim.arrive(location), code)
    assert stage(spa) == "started"


def test_the_page_says_whose_tokens_they_are(spa: Playground, developer: Account) -> None:
    spa.go("email")
    assert developer.email in spa.exchange().context["result"].calls[0].body


# --- Where it leads ---


def test_no_parameter_redirects_elsewhere(spa: Playground) -> None:
    evil = "https://evil.example.com/"
    for name in ("next", "redirect_uri", "return_to", "url", "continue"):
        answer = parameters_of(spa.sign_in(spa.begin("email"))) | {name: evil}
        assert spa.browser.get(CALLBACK, answer)["Location"] == spa.path()
        response = spa.browser.get(CALLBACK, {name: evil})
        assert is_turned_away(response, evil)
    response = spa.browser.post(spa.path("playground_begin"), {"next": evil, "scope": "email"})
    assert response["Location"] == spa.path()


def test_a_code_never_travels_to_the_sign_in_page(spa: Playground) -> None:
    answer = parameters_of(spa.sign_in(spa.begin("email")))
    spa.browser.post("/account/logout/")
    response = spa.browser.get(CALLBACK, answer)
    assert response.status_code == 400
    assert answer["code"] not in str(response.headers)
    unproven = make_account(verified=False)
    browser = Browser()
    browser.force_login(unproven)
    assert answer["code"] not in browser.get(CALLBACK, answer)["Location"]


@pytest.mark.parametrize("method", ["post", "put", "delete", "head", "options"])
def test_answers_by_other_methods_are_refused(spa: Playground, method: str) -> None:
    answer = parameters_of(spa.sign_in(spa.begin("email")))
    assert getattr(spa.browser, method)(f"{CALLBACK}?{urlencode(answer)}").status_code == 405
    assert stage(spa) == "started"


# --- Odd input ---

ODD = ["\x00", "a\x00b", "\ud7ff", "🦊" * 50, "a" * 100_000, "\r\nSet-Cookie: x=y", "%00", "'\"<>", "\u202e", " "]


@pytest.mark.parametrize("text", ODD)
def test_unusual_input_is_no_server_error(text: str, project: Project, developer: Account) -> None:
    client, _ = make_web_client(project)
    playground = Playground(client, sign_in(Browser(), developer)).open()
    assert playground.post("address", wanted=text).status_code in (302, 400)
    playground.open()
    assert playground.post("begin", scope=[text], prompt=text).status_code in (302, 400)
    playground.go("email")
    assert playground.exchange(text).status_code in (200, 400)
    assert playground.exchange("x", once=text).status_code in (302, 400)
    for name in ("code", "state", "iss", "error", "error_description"):
        assert playground.browser.get(CALLBACK, {name: text}).status_code == 400


def test_responses_are_escaped(spa: Playground) -> None:
    state = parameters_of(spa.begin("email"))["state"]
    script = "<script>alert(1)</script>"
    answer = {"error": script, "error_description": script * 100, "state": state, "iss": settings.ISSUER}
    assert spa.browser.get(CALLBACK, answer).status_code == 302
    page = spa.page()
    assert page.status_code == 200
    assert script not in page.content.decode()
    assert len(spa.run["error_description"]) == 500


@pytest.mark.parametrize("proxies", [[], ["10.0.0.0/8"]])
def test_behind_https_its_calls_are_https_and_not_redirected(proxies: list[str], settings: Any, db: None) -> None:
    settings.AUTH_URL = settings.BASE_URL = "https://login.example.com"
    settings.ALLOWED_HOSTS = ["login.example.com"]
    settings.SECURE_SSL_REDIRECT = True
    settings.TRUSTED_PROXIES = proxies
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if proxies else None
    internal_client._handler.cache_clear()
    try:
        assert internal_client.get_endpoint("/v1/me", "nonsense").error == "invalid_token"
        form = {"grant_type": "authorization_code", "code": "x", "redirect_uri": "x", "code_verifier": "x" * 43}
        assert internal_client.request_tokens(form, "nobody").error == "invalid_client"
    finally:
        internal_client._handler.cache_clear()


def test_a_call_does_not_change_the_request_around_it(rf: RequestFactory, db: None) -> None:
    outer = rf.get("/console/", REMOTE_ADDR="203.0.113.9")
    RequestIdMiddleware(lambda request: HttpResponse())(outer)
    before = request_id.current()
    internal_client.get_endpoint("/v1/me", "nonsense")
    assert (request_id.current(), client_ip.current()) == (before, "203.0.113.9")
