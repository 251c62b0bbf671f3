"""Each fact of the evidence, with every result that it may have. The rules use no database."""

from dataclasses import replace
from typing import Any

import pytest

from core.messages import placeholders
from devportal.review.evidence.collecting import Evidence, find_facts
from devportal.review.evidence.facts import Code, Result
from devportal.review.evidence.gathered import KnownCase, OtherApps, Part, Person, ScopeUsage, SimilarLogo, Usage
from devportal.review.evidence.rules import RULES
from devportal.review.evidence.rules.identity import BRANDS, is_free_mail
from devportal.review.evidence.rules.pages import names_the_app
from oidc.models import Project
from oidc.values.redirect_uris import playground_redirect_uri
from tests.devportal.review.evidence.world import (
    ASKED,
    LONG_AGO,
    NOW,
    check,
    checks,
    client,
    days_ago,
    domain,
    fact,
    gathered,
    problem,
    setback,
    similar,
)
from tests.devportal.review.reviewing import JUSTIFICATION, SCOPE
from tests.factories import make_api

FOREIGN = {"redirect_urls": ["https://elsewhere.net/cb"]}
LOCAL = {"redirect_urls": ["http://localhost:3000/cb"], "sign_out_urls": []}
MIXED = {"redirect_urls": ["https://example.com/cb", "http://127.0.0.1:8000/cb"]}
HOME = ASKED["home_page_url"]
HOLDS = client(approved_scopes=SCOPE, verified_at=NOW)
LONG_HELD = client(approved_scopes=SCOPE, verified_at=LONG_AGO)
WWW = "https://www.example.com"
NO_PAGES = {"home_page_url": "", "privacy_policy_url": "", "terms_url": ""}
TIMEOUT = {"proof": "dns", "code": "dns_timeout", "parameters": {}}
FORMER_OWNER = Person("c@example.com", LONG_AGO, Part.FORMER_OWNER, days_ago(3))
OWNER = Person("b@example.com", LONG_AGO, Part.OWNER)
EARLIER = Person("d@example.com", LONG_AGO, Part.EARLIER_SUBMITTER)


def refusals(count: int) -> dict[str, int]:
    return {"invalid_grant": count}


def case(kind: str, *, is_open: bool = True, had_effect: bool = False) -> KnownCase:
    return KnownCase(kind, days_ago(5), is_open, had_effect)


def using(**uses: int) -> Usage:
    return Usage(people=1, scopes={SCOPE: ScopeUsage(**uses)})


