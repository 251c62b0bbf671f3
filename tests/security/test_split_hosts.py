"""People, the API and the admin on separate hosts: what does not belong on a host is 404, and changes nothing."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.robotparser import RobotFileParser

import pytest
from django.contrib.auth.models import AbstractBaseUser
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from core.http import hosts, split_hosts
from core.http.direct_dispatch import HEALTH_PATHS
from core.http.host_header import HostMiddleware
from tests.accounts.factors.conftest import give_app
from tests.factories import PASSWORD, make_account, make_project
from tests.totp import totp
from tests.urls import every_url

AUTH, API, ADMIN, INSIDE = "auth.example.com", "api.example.com", "admin.example.com", "inside.example.net"
EVERY_HOST = (
    *("/health/live", "/health/ready", "/static/css/base.css"),
    *("/favicon.ico", "/robots.txt", "/.well-known/security.txt"),
)
HOSTS = (AUTH, API, ADMIN, INSIDE)
EVERYWHERE = "everywhere"
# Where each name of the resolver belongs; what is not listed is for people. "+" is a part besides.
BELONGS = {
    API: {"v1_me", "v1_me_plan", "openapi", "protected_resource", "v1_not_found", "billing_hook", "leak_hook"},
    f"{AUTH}+{ADMIN}": {
        "account_email_verification_sent", "account_closed", "account_inactive", "account_login", "account_logout",
        "account_reauthenticate", "account_sign_in_again", "mfa_activate_totp", "mfa_add_webauthn", "mfa_authenticate",
        "mfa_login_webauthn",
        "mfa_reauthenticate", "mfa_reauthenticate_webauthn", "mfa_view_recovery_codes", "signed_out",
        "staff_second_factor", "account_choose", "account_choose_photo", "account_mailbox_proof",
    },
    EVERYWHERE: {
        "forward_auth", "forward_auth_appended", "health_live", "health_ready", "robots_txt", "security_txt", "None",
    },
}  # fmt: skip
# The parts of the table that regular expressions leave open, and what is no address at all.
BY_HAND = {
    "/v1": API,
    "/v1/": API,
    "/v1/nothing": API,
    "/v1x": AUTH,
    "/.well-known/oauth-protected-resource": API,
    "/.well-known/oauth-protected-resource/api": f"{AUTH}+{API}",
    "/.well-known/oauth-protected-resources": AUTH,
    "/.well-known/oauth-authorization-server": AUTH,
    "/.well-known/openid-configuration/x": AUTH,
    "//.well-known/openid-configuration": AUTH,
    "/.well-known/jwks": AUTH,
    "/admin": ADMIN,
    "/admin/nothing/": ADMIN,
    "/administration": AUTH,
    "/hooks/": AUTH,
    "/nothing": AUTH,
    "//admin/": AUTH,
    "/%61dmin/": ADMIN,
    "/static/css/base.css": EVERYWHERE,
    "/favicon.ico": EVERYWHERE,
}


@pytest.fixture(autouse=True)
def split(settings: Any) -> None:
    settings.AUTH_URL, settings.BASE_URL, settings.ADMIN_URL = (f"https://{host}" for host in (AUTH, API, ADMIN))
    settings.ISSUER = f"https://{AUTH}/"
    settings.ALLOWED_HOSTS = list(HOSTS)
    settings.CSRF_TRUSTED_ORIGINS = [f"https://{host}" for host in (AUTH, API, ADMIN)]
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")


def places() -> Iterator[tuple[str, str]]:
    """Yield every path that is mounted, and where it belongs."""
    for url in every_url():
        if url.name.startswith("admin:"):
            belongs = ADMIN
        else:
            belongs = next((where for where, names in BELONGS.items() if url.name in names), AUTH)
        if "protected_resource" not in url.name:  # a regular expression: by hand
            yield url.example, belongs
    yield from BY_HAND.items()


def ask(host: str, path: str, method: str = "GET", browser: Browser | None = None, **more: Any) -> Any:
    headers = {"Host": host, "X-Forwarded-Proto": "https"} | more.pop("headers", {})
    return getattr(browser or Browser(raise_request_exception=False), method.lower())(path, headers=headers, **more)


# --- What belongs where ---


def test_every_url_of_the_table_exists() -> None:
    mounted = {url.name for url in every_url()}
    assert {name for names in BELONGS.values() for name in names} <= mounted


def test_every_path_has_a_host_rule() -> None:
    every_place = [*places()]
    assert len(every_place) > 100
    for path, belongs in every_place:
        path = path.replace("%61", "a")
        served = {host for host in HOSTS if split_hosts.is_served(host, path)}
        if path.startswith(("/health/", "/connect/forward-auth/")):  # answered before the rules, whatever the Host is
            continue
        expected = set(HOSTS) if belongs == EVERYWHERE else set(belongs.split("+"))
        assert served == expected, path


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the middleware answered itself."""
    seen: list[str] = []
    real = HostMiddleware._elsewhere

    def note(self: HostMiddleware, request: Any, host: str) -> Any:
        seen.append(request.path)
        return real(self, request, host)

    monkeypatch.setattr(HostMiddleware, "_elsewhere", note)
    return seen


