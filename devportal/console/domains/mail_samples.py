"""Samples of the mails about domains (docs/mail.md#samples)."""

from datetime import UTC, datetime
from typing import Any

from accounts.mail.samples import Sample, register
from devportal.console.reviews.mail_samples import TEAM
from oidc.domains.problems import Code, Problem
from oidc.models import ProjectDomain

Method = ProjectDomain.Method

_CONTEXT: dict[str, Any] = {
    "domain": "example.com",
    "project": "Orbit",
    "was_lost": False,
    "until": datetime(2031, 12, 24, 8, 0, tzinfo=UTC),
    "problems": [Problem(Method.DNS, Code.NO_RECORD), Problem(Method.FILE, Code.NO_FILE, {"status": 404})],
    "link": "https://id.example.com/console/p/prj_sample/domains",
}

register(
    {
        "domain_missing": Sample(
            "Domain: proof missing", "The proof of a domain is not found any more", TEAM, {"": _CONTEXT}
        ),
        "domain_lost": Sample("Domain: lost", "A proof is still missing when the grace is over", TEAM, {"": _CONTEXT}),
        "domain_found": Sample(
            "Domain: found again",
            "A proof that was missing or lost is there again",
            TEAM,
            {"that was missing": _CONTEXT, "that was lost": _CONTEXT | {"was_lost": True}},
        ),
        "domain_narrowed": Sample(
            "Domain: proven by file", "A domain is proven by file and no longer by DNS", TEAM, {"": _CONTEXT}
        ),
    }
)