NEIGHBOUR = domain("elsewhere.net", proven_at=None)
TABLE: list[tuple[str, str, dict[str, Any], str]] = [
    ("domains", "pass", {}, "on a proven domain"),
    ("domains", "pass", {"domains": [domain(method="operator", checked_at=None)]}, ""),
    ("domains", "pass", {"elsewhere": [domain("unused.example.net")]}, ""),
    ("domains", "warn", {"elsewhere": [domain()]}, "Another project has proven example.com"),
    ("domains", "warn", {"domains": [domain(missing_since=days_ago(3))]}, "no longer found"),
    ("domains", "warn", {"domains": [domain(checked_at=days_ago(30))]}, "not checked for more"),
    ("domains", "warn", {"domains": [domain(problems=[TIMEOUT])]}, "DNS record: The name servers"),
    ("domains", "fail", {"domains": []}, "not proven example.com"),
    ("domains", "fail", {"asked": FOREIGN, "domains": [domain(), NEIGHBOUR]}, "elsewhere.net"),
    ("domains", "fail", {"domains": [domain(lost_at=days_ago(1))]}, "was lost"),
    ("domains", "pass", {"asked": LOCAL | NO_PAGES}, "No URL has a host"),
    ("redirect_hosts", "pass", {}, "where the app belongs"),
    ("redirect_hosts", "pass", {"client": client(type="native"), "asked": LOCAL}, ""),
    ("redirect_hosts", "pass", {"asked": {"sign_out_urls": [playground_redirect_uri()]}}, "playground"),
    ("redirect_hosts", "warn", {"asked": MIXED}, "for development only"),
    ("redirect_hosts", "warn", {"asked": FOREIGN, "domains": [domain(), domain("elsewhere.net")]}, "not on the home"),
    ("redirect_hosts", "fail", {"asked": FOREIGN}, "Not on a proven domain"),
    ("redirect_hosts", "fail", {"asked": {"redirect_urls": []}}, "nobody can sign in"),
    ("localhost_only", "pass", {"asked": MIXED}, ""),
    ("localhost_only", "pass", {"client": client(type="native"), "asked": LOCAL}, ""),
    ("localhost_only", "fail", {"asked": LOCAL}, "nobody but the developer"),
    ("home_page", "pass", {}, "names the app"),
    ("home_page", "pass", {"page_checks": checks(check("home_page_url", "ORBIT: take n0tes"))}, ""),
    ("home_page", "warn", {"page_checks": None}, "not checked yet"),
    ("home_page", "warn", {"asked": {"home_page_url": "https://example.com/new"}}, "not checked yet"),
    ("home_page", "warn", {"page_checks": checks(check("home_page_url", ""))}, "no title"),
    ("home_page", "warn", {"page_checks": checks(check("home_page_url", "Domain for sale"))}, "no word of"),
    ("home_page", "warn", {"page_checks": checks(problem("home_page_url", "too_large"))}, "larger than 64 KB"),
    ("home_page", "warn", {"page_checks": checks(problem("home_page_url", "unavailable"))}, "could not check"),
    ("home_page", "fail", {"page_checks": checks(problem("home_page_url", "certificate"))}, "it has expired."),
    ("home_page", "fail", {"page_checks": checks(problem("home_page_url", "timeout"))}, ""),
    ("home_page", "fail", {"page_checks": checks(check("home_page_url", status=404))}, "status 404"),
    ("home_page", "fail", {"asked": {"home_page_url": ""}}, "No URL is given"),
    ("privacy_policy", "pass", {}, ""),
    ("privacy_policy", "warn", {"page_checks": checks(check("privacy_policy_url", final=HOME))}, "same page"),
    ("privacy_policy", "warn", {"page_checks": checks(check("privacy_policy_url", final=WWW))}, "same"),
    ("privacy_policy", "fail", {"page_checks": checks(problem("privacy_policy_url", "no_address"))}, ""),
    ("terms", "pass", {"asked": {"terms_url": ""}}, "none are required"),
    ("terms", "warn", {"page_checks": checks(check("terms_url", "Something else"))}, ""),
    ("terms", "fail", {"page_checks": checks(check("terms_url", status=500))}, ""),
    ("support_address", "pass", {}, "has proven"),
    ("support_address", "pass", {"asked": {"support_address": "a@gmail.com"}, "domains": [domain("gmail.com")]}, ""),
    ("support_address", "warn", {"asked": {"support_address": "orbit@GMail.com"}}, "free mail provider"),
    ("support_address", "warn", {"asked": {"support_address": "help@orbit.net"}}, "has not proven"),
    ("support_address", "fail", {"asked": {"support_address": ""}}, "is given"),
    ("names", "pass", {}, ""),
    ("names", "warn", {"names": [similar(1.0, verified=False)]}, "similar name"),
    ("names", "warn", {"names": [similar(0.95, verified=True)]}, "1 app"),
    ("names", "fail", {"names": [similar(1.0, verified=True)]}, "reads the same"),
    ("brands", "pass", {}, "no well-known brand"),
    ("brands", "pass", {"asked": {"name": "Pineapple Visage"}}, ""),
    ("brands", "warn", {"asked": {"name": "G00gle-Drive for PayPaI"}}, "Google, PayPal"),
    ("brands", "warn", {"asked": {"name": " ".join(BRANDS)}}, f"and {len(BRANDS) - 5} more"),
    ("brands", "warn", {"asked": {"name": "American Express & Booking.com"}}, "American Express, Booking.com"),
    ("logos", "pass", {}, ""),
    ("logos", "pass", {"asked": {"logo": ""}, "logo_hash": ""}, "no logo"),
    ("logos", "warn", {"logo_hash": ""}, "could not be read"),
    ("logos", "warn", {"logo_hash": "-"}, "nothing to compare"),
    ("logos", "warn", {"logos": [SimilarLogo(client(pk=3), 5)]}, "looks like"),
    ("logos", "fail", {"logos": [SimilarLogo(client(pk=3), 2)]}, "the same logo"),
    ("account_age", "pass", {}, ""),
    ("account_age", "warn", {"people": [Person("b@example.com", days_ago(29), Part.OWNER)]}, "b@example.com"),
    ("account_age", "fail", {"people": [Person("", None, Part.SUBMITTER)]}, "is deleted"),
    ("account_age", "pass", {"people": [FORMER_OWNER, EARLIER]}, "owner until"),
    ("account_age", "pass", {"people": [FORMER_OWNER] * 9}, ""),
    ("account_age", "warn", {"people": [FORMER_OWNER] * 10}, "10 or more former owners"),
    ("account_age", "warn", {"people": [OWNER] * 10}, "10 or more owners"),
    ("account_age", "warn", {"people": [EARLIER] * 10}, "10 or more other people"),
    ("project_age", "pass", {}, ""),
    ("project_age", "warn", {"client": client(project=Project(created_at=days_ago(29)))}, "less than 30 days"),
    ("setbacks", "pass", {}, ""),
    ("setbacks", "warn", {"setbacks": [setback("rejected", 3)]}, "There is 1 entry"),
    ("setbacks", "warn", {"setbacks": [setback("suspended", 366)]}, ""),
    ("setbacks", "fail", {"setbacks": [setback("suspended", 300)]}, "less than a year"),
    ("setbacks", "fail", {"setbacks": [setback("approval_withdrawn", 1)]}, ""),
    ("setbacks", "fail", {"client": client(project=Project(suspended_at=NOW, created_at=LONG_AGO))}, "is suspended"),
    ("other_apps", "pass", {}, "no other app"),
    ("other_apps", "pass", {"others": OtherApps(apps=[client(verified_at=NOW)])}, "1 other app. Reviewed: 1"),
    ("other_apps", "pass", {"others": OtherApps(apps=[client()], is_more=True)}, "1 or more other apps"),
    ("other_apps", "warn", {"others": OtherApps(setbacks=[replace(setback("rejected", 3), app="")])}, "whole project"),
    ("setbacks", "warn", {"setbacks": [replace(setback("rejected", 3), app="")]}, "the whole project"),
    ("other_apps", "warn", {"others": OtherApps(setbacks=[setback("rejected", 3)])}, "rejection"),
    ("other_apps", "fail", {"others": OtherApps(setbacks=[setback("suspended", 3)])}, "last year"),
    ("other_apps", "fail", {"others": OtherApps(suspended=["Orbit Two"])}, "suspended"),
    ("reports", "pass", {}, "Nobody reported"),
    ("reports", "pass", {"cases": [case("re_review")]}, ""),
    ("reports", "warn", {"cases": [case("report")]}, "1 case is open"),
    ("reports", "warn", {"cases": [case("report", is_open=False, had_effect=True)], "reports": {"other": 9}}, "closed"),
    ("reports", "warn", {"reported_and_deleted": [days_ago(3)]}, "that is deleted now"),
    ("reports", "fail", {"cases": [case("report")], "reports": {"pretends": 2, "other": 1}}, "3 people"),
    ("people", "pass", {}, "3 people"),
    ("people", "pass", {"usage": Usage(people=10_000, people_is_more=True)}, "10,000 or more"),
    ("people", "warn", {"usage": Usage()}, "Nobody has authorized"),
    ("sign_ins", "pass", {}, "9 signed in"),
    ("sign_ins", "pass", {"usage": Usage(sign_ins=1, refusals=refusals(9))}, ""),
    ("sign_ins", "warn", {"usage": Usage(sign_ins=5, refusals=refusals(20))}, "Most sign-ins are refused"),
    ("sign_ins", "pass", {"usage": Usage(sign_ins=1000, sign_ins_is_more=True)}, "Of the newest 1,000"),
    ("sign_ins", "warn", {"usage": Usage()}, "no entry"),
    ("api_calls", "pass", {}, "1.0 %"),
    ("api_calls", "pass", {"usage": Usage(calls=3, errors=3)}, ""),
    ("api_calls", "pass", {"usage": Usage()}, "No requests in 30 days"),
    ("api_calls", "warn", {"usage": Usage(calls=100, errors=5)}, "5.0 %"),
    ("api_calls", "fail", {"usage": Usage(calls=100, errors=50)}, "Most requests fail"),
    ("scopes", "pass", {"asked": {"scopes": {}}}, "no scope that needs approval"),
    ("scopes", "pass", {}, "People sign in"),
    ("scopes", "pass", {"client": client(approved_scopes=SCOPE, verified_at=LONG_AGO)}, "are used"),
    ("scopes", "warn", {"client": LONG_HELD, "usage": Usage(people=1)}, "neither requested nor used in 30 days"),
    ("scopes", "pass", {"client": client(approved_scopes=SCOPE, verified_at=days_ago(29)), "usage": Usage()}, ""),
    ("scopes", "warn", {"client": LONG_HELD, "usage": using(asked=1)}, "not used for 90 days"),
    ("scopes", "pass", {"client": LONG_HELD, "usage": using(asked=1, calls=1)}, "people asked for it: 1"),
    ("scopes", "warn", {"client": LONG_HELD, "usage": using(refused=1)}, "refused requests: 1"),
    ("scopes", "pass", {"client": HOLDS, "asked": {"scopes": {}}}, "no longer requested"),
    ("scopes", "warn", {"usage": Usage()}, "nobody has ever signed in"),
]  # fmt: skip


