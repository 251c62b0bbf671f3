"""The table of rules: one function for each fact. It uses only the gathered data."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from devportal.review.evidence.facts import Finding
from devportal.review.evidence.gathered import Gathered
from devportal.review.evidence.rules import identity, pages, past


@dataclass(frozen=True)
class Rule:
    """A rule: the fact's code and title, and the function that finds the result.

    Facts `about_people` and their other projects are hidden from reviewers with a conflict of interest.
    """

    code: str
    title: str
    find: Callable[[Gathered], Finding]
    about_people: bool = False


RULES: tuple[Rule, ...] = (
    Rule("domains", "Proof of the domains", identity.check_domains),
    Rule("redirect_hosts", "Redirect and sign-out URLs", identity.check_redirect_hosts),
    Rule("localhost_only", "A redirect URL besides localhost", identity.check_localhost),
    Rule("home_page", "Home page", partial(pages.check_page, field="home_page_url")),
    Rule("privacy_policy", "Privacy policy", partial(pages.check_page, field="privacy_policy_url")),
    Rule("terms", "Terms", partial(pages.check_page, field="terms_url")),
    Rule("support_address", "Support email address", identity.check_support_address),
    Rule("names", "Similar names", identity.check_names),
    Rule("brands", "Well-known brands", identity.check_brands),
    Rule("logos", "Similar logos", identity.check_logos),
    Rule("account_age", "Age of the accounts", past.check_accounts, about_people=True),
    Rule("project_age", "Age of the project", past.check_project),
    Rule("setbacks", "Earlier rejections and withdrawals", past.check_setbacks),
    Rule("other_apps", "Other apps of owners and submitters", past.check_other_apps, about_people=True),
    Rule("reports", "Reports and open cases", past.check_reports, about_people=True),
    Rule("people", "People", past.check_people),
    Rule("sign_ins", "Sign-ins and refusals", past.check_sign_ins),
    Rule("api_calls", "API requests", past.check_calls),
    Rule("scopes", "Scopes requested and used", past.check_scopes),
)
