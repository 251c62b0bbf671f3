"""A caller can't choose a path, a header or a parameter that avoids a rule of forward authentication."""

import re
from itertools import product
from typing import Any
from urllib.parse import quote

import pytest

from accounts.models import Account
from oidc.models import Api
from tests.api.calls import refusal
from tests.api.forwarding import PREFIX, ask, ask_as_envoy
from tests.factories import make_access_token, make_api, make_client

ALLOWED = [("*", "/admin", "calendar.write"), ("*", "/admin/*", "calendar.write"), ("*", "/*", "calendar.read")]
# Ways to write a path that some server takes for /admin/users.
WAYS = (
    "/admin/users", "//admin/users", "/./admin/users", "/x/../admin/users", "/public/../admin/users", "/admin//users",
    "/ADMIN/users", "/Admin/users", "/admin/", "/admin", "/admin/.", "/admin/x/..", "/admin?x=1", "/admin?", "///admin",
    "/%61dmin/users", "/admi%6e/users", "/admin%2fusers", "/admin%2Fusers", "/%2e/admin", "/x/%2e%2e/admin",
    "/x/%2E%2E/admin", "/x/.%2e/admin", "/x/..%2fadmin", "/x/..;/admin", "/x/..;a=b/admin", "/admin;x=y/users",
    "/admin;/users", "/admin%3bx/users", "/x/..%5cadmin", "\\admin", "/x\\..\\admin", "/%5cadmin", "/admin%00",
    "/admin%00.js", "/admin%20", "/admin%20/x", "/admin.", "/admin.../x", "/%20/admin", "/admin%C2%A0",
    "/admin\t", "/%09admin", "/admin%0a", "/%2561dmin", "/%252e%252e/admin", "/admin#x", "/admin%23x", "/admin%3Fx",
    "/%c0%afadmin", "/x/%c0%ae%c0%ae/admin", "/x/%ef%bc%8e%ef%bc%8e/admin", "/%ef%bc%8fadmin", "/%ef%bd%81dmin",
    "/adm%c4%b0n", "/adm%c4%b1n", "/ADM%C4%B0N/x", "/adm%c4%b1n/x",
    "/%u0061dmin", "/admin%", "/admin%2", "/admin%zz", "admin", "http://h/admin", "*",
    "/index.php/admin", "/index.php//admin/x", "/x/../Index.PHP/admin.json", "/index%2ephp/admin",
    "/a.php/admin/b.php/x",
    "/admin.json", "/admin.json/", "/Admin.JSON", "/x/../admin.xml?x=1", "/admin%ef%bc%8ejson",
    "/a/b/../../admin", "/admin//x/./..//", "/x//./../..//admin", "/..//./..//admin/",
    "/a/b/..//../admin", "/a//../../admin", "/..//admin", "/../admin", "/.//admin", "/x/..", "", " /admin", "/admin ",
    "/\u2025/admin", "/x/%e2%80%a5/admin", "/admin%ef%bc%8e", "/admin%e2%80%a4", "/admin%e2%80%a6/x",
    "/" + "a/../" * 50 + "admin", "/" + "x" * 9000,
)  # fmt: skip
# This is another path for every server.
OTHER = {"/x/.."}


@pytest.fixture
def api(db: None) -> Api:
    return make_api(rules=ALLOWED, calls_per_minute=10_000, calls_per_person_per_minute=10_000)


@pytest.fixture
def reader(api: Api, person: Account) -> str:
    """A token that may call everything but /admin."""
    return make_access_token(make_client(), person, ["calendar.read"], api.identifier)


@pytest.mark.parametrize("style", ["Forwarded", "Original"])
def test_no_spelling_of_a_path_avoids_its_rule(reader: str, style: str) -> None:
    assert ask(reader, "/other").status_code == 200
    for path in WAYS:
        response = ask(reader, path, style=style)
        if path in OTHER:
            assert response.status_code in (200, 403)
        else:
            assert refusal(response)[0] == 403, path


def test_a_rule_with_encoded_characters_counts(person: Account, db: None) -> None:
    rules = [
        ("*", "/staff%20only/*", "calendar.write"),
        ("*", "/%C3%A9*", "calendar.write"),
        ("*", "/*", "calendar.read"),
    ]
    token = make_access_token(make_client(), person, ["calendar.read"], make_api(rules=rules).identifier)
    assert ask(token, "/other").status_code == 200
    for path in ("/staff%20only/x", "/%53taff%20only/x", "/staff%20only", "/%c3%a9x", "/e%cc%81x", "/%C3%89x"):
        assert refusal(ask(token, path)) == (403, "insufficient_scope"), path
        assert ask_as_envoy(token, path).status_code == 403, path


