"""Evidence for reviewers: facts about a submission, each with its verdict and reason (docs/review.md#evidence)."""

from devportal.console.reviews.evidence.collecting import Evidence, collect_evidence, judge_facts
from devportal.console.reviews.evidence.facts import Detail, Fact, Verdict
from devportal.console.reviews.evidence.gathered import SimilarApp

__all__ = ["Detail", "Evidence", "Fact", "SimilarApp", "Verdict", "collect_evidence", "judge_facts"]
