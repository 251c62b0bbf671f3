"""Every address of the resolver, by every kind of person: statuses and headers are those of crawl_table.py."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin

from core.http.headers import ADMIN_POLICY, PAGE_POLICY
from oidc.apis.registry import registry_in_transaction
from tests.security.crawl_table import GROUPS, NO_HEAD, WRITES, Group, Policy
from tests.security.crawl_world import APP, ROLES, Answer, Stage, Walker, kept_stage
from tests.security.crawling import NOWHERE, ROWS, Row, roles_of, routes, rows_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quiet")]
CATCH_ALL = {"/v1", "/v1/nothing", "/admin/nothing/"}
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
CSP = {"page": PAGE_POLICY, "admin": ADMIN_POLICY, "none": None}


@pytest.fixture(scope="module")
def stage(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Everyone and everything, made once for all rows; what a request changes is undone at once."""
    with django_db_blocker.unblock(), kept_stage(tmp_path_factory.mktemp("media")) as stage:
        yield stage


@pytest.fixture(autouse=True)
def apis_of_the_stage(request: pytest.FixtureRequest) -> Iterator[None]:
    """Load the APIs of the stage, which only its transaction sees and the process forgets before each test."""
    if "stage" not in request.fixturenames:
        yield
        return
    request.getfixturevalue("stage")
    with registry_in_transaction():
        yield


def test_every_url_has_a_row_and_every_row_a_url() -> None:
    listed = {row.route for row in ROWS}
    missing = [route for route in routes() if route not in listed]
    assert missing == [], "URLs without a row in tests/security/crawl_table.py"
    anything = {row.route for row in ROWS if row.address in CATCH_ALL} | {NOWHERE}
    strays = [row.address for row in ROWS if row.route in anything and row.address not in CATCH_ALL]
    assert strays == [], "rows of tests/security/crawl_table.py without a URL"
    addresses = [row.address for row in ROWS]
    assert len(addresses) == len(set(addresses))


def test_every_action_of_the_admin_has_a_row() -> None:
    listed = {re.sub(r"\{\w+\}", "{row}", row.address) for row in ROWS}
    actions = set()
    for model, page in admin.site._registry.items():
        base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        actions |= {f"{base}{{row}}/do/{action.name}/" for action in page.row_actions}  # type: ignore[attr-defined]
        actions |= {f"{base}do/{action.name}/" for action in page.list_actions}  # type: ignore[attr-defined]
    assert actions - listed == set(), "actions without a row in tests/security/crawl_table.py"
    assert {address for address in listed if "/do/" in address and "/do/none/" not in address} - actions == set()


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.title)
def test_each_person_gets_the_status_in_the_table(group: Group, stage: Stage) -> None:
    wrong = "\n".join(fault for row in rows_of(group) for fault in faults(row, stage))
    assert not wrong, wrong


def faults(row: Row, stage: Stage) -> Iterator[str]:
    """Yield what differs from the row, one sentence for all who meet it."""
    met: dict[str, list[str]] = {}
    for role, fault in looked_at(row, stage):
        met.setdefault(fault, []).append(role)
    for fault, roles in met.items():
        yield f"{row.address} {fault} (as {', '.join(roles)})"


def looked_at(row: Row, stage: Stage) -> Iterator[tuple[str, str]]:
    """Yield who meets which fault: GET as everyone, POST as two of each column, the rest as the one who sees most.

    The other rows of a line for several models or pages run the same code, so only two of each column open them.
    """
    url, policy = stage.url(row.address), row.group.policy
    two_of_each = [role for roles in roles_of(row.group.columns) for role in roles[:2]]
    for role in row.get if row.is_first else two_of_each:
        answer = stage.walkers[role].ask("GET", url)
        found = [
            *status(answer, row.get[role]),
            *headers(answer, policy, role),
            *changes(row, answer),
            *inline(answer, policy),
        ]
        yield from ((role, f"GET: {fault}") for fault in found)
    for role in two_of_each:
        answer = stage.walkers[role].ask("POST", url)
        found = [*status(answer, row.post[role]), *headers(answer, policy, role)]
        yield from ((role, f"POST: {fault}") for fault in found)
    if row.is_first:
        role = foremost(row)
        yield from ((role, fault) for fault in other_methods(row, role, stage.walkers[role], url))


def foremost(row: Row) -> str:
    """Return someone who gets to see the page, if anyone does."""
    return next((role for role, expected in reversed(row.get.items()) if expected == 200), ROLES[-1])


