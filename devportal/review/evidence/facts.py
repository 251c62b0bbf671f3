"""The facts of a review's evidence, each with a result and its reason (docs/review.md#evidence)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from core.messages import fill_in
from devportal.review.evidence.texts import TEXTS, Code


class Result(StrEnum):
    """The meaning of a fact for the decision, most serious first."""

    FAIL = "fail"
    WARN = "warn"
    PASS = "pass"


@dataclass(frozen=True)
class Detail:
    """One line below a fact. `link` is a URL of the submission, `client` the primary key of another app."""

    code: Code
    parameters: Mapping[str, Any] = field(default_factory=dict)
    link: str = ""
    client: int | None = None

    @property
    def text(self) -> str:
        """The line."""
        return fill_in(TEXTS[self.code], self.parameters)


@dataclass(frozen=True)
class Finding:
    """The finding of a rule: the result, the code of the reason, and the lines below it."""

    result: Result
    code: Code
    parameters: Mapping[str, Any]
    details: tuple[Detail, ...] = ()

    @property
    def text(self) -> str:
        """The sentence that explains the result."""
        return fill_in(TEXTS[self.code], self.parameters)


@dataclass(frozen=True)
class Fact:
    """One fact about a submission: the rule's code and title, and its finding."""

    code: str
    title: str
    finding: Finding

    @property
    def result(self) -> Result:
        return self.finding.result


def detail(code: Code, *, link: str = "", client: int | None = None, **parameters: Any) -> Detail:
    """Return a line below a fact."""
    return Detail(code, parameters, link, client)


def passed(code: Code, *details: Detail, **parameters: Any) -> Finding:
    """Return a finding that needs no attention."""
    return Finding(Result.PASS, code, parameters, details)


def warned(code: Code, *details: Detail, **parameters: Any) -> Finding:
    """Return a finding that a reviewer has to check."""
    return Finding(Result.WARN, code, parameters, details)


def failed(code: Code, *details: Detail, **parameters: Any) -> Finding:
    """Return a finding that speaks against an approval."""
    return Finding(Result.FAIL, code, parameters, details)
