"""The proxies of deploy/ on loopback ports: Caddy creates its own certificates, the others get generated ones."""

import contextlib
import json
import os
import re
import shutil
import socket
import ssl
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.services import keeper
from tests.services.podman import run

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
HOSTS = {name: f"{name}.localhost" for name in ("auth", "api", "admin")}
API_HOST = "calendar.localhost"  # of the company's own API in the configurations of forward authentication


def why_missing() -> str | None:
    """Return why the proxies can't be started here, or None if they can."""
    absent = [name for name in ("caddy", "nginx", "openssl") if shutil.which(name) is None]
    return f"no {' and no '.join(absent)} on the PATH" if absent else None


def is_there(name: str) -> bool:
    """Return whether one of BEFORE_API can be started here."""
    return packaged(name) is not None


def skip_without(name: str) -> None:
    """Skip the test if one of BEFORE_API is missing. With CI=true it fails."""
    if not is_there(name):
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"no {name} on the PATH")


def packaged(name: str) -> str | None:
    """Return the path of Traefik or Envoy, which a Python package installs, None if it is missing."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name)


@dataclass
class Proxy:
    """A running proxy: its ports, the authority of its certificates, and its logs."""

    http: int
    https: int
    authority: Path
    home: Path
    hosts: tuple[str, ...] = tuple(HOSTS.values())

    def address(self, name: str) -> str:
        """Return the public URL of one of HOSTS."""
        return f"https://{HOSTS[name]}:{self.https}"

    def logged(self) -> str:
        """Return the content of all its logs."""
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.home.glob("*log")))

    def connect(self, protocol: str = "http/1.1") -> ssl.SSLSocket:
        """Return a connection to the first host, for requests byte by byte."""
        context = ssl.create_default_context(cafile=str(self.authority))
        context.set_alpn_protocols([protocol])
        plain = socket.create_connection(("127.0.0.1", self.https))
        return context.wrap_socket(plain, server_hostname=self.hosts[0])

    def transport(self, limits: httpx.Limits = httpx.Limits()) -> httpx.HTTPTransport:  # noqa: B008  # is not changed
        """Return a transport for httpx that connects to HOSTS on loopback and trusts this proxy's certificates."""
        return Loopback(verify=ssl.create_default_context(cafile=str(self.authority)), limits=limits)