def test_an_ordinary_app_passes_every_rule() -> None:
    assert [found for found in find_facts(gathered()) if found.result != Result.PASS] == []


@pytest.mark.parametrize(("code", "result", "changes", "said"), TABLE)
def test_each_fact_is_checked_by_what_was_gathered(code: str, result: str, changes: dict[str, Any], said: str) -> None:
    found = fact(code, gathered(**changes))
    assert found.result == result, found
    told = f"{found.finding.text} {' '.join(detail.text for detail in found.finding.details)}"
    assert said in told, told


def test_each_text_gets_its_parameters() -> None:
    tried = set()
    for code, _, changes, _ in TABLE:
        finding = fact(code, gathered(**changes)).finding
        said = [(finding.code, finding.parameters), *((line.code, line.parameters) for line in finding.details)]
        for name, parameters in said:
            assert set(parameters) == placeholders(name.value), name
            tried.add(name)
    assert set(Code) - tried == set()


def test_the_table_tries_every_rule_and_each_of_its_results() -> None:
    assert {row[0] for row in TABLE} == {rule.code for rule in RULES}
    for rule in RULES:
        assert len({row[1] for row in TABLE if row[0] == rule.code}) > 1, rule.code


def test_the_summary_counts_and_fails_come_first() -> None:
    found = gathered(domains=[], usage=Usage())
    evidence = Evidence(found, tuple(find_facts(found)))
    results = [each.result for each in evidence.by_gravity]
    assert results == sorted(results, key=list(Result).index)
    counts = [f"{results.count(result)} {result}" for result in Result]
    assert evidence.summary == ", ".join(counts)
    assert "0 fail" not in Evidence(found, tuple(find_facts(gathered()))).summary