@pytest.mark.django_db
@pytest.mark.parametrize("host", HOSTS)
def test_pages_of_other_hosts_are_404_before_anything_changes(host: str) -> None:
    browser = Browser(raise_request_exception=False)
    wrong = []
    with CaptureQueriesContext(connection) as queries:
        for path, belongs in places():
            if belongs == EVERYWHERE or host in belongs or (host, path) == (ADMIN, "/") or path.startswith("//"):
                continue  # Django's test browser reads a host after two slashes
            for method in ("GET", "POST", "OPTIONS"):
                response = ask(host, path, method, browser)
                as_api = response["Content-Type"] == "application/json"
                if response.status_code != 404 or as_api != (host == API) or response.cookies or "Vary" in response:
                    wrong.append((method, path, response.status_code, response["Content-Type"]))
    assert not wrong
    assert [query["sql"] for query in queries.captured_queries] == []


@pytest.mark.django_db
@pytest.mark.parametrize("host", [AUTH, API, ADMIN])
def test_pages_of_the_host_reach_their_view(host: str, refused: list[str]) -> None:
    browser = Browser(raise_request_exception=False)
    for path, belongs in places():
        if (belongs == EVERYWHERE or host in belongs) and not path.startswith("//"):
            assert ask(host, path, browser=browser).status_code < 500, path
    assert refused == []
    ask(host, "/admin/" if host == AUTH else "/console/")
    assert len(refused) == 1


@pytest.mark.django_db
@pytest.mark.parametrize("path", EVERY_HOST)
def test_some_paths_are_on_every_host(path: str, settings: Any) -> None:
    settings.SECURITY_CONTACT = ["security@example.com"]
    for host in HOSTS:
        assert ask(host, path).status_code in (200, 302), host


def test_crawlers_may_read_the_docs_and_nothing_on_other_hosts() -> None:
    def rules(host: str) -> RobotFileParser:
        parser = RobotFileParser()
        parser.parse(ask(host, "/robots.txt").content.decode().splitlines())
        return parser

    for path in ("/", "/docs/", "/docs/errors.md", "/llms.txt", "/apps/shop/"):
        assert rules(AUTH).can_fetch("bot", path), path
    for path in (
        "/console/",
        "/account/login/",
        "/connect/authorize",
        "/admin/",
        "/apps/report/shop",
        "/docs/search?q=a",
    ):
        assert not rules(AUTH).can_fetch("bot", path), path
    for host in (API, ADMIN, INSIDE):
        assert not rules(host).can_fetch("bot", "/docs/"), host


def test_security_txt_is_canonical_where_it_is_read_and_names_no_other_host(settings: Any) -> None:
    settings.SECURITY_CONTACT = ["security@example.com"]
    path = "/.well-known/security.txt"
    for host, names in {AUTH: [AUTH], API: [AUTH, API], ADMIN: [AUTH, ADMIN], INSIDE: [AUTH]}.items():
        lines = ask(host, path).content.decode().splitlines()
        canonical = [line.removeprefix("Canonical: ") for line in lines if line.startswith("Canonical: ")]
        assert canonical == [f"https://{name}{path}" for name in names]