class Loopback(httpx.HTTPTransport):
    """Sends every request to 127.0.0.1, because not every system resolves names below localhost."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        there = httpx.Request(
            request.method,
            request.url.copy_with(host="127.0.0.1"),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": request.url.host},
        )
        return super().handle_request(there)


@contextlib.contextmanager
def caddy(upstream: int, https: int | None = None) -> Iterator[Proxy]:
    """Yield Caddy with deploy/Caddyfile, in front of a loopback port."""
    with keeper.folder() as home:
        authority = home / "caddy" / "pki" / "authorities" / "local" / "root.crt"
        proxy = Proxy(keeper.free_port(), https or keeper.free_port(), authority, home)
        hosts = {f"{name.upper()}_HOST": host for name, host in HOSTS.items()}
        with _run_caddy(proxy, "Caddyfile", hosts | {"UPSTREAM": f"127.0.0.1:{upstream}", **_older_option()}):
            yield proxy


@contextlib.contextmanager
def caddy_before_api(service: int, api: int) -> Iterator[Proxy]:
    """Yield Caddy with deploy/Caddyfile-forward-auth, in front of an API and the service on loopback ports."""
    with keeper.folder() as home:
        authority = home / "caddy" / "pki" / "authorities" / "local" / "root.crt"
        proxy = Proxy(keeper.free_port(), keeper.free_port(), authority, home, (API_HOST,))
        upstreams = {"API_UPSTREAM": f"127.0.0.1:{api}", "AUTH_UPSTREAM": f"127.0.0.1:{service}"}
        with _run_caddy(proxy, "Caddyfile-forward-auth", {"API_HOST": API_HOST, "API_SLUG": "calendar"} | upstreams):
            yield proxy


@contextlib.contextmanager
def _run_caddy(proxy: Proxy, config: str, variables: dict[str, str]) -> Iterator[None]:
    ports = {"HTTP_PORT": str(proxy.http), "HTTPS_PORT": str(proxy.https)}
    folders = dict.fromkeys(("XDG_DATA_HOME", "XDG_CONFIG_HOME"), str(proxy.home))
    environment = os.environ | ports | folders | variables
    settings = [f"{name}={value}" for name, value in environment.items() if "\n" not in value]
    command = ["env", "-i", *settings, "caddy", "run", "--config", str(DEPLOY / config)]
    with keeper.running([*command, "--adapter", "caddyfile"], proxy.home, lambda: _is_ready(proxy)):
        yield


def _older_option() -> dict[str, str]:
    """Return the variables that deploy/Caddyfile needs before Caddy 2.6.4."""
    version = re.match(r"v?(\d+)\.(\d+)\.(\d+)", run(["caddy", "version"]).stdout)
    is_older = version is not None and tuple(map(int, version.groups())) < (2, 6, 4)
    return {"REQUEST_BUFFERING": "buffer_requests"} if is_older else {}


@contextlib.contextmanager
def nginx(upstream: int, changes: dict[str, str] | None = None) -> Iterator[Proxy]:
    """Yield nginx with deploy/nginx.conf and further changes, in front of a loopback port."""
    with keeper.folder() as home:
        proxy = Proxy(keeper.free_port(), keeper.free_port(), home / "fullchain.pem", home)
        main = nginx_files(proxy, upstream, changes or {})
        with keeper.running(["nginx", "-c", str(main)], home, lambda: _is_ready(proxy)):
            yield proxy


@contextlib.contextmanager
def nginx_before_api(service: int, api: int) -> Iterator[Proxy]:
    """Yield nginx with deploy/nginx-forward-auth.conf, in front of an API and the service on loopback ports."""
    with keeper.folder() as home:
        proxy = Proxy(keeper.free_port(), keeper.free_port(), home / "fullchain.pem", home, (API_HOST,))
        changes = _changes(proxy, service, api, "nginx") | _http_2()
        changes["listen 443 "] = f"listen 127.0.0.1:{proxy.https} "
        files = _nginx_files(proxy, "nginx-forward-auth.conf", changes)
        with keeper.running(["nginx", "-c", str(files)], home, lambda: _is_ready(proxy)):
            yield proxy


@contextlib.contextmanager
def traefik_before_api(service: int, api: int) -> Iterator[Proxy]:
    """Yield Traefik with deploy/traefik-forward-auth.yaml, in front of an API and the service on loopback ports."""
    with keeper.folder() as home:
        proxy = Proxy(keeper.free_port(), keeper.free_port(), home / "fullchain.pem", home, (API_HOST,))
        dynamic = _write(proxy, "traefik-forward-auth.yaml", _changes(proxy, service, api, "traefik"))
        entry = {"websecure": {"address": f"127.0.0.1:{proxy.https}"}}
        static = {"entryPoints": entry, "providers": {"file": {"filename": str(dynamic)}}}
        (home / "static.yaml").write_text(json.dumps(static), encoding="utf-8")  # YAML includes JSON
        command = [str(packaged("traefik")), f"--configfile={home}/static.yaml"]
        with keeper.running(command, home, lambda: _is_ready(proxy)):
            yield proxy


@contextlib.contextmanager
def envoy_before_api(service: int, api: int) -> Iterator[Proxy]:
    """Yield Envoy with deploy/envoy-forward-auth.yaml, in front of an API and the service on loopback ports."""
    with keeper.folder() as home:
        proxy = Proxy(keeper.free_port(), keeper.free_port(), home / "fullchain.pem", home, (API_HOST,))
        changes = _changes(proxy, service, api, "envoy")
        listener = {"address: 0.0.0.0, port_value: 443": f"address: 127.0.0.1, port_value: {proxy.https}"}
        ports = {f"port_value: {port}": f"port_value: {ours}" for port, ours in ((3100, api), (8000, service))}
        del changes["127.0.0.1:3100"]
        config = _write(proxy, "envoy-forward-auth.yaml", changes | listener | ports)
        command = [str(packaged("envoy")), "-c", str(config), "--disable-hot-restart", "--concurrency", "1"]
        with keeper.running(command, home, lambda: _is_ready(proxy)):
            yield proxy


# Each proxy with its configuration of deploy/ for forward authentication. A missing one is skipped by its name.
BEFORE_API = {
    "caddy": caddy_before_api,
    "envoy": envoy_before_api,
    "nginx": nginx_before_api,
    "traefik": traefik_before_api,
}


def _changes(proxy: Proxy, service: int, api: int, folder: str) -> dict[str, str]:
    """Return what to replace in a configuration for forward authentication."""
    return {
        "127.0.0.1:3100": f"127.0.0.1:{api}",
        "127.0.0.1:8000": f"127.0.0.1:{service}",
        ".example.com": ".localhost",
        f"/etc/{folder}/calendar/": f"{proxy.home}/",
    }


def nginx_files(proxy: Proxy, upstream: int, further: dict[str, str]) -> Path:
    """Write deploy/nginx.conf with other names, ports and paths, and a file that includes it; return that file."""
    return _nginx_files(proxy, "nginx.conf", further | _portal_changes(proxy, upstream) | _http_2())


def why_not_in_nginx(main: int | None) -> str:
    """Return what nginx says against deploy/'s files in the main file of a Debian, or without one in the installed."""
    with keeper.folder() as home:
        proxy = Proxy(keeper.free_port(), keeper.free_port(), home / "fullchain.pem", home)
        listens = {"listen 443 ": f"listen 127.0.0.1:{proxy.https} "}
        files = {
            "nginx.conf": _portal_changes(proxy, 8000),
            "nginx-forward-auth.conf": {"/etc/nginx/calendar/": f"{home}/"} | listens,
        }
        (home / "conf.d").mkdir()
        for config, changes in files.items():
            _write(proxy, config, changes).rename(home / "conf.d" / config)
        text = _main(home, main) if main else Path("/etc/nginx/nginx.conf").read_text(encoding="utf-8")
        for old, new in (("/etc/nginx/conf.d", f"{home}/conf.d"), ("/var/log/nginx", str(home)), ("/run/", f"{home}/")):
            text = text.replace(old, new)
        left_out = r"\n\s*include /etc/nginx/sites-enabled/[^\n]*" + ("" if os.geteuid() == 0 else r"|^user [^\n]*")
        (home / "main.conf").write_text(re.sub(left_out, "", text), encoding="utf-8")
        said = run(["nginx", "-t", "-e", str(home / "log"), "-c", str(home / "main.conf")]).stderr
        return "\n".join(line for line in said.splitlines() if "[" in line)


