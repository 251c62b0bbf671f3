"""The funnel of sign-ins: from the request to the tokens, and what was lost on the way (docs/console.md#analytics)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from devportal.console.usage.report import format_percent
from oidc.sign_in_steps import Step

Counts = Mapping[tuple[str, str], int]  # by step and error

AT_CONSENT = "access_denied"  # what Cancel on the consent page tells the app; elsewhere it tells another error


@dataclass(frozen=True)
class Loss:
    """One reason why requests ended: in words, how many, and its step and error for a link to the log."""

    text: str
    count: int
    step: str = ""
    error: str = ""


@dataclass(frozen=True)
class Stage:
    """One stage: its name, what it means, how many reached it, of how many in all, and what was lost before it."""

    name: str
    meaning: str
    count: int
    of: int
    lost: int = 0
    losses: Sequence[Loss] = ()

    @property
    def share(self) -> str:
        return format_percent(self.count, self.of)

    @property
    def lost_share(self) -> str:
        return format_percent(self.lost, self.of)


def total(counts: Counts, *steps: Step) -> int:
    """Return how often any of these steps was taken."""
    return sum(times for (step, _), times in counts.items() if step in steps)


def losses_of(counts: Counts, text: str, *steps: Step, only: str = "", but: str = "") -> list[Loss]:
    """Return what these steps lost, by error, the most frequent first; `only` and `but` narrow to errors."""
    found = [
        Loss(text, times, step, error)
        for (step, error), times in counts.items()
        if step in steps and (not only or error == only) and error != but
    ]
    return sorted(found, key=lambda loss: (-loss.count, loss.error))


def build_funnel(counts: Counts) -> list[Stage]:
    """Return the stages. What was lost without a word is the rest: people who closed the page, or are still there."""
    silent = total(counts, Step.SILENT)
    started = total(counts, Step.STARTED) + silent
    skipped = total(counts, Step.SKIPPED)
    asked = total(counts, Step.SHOWN) + skipped
    allowed = total(counts, Step.ALLOWED) + skipped
    issued, exchanged = total(counts, Step.ISSUED), total(counts, Step.EXCHANGED)
    before = losses_of(counts, "cancelled", Step.CANCELLED, but=AT_CONSENT) + losses_of(counts, "refused", Step.REFUSED)
    at_consent = losses_of(counts, "cancelled", Step.CANCELLED, only=AT_CONSENT)
    late = losses_of(counts, "attempts refused", Step.NOT_EXCHANGED)
    hidden = f", {silent:,} of them without a page (prompt=none)" if silent else ""
    return [
        Stage("Started", f"Valid requests{hidden}.", started, started),
        _stage("Consent", f"Saw the consent page, or had no need to ({skipped:,}).", asked, started, started, before),
        _stage("Allowed", "Pressed Allow, or had allowed before.", allowed, asked, started, at_consent),
        _stage("Code issued", "The app was sent a code.", issued, allowed, started, []),
        _stage(
            "Signed in", "The app fetched tokens for it.", exchanged, issued, started, late, "never fetched, or not yet"
        ),
    ]


def _stage(
    name: str,
    meaning: str,
    count: int,
    before: int,
    started: int,
    losses: list[Loss],
    text: str = "left, or not finished yet",
) -> Stage:
    """Return a stage; `text` is for what was lost and has no reason."""
    lost = max(before - count, 0)
    rest = max(lost - sum(loss.count for loss in losses), 0)
    return Stage(name, meaning, count, started, lost, [*losses, *([Loss(text, rest)] if rest else [])])