def test_each_host_says_by_what_it_is_proven_since_when_and_when_it_was_looked_up() -> None:
    lines = [detail.text for detail in fact("domains", gathered()).finding.details]
    assert lines == [
        f"example.com: proven by example.com (DNS record), since {LONG_AGO.day} {LONG_AGO:%B %Y}, checked on "
        f"{days_ago(2).day} {days_ago(2):%B %Y, %H:%M} UTC"
    ]


def test_each_redirect_url_is_marked() -> None:
    lines = [
        detail.text for detail in fact("redirect_hosts", gathered(asked=MIXED | {"sign_out_urls": []})).finding.details
    ]
    assert lines == ["https://example.com/cb: on a proven domain", "http://127.0.0.1:8000/cb: loopback"]


def test_a_scope_says_who_granted_it_and_which_endpoint_it_is_for() -> None:
    [line] = fact("scopes", gathered()).finding.details
    assert line.text == (
        "account.read: not approved. People who granted it: 2. In 30 days: people asked for it: 1, refused requests: "
        "0, API requests: 7 (to /v1/me/plan)"
    )


@pytest.mark.django_db
def test_calls_of_another_api_are_not_missed_for_long() -> None:
    # An API that checks tokens without this service leaves no calls.
    make_api()
    held = client(approved_scopes="calendar.write", verified_at=LONG_AGO)
    changes: dict[str, Any] = {"client": held, "asked": {"scopes": {"calendar.write": JUSTIFICATION}}}
    for use, result in (
        (ScopeUsage(), "warn"),
        (ScopeUsage(asked=1), "pass"),
        (ScopeUsage(calls=1, calls_lately=1), "pass"),
    ):
        found = fact("scopes", gathered(**changes, usage=Usage(people=1, scopes={"calendar.write": use})))
        assert found.result == result
        assert "(to Calendar)" in found.finding.details[0].text


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Orbit Notes", True), ("Welcome to ORBIT", True), ("0rbit: sign in", True), ("Privacy of notes", True),
        ("Welcome", False), ("nginx", False), ("404", False), ("Parked", False),
    ],
)  # fmt: skip
def test_a_title_matches_by_any_distinctive_word_of_the_name(title: str, names: bool) -> None:
    assert names_the_app(title, "Orbit Notes") is names


def test_a_common_word_does_not_match() -> None:
    assert not names_the_app("The app for your home", "The Orbit App")


@pytest.mark.parametrize("domain", ["gmail.com", "GMAIL.COM", "yahoo.co.jp", "hotmail.fr", "gmx.at", "qq.com"])
def test_free_mail_providers_are_recognized(domain: str) -> None:
    assert is_free_mail(domain)


@pytest.mark.parametrize(
    "domain", ["example.com", "gmail.com.example.com", "live.example.org", "yahoo", "my-gmail.com"]
)
def test_other_domains_are_not_free_mail_providers(domain: str) -> None:
    assert not is_free_mail(domain)