def _portal_changes(proxy: Proxy, upstream: int) -> dict[str, str]:
    return {
        "127.0.0.1:8000": f"127.0.0.1:{upstream}",
        "listen 80;": f"listen 127.0.0.1:{proxy.http};",
        "listen 443 ": f"listen 127.0.0.1:{proxy.https} ",
        ".example.com": ".localhost",
        "/etc/nginx/portal/": f"{proxy.home}/",
        "/var/log/nginx/": f"{proxy.home}/",
        ".log ": "-log ",
        "/var/www/html": str(proxy.home),
    }


def _http_2() -> dict[str, str]:
    """Return the change that turns on HTTP/2 as the comment in the files says."""
    version = re.search(r"nginx/(\d+)\.(\d+)\.(\d+)", run(["nginx", "-v"]).stderr)
    if version is not None and tuple(map(int, version.groups())) < (1, 25, 1):
        return {" ssl;": " ssl http2;"}
    return {"# http2 on;": "http2 on;"}


def _write(proxy: Proxy, config: str, changes: dict[str, str]) -> Path:
    """Create a certificate, write a configuration of deploy/ with changes, and return its path."""
    home = proxy.home
    names = ",".join(f"DNS:{host}" for host in proxy.hosts)
    subject = ["-subj", f"/CN={proxy.hosts[0]}", "-addext", f"subjectAltName={names}", "-days", "1"]
    files = ["-keyout", str(home / "privkey.pem"), "-out", str(home / "fullchain.pem")]
    run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *files, *subject])
    text = (DEPLOY / config).read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    (home / config).write_text(text, encoding="utf-8")
    return home / config


# What the http block of the nginx.conf of Debian has above its includes.
DEBIAN = {
    12: """
    sendfile on; tcp_nopush on; types_hash_max_size 2048; default_type application/octet-stream; gzip on;
    ssl_protocols TLSv1 TLSv1.1 TLSv1.2 TLSv1.3; ssl_prefer_server_ciphers on;
    """,
    13: """
    sendfile on; tcp_nopush on; types_hash_max_size 2048; default_type application/octet-stream; gzip on;
    ssl_protocols TLSv1.2 TLSv1.3; ssl_prefer_server_ciphers off; server_tokens build;
    """,
}


def _nginx_files(proxy: Proxy, config: str, changes: dict[str, str]) -> Path:
    home = proxy.home
    _write(proxy, config, changes)
    (home / "main.conf").write_text(_main(home, 13).replace("/etc/nginx/conf.d/*.conf", str(home / config)))
    return home / "main.conf"


def _main(home: Path, debian: int) -> str:
    """Return a main file that repeats the directives of a Debian's."""
    folders = "\n".join(
        f"    {kind}_temp_path {home}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    include = f"access_log {home}/access-log;\n    include /etc/nginx/conf.d/*.conf;"
    http = f"{folders}\n{DEBIAN[debian]}    {include}\n"
    around = f"daemon off;\npid {home}/pid;\nerror_log {home}/error-log;\nevents {{}}\nhttp {{\n{http}}}\n"
    user = "user root;\n" if os.geteuid() == 0 else ""  # only root can read the folder of the test
    return user + around


def _is_ready(proxy: Proxy) -> bool:
    """Return whether the proxy presents a certificate for each host."""
    for host in proxy.hosts:
        try:
            context = ssl.create_default_context(cafile=str(proxy.authority))  # it may not be written yet
            with socket.create_connection(("127.0.0.1", proxy.https), timeout=2) as plain:
                context.wrap_socket(plain, server_hostname=host).close()
        except OSError:
            return False
    return True
