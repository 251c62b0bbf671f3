"""What the evidence of a review consists of: facts, each with a verdict and its reason (docs/review.md#evidence)."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What a fact means for the decision, the gravest first."""

    FAIL = "fail"
    WARN = "warn"
    PASS = "pass"


@dataclass(frozen=True)
class Detail:
    """One line below a fact. `address` is one of the submission's; `client` the key of another app."""

    text: str
    address: str = ""
    client: int | None = None


@dataclass(frozen=True)
class Finding:
    """What a judge found."""

    verdict: Verdict
    reason: str
    details: tuple[Detail, ...] = ()


@dataclass(frozen=True)
class Fact:
    """One fact about a submission: `reason` is a sentence that says why the verdict is what it is."""

    code: str
    title: str
    verdict: Verdict
    reason: str
    details: tuple[Detail, ...] = ()


def passed(reason: str, *details: Detail) -> Finding:
    """Return a finding that nothing speaks against."""
    return Finding(Verdict.PASS, reason, details)


def warned(reason: str, *details: Detail) -> Finding:
    """Return a finding that a reviewer has to look at."""
    return Finding(Verdict.WARN, reason, details)


def failed(reason: str, *details: Detail) -> Finding:
    """Return a finding that speaks against an approval."""
    return Finding(Verdict.FAIL, reason, details)