@pytest.mark.parametrize("path", ["/adm\u0130n/x", "/adm\u0131n/x", "/\u03c2/x", "/\u03a3/x"])
def test_letters_that_a_server_without_case_takes_for_others(person: Account, db: None, path: str) -> None:
    """Django's routes with `(?i)`, for example, and every other server that compares with Python's re.IGNORECASE."""
    assert any(re.match(f"/{name}/", path, re.IGNORECASE) for name in ("admin", "\u03c3"))
    rules = [("*", "/admin/*", "calendar.write"), ("*", "/%CF%83/*", "calendar.write"), ("*", "/*", "calendar.read")]
    token = make_access_token(make_client(), person, ["calendar.read"], make_api(rules=rules).identifier)
    assert ask(token, "/other/x").status_code == 200
    assert refusal(ask(token, quote(path))) == (403, "insufficient_scope")
    assert ask_as_envoy(token, quote(path)).status_code == 403


def test_dots_are_resolved_before_slashes_are_merged_and_after(person: Account, db: None) -> None:
    api = make_api(rules=[("*", "/x/admin", "calendar.write"), ("*", "/*", "calendar.read")])
    token = make_access_token(make_client(), person, ["calendar.read"], api.identifier)
    assert ask(token, "/x/other").status_code == 200
    for path in ("/x/admin", "/x//admin", "/x//./..//admin", "/x/.//../x//admin", "/x//y/..//admin"):
        assert ask(token, path).status_code == ask_as_envoy(token, path).status_code == 403, path


def test_no_spelling_avoids_a_rule_behind_envoy(reader: str) -> None:
    assert ask_as_envoy(reader, "/other").status_code == 200
    paths = [path for path in WAYS if path.startswith("/") and path.isascii() and path not in OTHER]
    assert len(paths) > len(WAYS) // 2
    for path in paths:  # the URL arrives decoded, so %2F is a slash
        assert refusal(ask_as_envoy(reader, path))[0] == 403, path


def test_only_plain_methods(person: Account, db: None) -> None:
    make_api(rules=[("GET", "/*", "calendar.read"), ("*", "/*", "calendar.write")])
    token = make_access_token(make_client(), person, ["calendar.read"], "https://calendar.example.com")
    assert ask(token, "/x").status_code == 200
    unusual = ("get", "Get", "GET ", "GET,POST", "", "G\u00cbT", "GET\t", "GET\x00", "X" * 30, "*", "1")
    for method in (*unusual, None, "POST"):
        assert refusal(ask(token, "/x", method))[0] == 403, method


def test_only_plain_methods_behind_envoy(reader: str) -> None:
    """Envoy repeats the method of the call. Its letter case matters: the API may not take `get` for a GET."""
    assert ask_as_envoy(reader, "/other").status_code == 200
    for method in ("get", "Get", "post"):
        assert refusal(ask_as_envoy(reader, "/other", method)) == (403, "path_not_allowed")


