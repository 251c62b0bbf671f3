"""The data for the rules in tests: an app without problems, with the changes of a test."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from core import clock
from devportal.review.evidence.collecting import find_facts
from devportal.review.evidence.facts import Fact
from devportal.review.evidence.gathered import Gathered, OtherApps, Part, Person, ScopeUsage, Setback, SimilarApp, Usage
from oidc.models import Client, Project, ProjectDomain
from tests.devportal.review.reviewing import BRANDING, JUSTIFICATION, SCOPE

NOW = clock.now()
LONG_AGO = NOW - timedelta(days=400)
USED = ScopeUsage(granted=2, asked=1, calls=12, calls_lately=7)
ASKED = {
    **BRANDING,
    "logo": "logos/a.webp",
    "redirect_urls": ["https://example.com/callback"],
    "sign_out_urls": ["https://example.com/bye"],
    "scopes": {SCOPE: JUSTIFICATION},
}


def days_ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def domain(name: str = "example.com", **fields: Any) -> ProjectDomain:
    proof = {"method": "dns", "proven_at": LONG_AGO, "checked_at": days_ago(2), "added_at": LONG_AGO}
    project = Project(name="Another", public_id="prj_x")
    return ProjectDomain(**({"name": name, "project": project} | proof | fields))


def client(**fields: Any) -> Client:
    project = fields.pop("project", None) or Project(name="Orbit", created_at=LONG_AGO)
    return Client(**({"type": "web", "name": "Orbit Notes", "client_id": "op_x", "project": project} | fields))


def check(field: str, title: str = "Orbit Notes", **more: Any) -> dict[str, Any]:
    address = ASKED[field]
    found = {"field": field, "address": address, "at": NOW.isoformat(), "status": 200, "final": address, "title": title}
    return found | more


def problem(field: str, code: str) -> dict[str, Any]:
    found = {"field": field, "address": ASKED[field], "at": NOW.isoformat(), "code": code}
    return found | {"parameters": {"error": "it has expired"} if code == "certificate" else {}}


def checks(*changed: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the checks of all three pages, with some of them replaced."""
    by_field = {field: check(field) for field in ("home_page_url", "privacy_policy_url", "terms_url")}
    return list((by_field | {each["field"]: each for each in changed}).values())


def setback(kind: str, days: float) -> Setback:
    return Setback(kind, days_ago(days), "Orbit Notes", "Orbit", None)


def similar(similarity: float, verified: bool) -> SimilarApp:
    other = client(name="Orbit N0tes", verified_at=NOW if verified else None, pk=7)
    return SimilarApp(other, similarity)


def gathered(**changes: Any) -> Gathered:
    """Return the data about an app without problems, with `changes`; `asked` only changes the given values."""
    asked = ASKED | changes.pop("asked", {})
    fine = Gathered(
        client=client(),
        asked=asked,
        now=NOW,
        domains=[domain()],
        page_checks=checks(),
        logo_hash="0123456789abcdef",
        people=[Person("ada@example.com", LONG_AGO, Part.SUBMITTER)],
        others=OtherApps(),
        usage=Usage(people=3, sign_ins=9, calls=100, errors=1, scopes={SCOPE: USED}),
    )
    return replace(fine, **changes)


def fact(code: str, found: Gathered) -> Fact:
    """Return the fact with this code."""
    [one] = [each for each in find_facts(found) if each.code == code]
    return one
