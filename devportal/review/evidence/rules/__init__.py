"""The table of judges: one function for each fact, which looks at what was gathered and at nothing else."""

from collections.abc import Callable
from dataclasses import dataclass

from devportal.review.evidence.facts import Finding
from devportal.review.evidence.gathered import Gathered
from devportal.review.evidence.rules import identity, pages, past


@dataclass(frozen=True)
class Judge:
    """One fact: its code, its title, and the function that finds the result."""

    code: str
    title: str
    find: Callable[[Gathered], Finding]


JUDGES: tuple[Judge, ...] = (
    Judge("domains", "Proof of the domains", identity.judge_domains),
    Judge("redirect_hosts", "Redirect and sign-out URLs", identity.judge_redirect_hosts),
    Judge("localhost_only", "More than localhost", identity.judge_localhost),
    Judge("home_page", "Home page", pages.judge_home_page),
    Judge("privacy_policy", "Privacy policy", pages.judge_privacy_policy),
    Judge("terms", "Terms", pages.judge_terms),
    Judge("support_address", "Support address", identity.judge_support_address),
    Judge("names", "Names that read alike", identity.judge_names),
    Judge("logos", "Logos that look alike", identity.judge_logos),
    Judge("account_age", "Age of the accounts", past.judge_accounts),
    Judge("project_age", "Age of the project", past.judge_project),
    Judge("setbacks", "Earlier rejections and withdrawals", past.judge_setbacks),
    Judge("other_apps", "Other apps of owners and submitters", past.judge_other_apps),
    Judge("reports", "Reports and open cases", past.judge_reports),
    Judge("people", "People", past.judge_people),
    Judge("sign_ins", "Sign-ins and refusals", past.judge_sign_ins),
    Judge("api_calls", "API calls", past.judge_calls),
    Judge("scopes", "Scopes asked and used", past.judge_scopes),
)