@pytest.mark.parametrize("header", ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"])
def test_no_header_replaces_the_method(person: Account, db: None, header: str) -> None:
    """Some frameworks take a POST with such a header for a DELETE."""
    make_api(rules=[("POST", "/*", "calendar.read"), ("*", "/*", "calendar.write")])
    token = make_access_token(make_client(), person, ["calendar.read"], "https://calendar.example.com")
    for named, status in (("POST", 200), ("DELETE", 403), ("delete", 403), ("POST, DELETE", 403)):
        assert ask(token, "/x", "POST", **{header: named}).status_code == status
        assert ask_as_envoy(token, "/x", "POST", **{header: named}).status_code == status


@pytest.mark.parametrize(
    "name",
    [
        "_method", "_METHOD", "%5fmethod", "%5F%6dethod", ".method", "+.method", "%20_method", "_method%00x",
        "X-HTTP-Method-Override", "x-http-method", "X-Method-Override",
    ],
)  # fmt: skip
def test_no_parameter_replaces_the_method(person: Account, db: None, name: str) -> None:
    """Symfony and Laravel, for example, take a POST with `?_method=DELETE` for a DELETE. PHP reads `.method` alike."""
    make_api(rules=[("POST", "/*", "calendar.read"), ("*", "/*", "calendar.write")])
    token = make_access_token(make_client(), person, ["calendar.read"], "https://calendar.example.com")
    statuses = {"POST": 200, "%50OST": 200, "DELETE": 403, "delete": 403, "POST%20": 403, "": 403}
    for named, status in statuses.items():
        parameter = f"{name}={named}"
        for query in (parameter, f"a=b&{parameter}", f"a=b;{parameter}&c", f"_method=POST&{parameter}"):
            assert ask(token, f"/x?{query}", "POST").status_code == status, query
            assert ask(token, f"/x?{query}", "POST", style="Original").status_code == status, query
            assert ask_as_envoy(token, f"/x?{query}", "POST").status_code == status, query
    assert ask(token, f"/x?method=DELETE&a={name}", "POST").status_code == 200


@pytest.mark.parametrize("header", ["X-Original-URL", "X-Rewrite-URL", "X-Envoy-Original-Path"])
def test_no_header_replaces_the_path(reader: str, header: str) -> None:
    """Yii, for example, takes the path from such a header if it trusts the proxy."""
    others = ("/admin", "/other", "https://h/admin", "//h/other?x=1", "admin", "/otherhttps://h?x=1", "X://h/other?x=1")
    for style in ("Forwarded", "Original"):
        for value in ("/other?x=1", "https://calendar.example.com/other?x=1"):
            assert ask(reader, "/other?x=1", style=style, **{header: value}).status_code == 200, value
        for value in others:
            response = ask(reader, "/other?x=1", style=style, **{header: value})
            assert refusal(response) == (403, "path_not_allowed"), value
    assert refusal(ask_as_envoy(reader, "/other", **{header: "/admin"})) == (403, "path_not_allowed")


def test_the_url_of_ingress_nginx_is_the_target(reader: str) -> None:
    host = "https://h"
    for url in (f"{host}/other?scope=calendar.write", f"{host}/", "http://h:80/other", "/other"):
        assert ask(reader, None, None, **{"X-Original-URL": url, "X-Original-Method": "GET"}).status_code == 200, url
    refused = (
        f"{host}/admin",
        f"{host}//admin",
        host,
        f"{host}?/other",
        f"{host}#/other",
        "x://h/other",
        "//h/other",
        "",
    )
    for url in refused:
        answer = ask(reader, None, None, **{"X-Original-URL": url, "X-Original-Method": "GET"})
        assert refusal(answer)[0] == 403, url


@pytest.mark.parametrize("header", ["X-Original-URL", "X-Rewrite-URL", "X-Envoy-Original-Path"])
def test_no_header_replaces_the_path_of_an_api_without_rules(person: Account, db: None, header: str) -> None:
    """A proxy then need not send the path, and the header may be the caller's."""
    api = make_api()
    token = make_access_token(make_client(), person, ["calendar.read"], api.identifier)
    query = "?scope=calendar.read"
    assert ask(token, None, None, query=query).status_code == 200
    assert ask(token, "/x", query=query, **{header: "/x"}).status_code == 200
    for sent in ({header: "/x"}, {header: ""}, {header: "/x", "X-Original-Method": "GET"}):
        assert refusal(ask(token, None, None, query=query, **sent)) == (403, "path_not_allowed")
    assert refusal(ask(token, "/x", query=query, **{header: "/y"})) == (403, "path_not_allowed")


# Headers that name the path, the method, the host or the caller. The server leaves a value empty that it can't read.
NAMING = (
    "X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Host", "X-Forwarded-For", "X-Original-URI",
    "X-Original-Method", "X-Original-URL", "X-Original-Host", "X-Rewrite-URL", "X-Envoy-Original-Path",
    "X-HTTP-Method", "X-HTTP-Method-Override", "X-Method-Override", "X-Real-IP", "Forwarded", "Host",
)  # fmt: skip


def test_an_unreadable_header_is_refused(reader: str) -> None:
    for style in ("Forwarded", "Original"):
        assert ask(reader, "/other", style=style).status_code == 200
        for header in NAMING:
            assert refusal(ask(reader, "/other", style=style, **{header: ""})) == (403, "path_not_allowed"), header
    for header in NAMING:
        assert refusal(ask_as_envoy(reader, "/other", **{header: ""})) == (403, "path_not_allowed"), header


def test_other_spellings_of_these_headers_are_refused(reader: str) -> None:
    names = [name for name in (*NAMING, "X-Auth-Subject", "X-Auth-Anything") if "-" in name]
    assert len(names) == len(NAMING)  # two of them have no hyphen
    for odd in ".!#$%&'*+^`|~":
        for spelling in (name.replace("-", odd, 1) for name in names):
            assert refusal(ask(reader, "/other", **{spelling: "/other"})) == (403, "path_not_allowed"), spelling
            assert refusal(ask_as_envoy(reader, "/other", **{spelling: "GET"})) == (403, "path_not_allowed"), spelling
        assert ask(reader, "/other", **{f"X{odd}Anything": "1", "X-Anything": ""}).status_code == 200


@pytest.mark.parametrize(
    ("header", "value", "is_allowed"),
    [
        ("Upgrade", "websocket", True), ("Upgrade", "WebSocket", True), ("Upgrade", "h2c", False),
        ("Upgrade", "H2C", False), ("Upgrade", "TLS/1.2", False), ("Upgrade", "websocket, h2c", False),
        ("Upgrade", "h2c,websocket", False), ("Upgrade", "", False), ("Upgrade", "websocket\x00", False),
        ("Connection", "close", True), ("Connection", "Keep-Alive, Upgrade", True), ("Connection", "TE, ,", True),
        ("Connection", "X-Auth-Subject", False), ("Connection", "close,x-auth-scope", False),
        ("Connection", "Upgrade, HTTP2-Settings", False), ("Connection", "X-Forwarded-Uri", False),
    ],
)  # fmt: skip
def test_no_call_opens_a_tunnel(reader: str, header: str, value: str, is_allowed: bool) -> None:
    for response in (ask(reader, "/other", **{header: value}), ask_as_envoy(reader, "/other", **{header: value})):
        assert response.status_code == (200 if is_allowed else 403)


@pytest.mark.parametrize("rules", [[("*", "/*", "calendar.read")], [("CONNECT", "/*", "calendar.read")], []])
def test_no_call_may_connect(person: Account, db: None, rules: list[tuple[str, str, str]]) -> None:
    token = make_access_token(make_client(), person, ["calendar.read"], make_api(rules=rules).identifier)
    query = "" if rules else "?scope=calendar.read"
    for path, method in product(("/x", "calendar.example.com:443"), ("CONNECT", "connect")):
        for style in ("Forwarded", "Original"):
            answer = ask(token, path, method, style=style, query=query)
            assert refusal(answer) == (403, "path_not_allowed")
    assert refusal(ask_as_envoy(token, "/x", "CONNECT")) == (403, "path_not_allowed")


def test_a_target_may_have_raw_utf8(person: Account, db: None) -> None:
    """A character of a header is a byte (PEP 3333)."""
    rules = [("*", "/%C3%A9/*", "calendar.write"), ("*", "/*", "calendar.read")]
    token = make_access_token(make_client(), person, ["calendar.read"], make_api(rules=rules).identifier)
    raw = "\u00f8\u00e9".encode().decode("latin-1")
    assert ask(token, f"/{raw}?{raw}").status_code == 200
    for path in ("/\u00e9/x".encode().decode("latin-1"), "/\xe9/x", "/\xff", "/\xc0\xaf", "/x\xc2\xa0"):
        assert ask(token, path).status_code == 403, path


def test_headers_of_the_caller_dont_replace_those_of_the_proxy(reader: str) -> None:
    """A proxy sets one pair of headers, and passes on what the caller sends as the other pair."""
    for mine, theirs in product(("Forwarded", "Original"), repeat=2):
        if mine == theirs:
            continue
        uri = "Uri" if theirs == "Forwarded" else "URI"
        forged = {f"X-{theirs}-{uri}": "/other", f"X-{theirs}-Method": "GET"}
        assert refusal(ask(reader, "/admin", style=mine, **forged)) == (403, "path_not_allowed")
        forged = {f"X-{theirs}-Method": "OPTIONS"}
        assert refusal(ask(reader, "/other", style=mine, **forged)) == (403, "path_not_allowed")
    # Envoy repeats the path itself.
    forged = {"X-Forwarded-Uri": "/other", "X-Original-URI": "/other", "X-Forwarded-Method": "GET"}
    assert refusal(ask_as_envoy(reader, "/admin", **forged))[0] == 403


@pytest.mark.parametrize(
    "query",
    [
        "?scope=calendar.read", "?scope=calendar.read&scope=calendar.read", "?scope=", "?scope=%00", "?scope=%ff",
        "?scope=openid", "?scope=*", "?scope=calendar.read%20openid", "?x=" + "y" * 5000, "?" + "a=b&" * 200,
    ],
)  # fmt: skip
def test_no_query_avoids_a_rule(reader: str, query: str) -> None:
    assert refusal(ask(reader, "/admin", query=query))[0] == 403
    assert refusal(ask_as_envoy(reader, f"/admin{query}"))[0] == 403


@pytest.mark.parametrize("value", ["", "Bearer", "Bearer ", "Basic eDp5", "bearer", "Bearer a b", "\x00", "Token x"])
def test_other_authorization_headers(api: Api, value: str) -> None:
    response = ask(None, Authorization=value)
    assert response.status_code == 401
    assert "X-Auth-Subject" not in response


def test_nothing_from_the_request_is_in_a_challenge(reader: str) -> None:
    for query in ('?scope=a"b', "?scope=%0d%0aX-Evil:1", "?scope=calendar.write%22"):
        response = ask(reader, query=query)
        assert response.status_code == 403
        assert "X-Evil" not in response
        assert response["WWW-Authenticate"].count('"') % 2 == 0
        assert 'a"b' not in response["WWW-Authenticate"]


@pytest.mark.parametrize(
    "path", ["", "/", "/x", "/calendar%00", "/../calendar", "/CALENDAR", "/calendar.", "/" + "c" * 300]
)
def test_other_urls_are_never_a_500(api: Api, client: Any, path: str) -> None:
    client.raise_request_exception = False
    assert client.get(f"{PREFIX}{path}").status_code in (400, 401, 404)