def test_the_api_host_answers_in_the_envelope_of_the_api() -> None:
    refused = ask(API, "/account/login/")
    own = ask(API, "/v1/nothing")
    for answer in (refused, own):
        assert answer.json() == {"error": {"code": "not_found", "message": "There is no such endpoint."}}
        assert {"Link", "X-Request-ID"} <= {*answer["Access-Control-Expose-Headers"].split(", ")}
    assert refused["Link"] == own["Link"]
    assert refused["Access-Control-Allow-Origin"] == "*"
    assert "no-store" in refused["Cache-Control"]
    assert refused["X-Request-ID"]


@pytest.mark.parametrize("host", [AUTH, ADMIN, INSIDE])
def test_other_hosts_answer_with_a_page_that_names_no_host(host: str) -> None:
    path = "/admin/" if host == AUTH else "/console/"
    page = ask(host, path)
    assert page.status_code == 404
    assert "Page not found" in page.content.decode()
    assert "default-src 'none'" in page["Content-Security-Policy"]
    assert ADMIN not in page.content.decode()
    assert "no-store" in page["Cache-Control"]


# --- Spellings ---


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("ADMIN.example.com", 404),
        ("admin.example.com.", 404),
        ("admin.example.com:443", 404),
        ("Admin.Example.Com.:443", 404),
        ("admin.example.com:8443", 400),
        ("admin.example.com:", 400),
        ("auth.example.com, admin.example.com", 400),
        ("auth.example.com@admin.example.com", 400),
        ("admin.example.com/auth.example.com", 400),
        ("AUTH.example.com.:443", 200),
    ],
)
def test_a_host_in_another_spelling_is_the_same_host(host: str, status: int) -> None:
    assert ask(host, "/docs/").status_code == status
    if status == 404:
        assert ask(host, "/admin/").status_code == 302


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["X-Forwarded-Host", "X-Host", "Forwarded", "X-Original-Host", "X-Original-URL"])
def test_no_other_header_names_the_host(name: str) -> None:
    for value in (ADMIN, f"host={ADMIN}", "/admin/"):
        assert ask(AUTH, "/admin/", headers={name: value}).status_code == 404
        assert ask(AUTH, "/docs/", headers={name: value}).status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize("same", ["http://localhost:8000", "https://one.example.com"])
def test_a_single_host_serves_everything(settings: Any, same: str) -> None:
    settings.AUTH_URL = settings.BASE_URL = settings.ADMIN_URL = same
    settings.ALLOWED_HOSTS = [urlsplit(same).hostname, INSIDE]
    for host in (urlsplit(same).netloc, INSIDE):
        assert ask(host, "/docs/").status_code == 200
        assert ask(host, "/v1/me").status_code == 401
        assert ask(host, "/admin/").status_code == 302
        assert ask(host, "/").status_code == 200


@pytest.mark.django_db
def test_two_of_three_services_can_share_a_host(settings: Any) -> None:
    settings.ADMIN_URL = ""  # AUTH_URL's
    assert ask(AUTH, "/admin/").status_code == 302
    assert ask(AUTH, "/docs/").status_code == 200
    assert (
        ask(AUTH, "/v1/me").status_code == ask(API, "/admin/").status_code == ask(ADMIN, "/admin/").status_code == 404
    )
    settings.BASE_URL, settings.ADMIN_URL = settings.AUTH_URL, f"https://{ADMIN}"
    assert ask(AUTH, "/v1/me").status_code == 401
    assert ask(AUTH, "/docs/").status_code == 200
    refused = ask(AUTH, "/admin/")
    assert (refused.status_code, refused["Content-Type"]) == (404, "text/html; charset=utf-8")


# --- Documents and calls that lead from one host to another ---


def test_documents_name_the_hosts_that_answer() -> None:
    discovery = ask(AUTH, "/.well-known/openid-configuration").json()
    urls = [url for name, url in discovery.items() if name.endswith(("_endpoint", "_uri"))]
    assert urls
    assert {urlsplit(url).netloc for url in urls} == {AUTH}
    resource = ask(API, "/.well-known/oauth-protected-resource").json()
    assert resource["resource"] == f"https://{API}"
    assert resource["resource_documentation"] == f"https://{AUTH}/docs/api/"


@pytest.mark.django_db
def test_the_challenge_of_the_api_leads_to_its_own_host() -> None:
    challenge = ask(API, "/v1/me")["WWW-Authenticate"]
    (metadata,) = re.findall(r'resource_metadata="([^"]*)"', challenge)
    assert urlsplit(metadata).netloc == API
    assert ask(API, urlsplit(metadata).path).status_code == 200


