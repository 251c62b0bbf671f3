"""The page of ready-made applications: applications that run with the settings that it shows."""

import contextlib
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

from tests.clients.ended_sessions import delivered, sign_out
from tests.clients.terminal import Shown
from tests.guides import keycloak
from tests.guides.journey import leaves
from tests.guides.packages import install_application, pinned, pinned_application
from tests.guides.reading import READY_SECONDS, OpenGuide, needs
from tests.guides.runs import record_run
from tests.guides.tokens import latest_session
from tests.services import keeper, node, postgres

pytestmark = pytest.mark.slow
record = partial(record_run, "applications", is_part=True)

OAUTH2_PROXY = "7.15.6"
MINIFLUX = "2.3.5"
CLIENT_API = "/_matrix/client/v3"
PLACEHOLDER = "https://app.example.com"  # the page says to replace it


def open_page(guide: Callable[..., OpenGuide], callback: str, logout: str = "", signed_out: str = "/") -> OpenGuide:
    """Register an application at a free port of this machine, and open the page."""
    port = keeper.free_port()
    origin = f"http://localhost:{port}"
    urls = {"redirect_uris": [f"{origin}{callback}"], "post_logout_redirect_uris": [f"{origin}{signed_out}"]}
    backchannel = {"backchannel_logout_uri": f"{origin}{logout}"} if logout else {}
    app = guide("applications", port=port, **urls, **backchannel)
    app.person.browser.event_hooks["response"].append(lambda _: use_cookies_without_https(app.person.browser))
    return app


def use_cookies_without_https(browser: httpx.Client) -> None:
    """Let all cookies be sent without https, as browsers do for localhost."""
    for cookie in browser.cookies.jar:
        cookie.secure = False


def shown(app: OpenGuide, is_meant: Callable[[Shown], bool]) -> str:
    """Return a block of the page for this application."""
    return next(block.code for block in app.blocks if is_meant(block)).replace(PLACEHOLDER, app.origin)


def shown_file(app: OpenGuide, name: str) -> str:
    """Return a file of the page for this application."""
    return f"{shown(app, lambda block: block.file == name)}\n"


def run_application(app: OpenGuide, programs: Path, command: str, **settings: str) -> None:
    """Start an application with the client secret in its environment, as the page says."""
    path = f"{programs}{os.pathsep}{app.environment['PATH']}"
    app.run(command, PATH=path, CLIENT_SECRET=app.client["client_secret"], **settings)


def install(app: OpenGuide, package: str) -> None:
    """Install a program in the folder. The first build of a machine takes minutes."""
    app.finish(f"go install {package}", GOBIN=str(app.folder), GOFLAGS="-p=2")


def arrive(app: OpenGuide, url: str) -> httpx.Response:
    """Sign in at a URL of the service, and return the application's page to which this leads."""
    arrived_at = app.person.go(url)
    page = app.person.browser.get(arrived_at, follow_redirects=True)
    assert page.status_code < 400, f"{page.url}\n{page.text[:2000]}\n{app.log.read_text()[-2000:]}"
    return page


def wait_until_ready(app: OpenGuide, path: str) -> None:
    """Wait until the application answers, because its port is open before."""
    deadline = time.monotonic() + READY_SECONDS
    while not httpx.get(f"{app.origin}{path}", timeout=READY_SECONDS).is_success:
        assert time.monotonic() < deadline, app.log.read_text()[-2000:]
        time.sleep(0.1)


@pytest.mark.node
def test_jupyterhub(guide: Callable[..., OpenGuide]) -> None:
    programs = install_application("jupyterhub")
    proxy = Path(__file__).parent / "jupyterhub"
    app = open_page(guide, "/hub/oauth_callback")
    (app.folder / "node_modules").symlink_to(node.install(proxy))
    hub, api = keeper.free_port(), keeper.free_port()
    settings = {
        "JupyterHub.bind_url": f"http://127.0.0.1:{app.port}",
        "JupyterHub.hub_port": hub,
        "ConfigurableHTTPProxy.api_url": f"http://127.0.0.1:{api}",
        "ConfigurableHTTPProxy.should_start": False,  # the hub would start it as a daemon, which outlives the test
    }
    lines = [f"c.{name} = {value!r}\n" for name, value in settings.items()]
    (app.folder / "jupyterhub_config.py").write_text(shown_file(app, "jupyterhub_config.py") + "".join(lines))
    start_proxy = f"node_modules/.bin/configurable-http-proxy --ip=127.0.0.1 --port={app.port} --api-port={api}"
    command = f"{start_proxy} --default-target=http://127.0.0.1:{hub} & exec jupyterhub"
    run_application(app, programs, command, CONFIGPROXY_AUTH_TOKEN=secrets.token_hex())
    wait_until_ready(app, "/hub/health")
    assert app.person.email in arrive(app, leaves(app, "/hub/oauth_login?next=/hub/home")).text
    record(pinned_application("jupyterhub", "jupyterhub", "oauthenticator") | pinned(proxy, "configurable-http-proxy"))


