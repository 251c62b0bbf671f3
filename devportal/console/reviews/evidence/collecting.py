"""The evidence of a review: what was gathered, judged fact by fact."""

from dataclasses import dataclass
from functools import cached_property

from devportal.console.models import AppReview
from devportal.console.reviews.evidence.facts import Fact, Result
from devportal.console.reviews.evidence.gathered import Gathered
from devportal.console.reviews.evidence.gathering import gather
from devportal.console.reviews.evidence.judges import JUDGES


@dataclass(frozen=True)
class Evidence:
    """The facts about a submission, and what they were judged from."""

    gathered: Gathered
    facts: tuple[Fact, ...]

    @cached_property
    def by_gravity(self) -> list[Fact]:
        """The facts that fail first, then those that warn; otherwise in the order of the judges."""
        order = list(Result)
        return sorted(self.facts, key=lambda fact: order.index(fact.result))

    @property
    def summary(self) -> str:
        """How many there are of each result: "2 fail, 3 warn, 11 pass"."""
        results = [fact.result for fact in self.facts]
        counts = [(results.count(result), result.value) for result in Result]
        return ", ".join(f"{count} {result}" for count, result in counts if count)


def collect_evidence(review: AppReview) -> Evidence:
    """Return the evidence on what a review asks for, in a bounded number of SQL statements."""
    found = gather(review)
    return Evidence(found, tuple(judge_facts(found)))


def judge_facts(found: Gathered) -> list[Fact]:
    """Return a fact of each judge; nothing but what was gathered counts."""
    return [Fact(judge.code, judge.title, judge.find(found)) for judge in JUDGES]