@pytest.mark.django_db
def test_the_page_to_try_the_api_names_its_host(settings: Any) -> None:
    page = ask(AUTH, "/docs/api/")
    assert API not in page["Content-Security-Policy"], "the service calls it, not the page"
    assert f"https://{API}/v1/me" in page.content.decode()
    assert f"https://{API}/v1/openapi.json" in page.content.decode()
    document = ask(API, "/v1/openapi.json", headers={"Origin": f"https://{AUTH}"})
    assert document["Access-Control-Allow-Origin"] == "*"
    preflight = ask(API, "/v1/me", "OPTIONS", headers={"Access-Control-Request-Method": "GET"})
    assert preflight.status_code == 204


# --- The admin's own host ---


def sign_in(browser: Browser, path: str = "/admin/") -> Any:
    """Go to a page of the admin as someone who is not signed in, and sign in there."""
    sent = ask(ADMIN, path, browser=browser)
    login = urlsplit(sent["Location"])
    assert (login.netloc, login.path) in {("", "/account/login/"), ("", "/admin/login/")}
    page = ask(ADMIN, sent["Location"], browser=browser, follow=True)
    token = re.findall(r'name="csrfmiddlewaretoken" value="([^"]*)"', page.content.decode())[0]
    given = {"login": "operator@example.com", "password": PASSWORD, "csrfmiddlewaretoken": token, "next": path}
    headers = {"Origin": f"https://{ADMIN}"}
    return ask(ADMIN, "/account/login/", "POST", browser, data=given, headers=headers)


@pytest.fixture
def operator(db: None) -> AbstractBaseUser:
    account = make_account("operator@example.com")
    Account.objects.filter(pk=account.pk).update(is_staff=True, is_superuser=True)
    return account


def links(page: Any) -> set[str]:
    """Return where a page leads: its links, forms and files."""
    html = page.content.decode()
    found = re.findall(r"""<(?:a|link|img|script|form)\b[^>]*?(?:href|src|action)=["']([^"'#]+)""", html)
    return {address.replace("&amp;", "&") for address in found if not address.startswith(("data:", "mailto:", "?"))}


def leads_nowhere(host: str, page: Any, browser: Browser) -> list[str]:
    """Return the links of a page that the host they lead to does not serve."""
    wrong = []
    for address in links(page):
        parts = urlsplit(address)
        if not parts.path.startswith("/") or parts.netloc not in ("", *HOSTS):
            continue
        target = parts.netloc or host
        if parts.path in HEALTH_PATHS:  # these answer everywhere
            continue
        if not split_hosts.is_served(target, parts.path) and not (target == ADMIN and parts.path == "/"):
            wrong.append(address)
    return wrong


def test_an_operator_signs_in_on_the_admin_host_and_out_again(operator: Account) -> None:
    browser = Browser(enforce_csrf_checks=True)
    done = sign_in(browser)
    assert (done.status_code, done["Location"]) == (302, "/admin/")
    assert done.cookies["openport_session"]["domain"] == ""  # of this host alone
    index = ask(ADMIN, "/admin/", browser=browser)
    assert index.status_code == 200
    assert leads_nowhere(ADMIN, index, browser) == []
    assert f'href="https://{AUTH}/account/"' in index.content.decode()
    page = ask(ADMIN, "/account/logout/", browser=browser)
    assert leads_nowhere(ADMIN, page, browser) == []
    token = re.findall(r'name="csrfmiddlewaretoken" value="([^"]*)"', page.content.decode())[0]
    data = {"csrfmiddlewaretoken": token}
    headers = {"Origin": f"https://{ADMIN}"}
    out = ask(ADMIN, "/account/logout/", "POST", browser, data=data, headers=headers)
    assert out["Location"] == "/connect/signed-out"
    page = ask(ADMIN, out["Location"], browser=browser)
    assert page.status_code == 200
    assert leads_nowhere(ADMIN, page, browser) == []
    assert ask(ADMIN, "/admin/", browser=browser).status_code == 302


