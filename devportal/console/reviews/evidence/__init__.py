"""Evidence for reviewers: facts about a submission, each with its result and reason (docs/review.md#evidence)."""

from devportal.console.reviews.evidence.collecting import Evidence, collect_evidence, judge_facts
from devportal.console.reviews.evidence.facts import Detail, Fact, Result
from devportal.console.reviews.evidence.gathered import SimilarApp

__all__ = ["Detail", "Evidence", "Fact", "Result", "SimilarApp", "collect_evidence", "judge_facts"]
