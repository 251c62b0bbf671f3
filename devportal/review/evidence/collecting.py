"""The evidence of a review, and the context of its page."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode

from devportal.review.evidence.facts import Detail, Fact, Result
from devportal.review.evidence.gathered import Gathered, is_web
from devportal.review.evidence.gathering import gather
from devportal.review.evidence.rules import RULES
from devportal.review.models import AppReview


@dataclass(frozen=True)
class Evidence:
    """The facts about a submission, and the data that the rules checked."""

    gathered: Gathered
    facts: tuple[Fact, ...]

    @cached_property
    def by_gravity(self) -> list[Fact]:
        """The facts in the order of the rules, with failures first, then warnings."""
        order = list(Result)
        return sorted(self.facts, key=lambda fact: order.index(fact.result))

    @property
    def summary(self) -> str:
        """The number of each result: "2 fail, 3 warn, 11 pass"."""
        results = [fact.result for fact in self.facts]
        counts = [(results.count(result), result.value) for result in Result]
        return ", ".join(f"{count} {result}" for count, result in counts if count)


def collect_evidence(review: AppReview) -> Evidence:
    """Return the evidence about a review's submission, in a bounded number of SQL statements."""
    found = gather(review)
    return Evidence(found, tuple(find_facts(found)))


def evidence_of(review: AppReview) -> Evidence:
    """Return the evidence about a review, collected once for this object, so that a page and its forms share it.

    Steps read the review again under its lock, and so its evidence as well.
    """
    found: Evidence | None = review.__dict__.get("_evidence")
    if found is None:
        found = review.__dict__["_evidence"] = collect_evidence(review)
    return found


def find_facts(found: Gathered) -> list[Fact]:
    """Return a fact from each rule. The rules use only the gathered data."""
    return [Fact(rule.code, rule.title, rule.find(found)) for rule in RULES]


_ABOUT_PEOPLE = frozenset(rule.code for rule in RULES if rule.about_people)
# Marks that distinguish the results without color, in addition to the word.
_MARKS = {Result.FAIL: "✕", Result.WARN: "!", Result.PASS: "✓"}


def evidence_context(review: AppReview, *, may_decide: bool) -> dict[str, Any]:
    """Return what the template `admin/review/partials/evidence.html` shows as `evidence`.

    `may_decide`: whether this person may decide on the app. Others see no facts about people, and can't request another
    check of the app's pages.
    """
    found = evidence_of(review)
    if not may_decide:
        found = replace(found, facts=tuple(fact for fact in found.facts if fact.code not in _ABOUT_PEOPLE))
    again = reverse("admin:review_appreview_check_again", args=[review.pk])
    return {
        "summary": found.summary,
        "domains": found.gathered.domains,  # read once for the whole page
        "open": [_fact(review, fact) for fact in found.by_gravity if fact.result != Result.PASS],
        "passed": [_fact(review, fact) for fact in found.by_gravity if fact.result == Result.PASS],
        "check_again_url": again if review.revision and may_decide else "",
    }


def leaving_link(review: AppReview, address: str, text: str) -> dict[str, str]:
    """Return a line that links to the page that opens a developer's URL; no page links to such URLs directly."""
    if not is_web(address):
        return {"text": text, "url": ""}
    page = reverse("admin:review_appreview_leave", args=[review.pk])
    return {"text": text, "url": f"{page}?{urlencode({'to': address})}"}


def _fact(review: AppReview, fact: Fact) -> dict[str, Any]:
    return {
        "code": fact.code,
        "title": fact.title,
        "result": fact.result.value,
        "mark": _MARKS[fact.result],
        "reason": fact.finding.text,
        "lines": [_line(review, detail) for detail in fact.finding.details],
    }


def _line(review: AppReview, detail: Detail) -> dict[str, str]:
    if detail.client is None:
        return leaving_link(review, detail.link, detail.text)
    reviews = reverse("admin:review_appreview_changelist")
    return {"text": detail.text, "url": f"{reviews}?{urlencode({'client__id__exact': detail.client})}"}
