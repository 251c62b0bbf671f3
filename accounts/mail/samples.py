"""Samples of every email: for the preview in the admin, and for tests (docs/mail.md#samples).

Each layer registers the samples of its own mails.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_DARK_ONLY = "(prefers-color-scheme: dark)"  # the media query in templates/mail/base.html


@dataclass(frozen=True)
class Sample:
    """The email of one template: its title, what causes it, who gets it, and a context for each named case."""

    title: str
    cause: str
    to: str
    cases: Mapping[str, Mapping[str, Any]]


_samples: dict[str, Sample] = {}


def register(samples: Mapping[str, Sample]) -> None:
    """Add samples, by the name of their template."""
    _samples.update(samples)


def all_samples() -> dict[str, Sample]:
    """Return the samples by the name of their template, ordered by their titles."""
    return dict(sorted(_samples.items(), key=lambda item: item[1].title))


def in_scheme(html: str, *, dark: bool) -> str:
    """Return an email's HTML as it looks with or without the dark scheme."""
    return html.replace(_DARK_ONLY, "all" if dark else "not all")