def test_pgadmin(guide: Callable[..., OpenGuide]) -> None:
    programs = install_application("pgadmin")
    app = open_page(guide, "/oauth2/authorize")
    addresses = {"DATA_DIR": str(app.folder / "data"), "DEFAULT_SERVER_PORT": app.port}
    lines = [f"{name} = {value!r}\n" for name, value in addresses.items()]
    (app.folder / "config_local.py").write_text(shown_file(app, "config_local.py") + "".join(lines))
    owner = {"PGADMIN_SETUP_EMAIL": "owner@example.com", "PGADMIN_SETUP_PASSWORD": secrets.token_urlsafe()}
    run_application(app, programs, "pgadmin4", PYTHONPATH=str(app.folder), **owner)
    browser = app.person.browser
    token = re.search(r'"csrfToken": "([^"]+)"', browser.get(f"{app.origin}/login").text)
    assert token
    pressed = {"csrf_token": token[1], "oauth2_button": "service"}
    left = browser.post(f"{app.origin}/authenticate/login", data=pressed)
    arrive(app, left.headers["Location"])
    assert f"username: '{app.person.email}'" in browser.get(f"{app.origin}/browser/js/utils.js").text
    record(pinned_application("pgadmin", "pgadmin4"))


def test_synapse(guide: Callable[..., OpenGuide]) -> None:
    programs = install_application("synapse")
    app = open_page(guide, "/_synapse/client/oidc/callback", "/_synapse/client/oidc/backchannel_logout")
    secret = app.folder / "client_secret"
    secret.write_text(app.client["client_secret"])
    settings = f"""
server_name: localhost
public_baseurl: {app.origin}/
listeners: [{{port: {app.port}, bind_addresses: [127.0.0.1], type: http, resources: [{{names: [client]}}]}}]
database: {{name: sqlite3, args: {{database: homeserver.db}}}}
media_store_path: media
signing_key_path: signing.key
macaroon_secret_key: {secrets.token_hex()}
trusted_key_servers: []
report_stats: false
"""
    shown_settings = shown_file(app, "homeserver.yaml").replace("/etc/matrix-synapse/client_secret", str(secret))
    (app.folder / "homeserver.yaml").write_text(shown_settings + settings)
    synapse = "python -m synapse.app.homeserver --config-path=homeserver.yaml"
    run_application(app, programs, f"{synapse} --generate-keys && exec {synapse}")

    browser = app.person.browser
    start = f"{CLIENT_API}/login/sso/redirect/oidc-service?redirectUrl={app.origin}/app"
    page = arrive(app, leaves(app, start))  # asks for a user name, and shows the claims
    assert app.person.email in page.text
    assert "Ada Lovelace" in page.text
    chosen = {"username": "ada", "use_display_name": "true", "use_email": app.person.email}
    page = browser.post(page.url, data=chosen, follow_redirects=True)
    token = re.search(r"loginToken=([^\"&]+)", f"{page.url} {page.text}")
    assert token, page.text[:3000]
    session = browser.post(f"{app.origin}{CLIENT_API}/login", json={"type": "m.login.token", "token": token[1]}).json()
    bearer = {"Authorization": f"Bearer {session['access_token']}"}
    whoami = partial(httpx.get, f"{app.origin}{CLIENT_API}/account/whoami", headers=bearer)
    assert whoami().json()["user_id"] == "@ada:localhost"
    emails = httpx.get(f"{app.origin}{CLIENT_API}/account/3pid", headers=bearer).json()["threepids"]
    assert [each["address"] for each in emails] == [app.person.email]

    with delivered(app.service, app.client["client_id"], "logout"):
        sign_out(app.person)
    assert whoami().status_code == 401
    record(pinned_application("synapse", "matrix-synapse"))


@needs("go")
def test_oauth2_proxy(guide: Callable[..., OpenGuide]) -> None:
    app = open_page(guide, "/oauth2/callback")
    install(app, f"github.com/oauth2-proxy/oauth2-proxy/v7@v{OAUTH2_PROXY}")
    (app.folder / "client_secret").write_text(app.client["client_secret"])
    (app.folder / "cookie_secret").write_text(secrets.token_hex(16))
    command = shown(app, lambda block: block.code.startswith("oauth2-proxy ")).replace(
        "http://127.0.0.1:8080/", "static://200"
    )
    # https, which this test does not have, is the default.
    app.run(f"./{command} --cookie-secure=false --http-address=127.0.0.1:{app.port}")
    arrive(app, leaves(app, "/oauth2/start?rd=/"))
    assert app.person.browser.get(f"{app.origin}/oauth2/userinfo").json()["email"] == app.person.email

    app.close()
    app.person.browser.cookies.clear()
    without = command.replace("--code-challenge-method=S256", "--skip-jwt-bearer-tokens=false")
    app.run(f"./{without} --cookie-secure=false --http-address=127.0.0.1:{app.port}")
    assert "code_challenge" in app.person.go(leaves(app, "/oauth2/start?rd=/"))
    record({"oauth2-proxy": OAUTH2_PROXY})