def other_methods(row: Row, role: str, walker: Walker, url: str) -> Iterator[str]:
    """HEAD answers as GET; nothing is changed by it, by OPTIONS, or by a form without a token against forgery."""
    policy = row.group.policy
    head = walker.ask("HEAD", url)
    found = [
        *status(head, 405 if row.address in NO_HEAD else row.get[role]),
        *headers(head, policy, role),
        *changes(row, head),
    ]
    yield from (f"HEAD: {fault}" for fault in found + (["it has a body"] if head.body else []))
    options = walker.ask("OPTIONS", url, headers=PREFLIGHT)
    found = [*cors(options, policy), *changes(row, options)]
    yield from (f"OPTIONS: {fault}" for fault in found)
    if options.response.status_code > 499:
        yield f"OPTIONS: {options.response.status_code}"
    forged = walker.ask("POST", url, csrf=True)
    expected = row.post[role] if policy.exempt else 403
    found = [*status(forged, expected), *headers(forged, policy, role), *changes(row, forged)]
    yield from (f"POST without a token: {fault}" for fault in found)


# --- What is looked at ---


def status(answer: Answer, expected: int) -> list[str]:
    found = answer.response.status_code
    return [f"{found}, not {expected}"] if found != expected else []


def changes(row: Row, answer: Answer) -> list[str]:
    written = [table for table in answer.written if table != WRITES.get(row.address)]
    return [f"it wrote to {', '.join(written)}"] if written else []


def headers(answer: Answer, policy: Policy, role: str) -> list[str]:
    """Return what is wrong about the headers, those included that every answer has."""
    response = answer.response
    csp, frame = (response.headers.get(name) for name in ("Content-Security-Policy", "X-Frame-Options"))
    wrong = [
        *cache(answer, policy, role),
        *cors(answer, policy),
        *([f"policy {csp}"] if csp != CSP[policy.csp] else []),
        *([f"framing {frame}"] if frame != (None if policy.frame == "none" else policy.frame) else []),
    ]
    if response.headers.get("X-Content-Type-Options") != "nosniff" or "X-Request-ID" not in response.headers:
        wrong.append("nosniff or the request id is missing")
    if response.headers.get("Referrer-Policy") not in ("same-origin", "no-referrer", "strict-origin"):
        wrong.append("no Referrer-Policy")
    if policy.csp == "none" and response.cookies:
        wrong.append("an answer to programs sets a cookie")
    return wrong


def cache(answer: Answer, policy: Policy, role: str) -> list[str]:
    """Return what is wrong about Cache-Control. Errors are kept by nobody; of a POST nothing is kept anyway."""
    response = answer.response
    found = response.headers.get("Cache-Control", "")
    kept_by_nobody = "no-store" in found
    is_signed_in = role not in ("anonymous", APP)
    match policy.cache:
        case "any":
            right = True
        case "no-store when signed in" if is_signed_in:
            right = kept_by_nobody
        case _ if answer.method == "POST" and policy.cache != "no-store":
            right = "public" not in found
        case "no-store":
            right = kept_by_nobody
        case _ if response.status_code >= 400:
            right = kept_by_nobody
        case "no-store when signed in":
            right = "public" not in found
        case "private, max-age, ETag":
            right = re.fullmatch(r"private, max-age=\d+", found) is not None and "ETag" in response.headers
        case "private for minutes":
            right = re.fullmatch(r"private, max-age=\d{1,3}", found) is not None or (is_signed_in and kept_by_nobody)
        case "public":
            right = found.startswith("public, max-age=")
        case words:
            right = found == words
    return [] if right else [f"cached as {found or 'anyone likes'}"]


def cors(answer: Answer, policy: Policy) -> list[str]:
    response = answer.response
    allowed = response.headers.get("Access-Control-Allow-Origin")
    everyone = policy.cors == "any" or (policy.cors == "of what is there" and response.status_code == 200)
    if "Access-Control-Allow-Credentials" in response.headers or allowed != ("*" if everyone else None):
        return [f"other sites: {allowed}"]
    return []


def inline(answer: Answer, policy: Policy) -> list[str]:
    """Return what the policy would stop on a page: scripts, styles and handlers that stand in it."""
    if policy.csp != "page" or not answer.response.headers.get("Content-Type", "").startswith("text/html"):
        return []
    text = answer.body.decode()
    scripts = re.findall(r"<script([^>]*)>", text)
    found = [each for each in scripts if "src=" not in each and "application/json" not in each]
    found += re.findall(r"<style[^>]*>|<[^>]+\s(?:style|on\w+)\s*=[^>]*>", text)
    return [f"inline: {each}" for each in found]