def test_a_form_of_the_admin_host_takes_no_other_origin(operator: Account) -> None:
    browser = Browser(enforce_csrf_checks=True)
    sign_in(browser)
    forged = ask(ADMIN, "/account/logout/", "POST", browser, headers={"Origin": f"https://{AUTH}"})
    assert forged.status_code == 403


def test_signing_in_on_the_admin_host_leads_to_the_admin(operator: Account) -> None:
    browser = Browser()
    given = {"login": "operator@example.com", "password": PASSWORD}
    done = ask(ADMIN, "/account/login/", "POST", browser, data=given)
    assert done["Location"] == "/admin/"
    assert ask(ADMIN, "/", browser=browser)["Location"] == "/admin/"


@pytest.mark.parametrize(
    "wanted", ["https://evil.example.com/", f"https://{AUTH}/console/", "//evil.example.com/admin/"]
)
def test_redirects_after_sign_in_stay_on_the_admin_host(operator: Account, wanted: str) -> None:
    given = {"login": "operator@example.com", "password": PASSWORD, "next": wanted}
    done = ask(ADMIN, "/account/login/", "POST", Browser(), data=given)
    assert done["Location"] == "/admin/"


@pytest.mark.parametrize("wanted", ["@evil.example.com/", ".evil.example.com", ":443@evil.example.com", "evil"])
def test_redirects_after_the_second_factor_stay_on_the_service(operator: Account, settings: Any, wanted: str) -> None:
    settings.ADMIN_SECOND_FACTOR = True
    secret, browser = give_app(operator), Browser()
    ask(ADMIN, "/account/login/", "POST", browser, data={"login": "operator@example.com", "password": PASSWORD})
    ask(ADMIN, "/account/2fa/authenticate/", "POST", browser, data={"code": totp(secret)})
    answer = ask(ADMIN, f"/account/2fa/staff/?{urlencode({'next': wanted})}", browser=browser)
    assert (answer.status_code, answer["Location"]) == (302, "/admin/")


def test_the_sign_in_page_of_the_admin_host_offers_what_works_there() -> None:
    page = ask(ADMIN, "/account/login/?next=/admin/")
    html = page.content.decode()
    assert leads_nowhere(ADMIN, page, Browser()) == []
    assert f'href="https://{AUTH}/account/password/reset/"' in html
    assert "Create an account" not in html
    assert "passkey" not in html
    at_home = ask(AUTH, "/account/login/").content.decode()
    assert "Sign in with a passkey" in at_home
    assert "Create an account" in at_home


@pytest.mark.django_db
def test_passkeys_belong_to_the_domain_of_people(rf: Any, settings: Any) -> None:
    def at(host: str) -> Any:
        return rf.get("/", headers={"Host": host})

    assert hosts.rp_id(at(AUTH)) == AUTH
    assert not hosts.work_on(at(ADMIN))
    settings.AUTH_URL = "https://example.com"
    settings.ALLOWED_HOSTS.append("example.com")
    assert hosts.rp_id(at(ADMIN)) == "example.com"
    assert hosts.work_on(at(ADMIN))
    settings.ADMIN_URL = "https://evilexample.com"
    settings.ALLOWED_HOSTS.append("evilexample.com")
    assert hosts.rp_id(at("evilexample.com")) == "evilexample.com"
    assert not hosts.work_on(at("evilexample.com"))


def test_links_lead_to_the_right_host(operator: Account) -> None:
    browser = Browser()
    given = {"login": "operator@example.com", "password": PASSWORD}
    ask(AUTH, "/account/login/", "POST", browser, data=given)
    project = make_project(operator)
    for path in ("/", "/account/", "/console/", f"/console/p/{project.public_id}/", "/docs/", "/docs/developer-api/me"):
        page = ask(AUTH, path, browser=browser)
        assert page.status_code == 200, path
        assert leads_nowhere(AUTH, page, browser) == [], path
    assert f"https://{API}/v1/openapi.json" in ask(AUTH, "/docs/", browser=browser).content.decode()


def test_error_pages_on_the_admin_host_have_a_link(operator: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Browser(raise_request_exception=False)
    sign_in(browser)
    monkeypatch.setattr("core.admin.site.ServiceAdminSite.has_permission", lambda *_: 1 / 0)
    page = ask(ADMIN, "/admin/", browser=browser)
    assert page.status_code == 500
    assert leads_nowhere(ADMIN, page, browser) == []