@needs("go")
@pytest.mark.skipif(postgres.find_programs() is None, reason="no PostgreSQL on this machine")
def test_miniflux(guide: Callable[..., OpenGuide]) -> None:
    app = open_page(guide, "/oauth2/oidc/callback")
    install(app, f"miniflux.app/v2@v{MINIFLUX}")
    secret = app.folder / "miniflux.secret"
    secret.write_text(app.client["client_secret"])
    settings = shown_file(app, "miniflux.env").replace("/etc/miniflux.secret", str(secret))
    (app.folder / "miniflux.env").write_text(settings)
    addresses = {"BASE_URL": app.origin, "LISTEN_ADDR": f"127.0.0.1:{app.port}", "RUN_MIGRATIONS": "1"}
    with postgres.cluster() as database, database.running():
        addresses["DATABASE_URL"] = f"{database.url}/postgres?sslmode=disable"
        app.run("exec ./miniflux.app -config-file miniflux.env", **addresses)
        arrive(app, leaves(app, "/oauth2/oidc/redirect"))
        assert app.person.email in app.person.browser.get(f"{app.origin}/settings").text
        app.close()
    record({"miniflux": MINIFLUX})


@needs("java", "mvn")
def test_keycloak_as_a_broker(guide: Callable[..., OpenGuide]) -> None:
    programs = keycloak.install()
    realm = "/realms/example"
    endpoint, protocol = f"{realm}/broker/service/endpoint", f"{realm}/protocol/openid-connect"
    app = open_page(guide, endpoint, f"{protocol}/logout/backchannel-logout", f"{endpoint}/logout_response")
    run_application(app, programs, keycloak.start_command(app.folder, app.port), **keycloak.ENVIRONMENT)
    provider = json.loads(shown_file(app, "service.json").replace("…", app.client["client_secret"]))
    callback = f"{app.origin}{realm}"
    client = {"clientId": "app", "publicClient": True, "redirectUris": [callback]}
    with keycloak_admin(app) as admin:
        created = [
            admin.post("/admin/realms", json={"realm": "example", "enabled": True, "clients": [client]}),
            admin.post("/admin/realms/example/identity-provider/instances", json=provider),
        ]
    assert [response.status_code for response in created] == [201, 201], [each.text for each in created]

    asked = {"client_id": "app", "redirect_uri": callback, "response_type": "code", "scope": "openid email"}
    start = f"{protocol}/auth?{urlencode(asked | {'kc_idp_hint': 'service'})}"
    tokens = keycloak_tokens(app, arrive(app, leaves(app, start)), protocol)
    userinfo = partial(httpx.get, f"{app.origin}{protocol}/userinfo", timeout=READY_SECONDS)
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    person = userinfo(headers=bearer).json()
    assert (person["email"], person["email_verified"]) == (app.person.email, True)
    with keycloak_admin(app) as admin:
        identities = admin.get(f"/admin/realms/example/users/{person['sub']}/federated-identity").json()
    assert [each["userId"] for each in identities] == [latest_session(app.service, app.client["client_id"])[0]]

    with delivered(app.service, app.client["client_id"], "logout"):
        sign_out(app.person)
    assert userinfo(headers=bearer).status_code == 401

    tokens = keycloak_tokens(app, arrive(app, leaves(app, start)), protocol)
    left = leaves(app, f"{protocol}/logout?{urlencode({'id_token_hint': tokens['id_token']})}")
    assert "/endpoint/logout_response?" in app.person.go(left)
    record({"keycloak": keycloak.VERSION})


@contextlib.contextmanager
def keycloak_admin(app: OpenGuide) -> Iterator[httpx.Client]:
    """Yield a client for Keycloak's admin API."""
    granted = httpx.post(
        f"{app.origin}/realms/master/protocol/openid-connect/token",
        data={"grant_type": "client_credentials"} | keycloak.ADMIN,
        timeout=READY_SECONDS,
    ).json()
    bearer = {"Authorization": f"Bearer {granted['access_token']}"}
    with httpx.Client(base_url=app.origin, headers=bearer, timeout=READY_SECONDS) as admin:
        yield admin


def keycloak_tokens(app: OpenGuide, page: httpx.Response, protocol: str) -> dict[str, str]:
    """Return Keycloak's tokens for the code that it sent to its own client."""
    callback = page.url.copy_with(query=None)
    granted = {"grant_type": "authorization_code", "client_id": "app", "redirect_uri": str(callback)}
    code = page.url.params.get("code")
    assert code, f"{page.url}\n{page.text[:2000]}"
    response = httpx.post(f"{app.origin}{protocol}/token", data=granted | {"code": code}, timeout=READY_SECONDS)
    assert response.is_success, response.text
    tokens: dict[str, str] = response.json()
    return tokens
