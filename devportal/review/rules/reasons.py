"""The reasons for decisions: stored code, title for reviewers, and text for developers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from devportal.review.rules.workflow import IncompleteSubmission

OTHER = "other"


@dataclass(frozen=True)
class ReviewReason:
    """One reason. `text` says what is wrong and what to do next. Developers read it in the console and in emails."""

    code: str
    title: str
    text: str


def _table(*rows: tuple[str, str, str]) -> Mapping[str, ReviewReason]:
    return {code: ReviewReason(code, title, text) for code, title, text in rows}


# Reasons for requesting changes or rejecting an app.
REASONS = _table(
    (
        "name_misleading",
        "The name misleads",
        "The name could make people think that the app is someone else's, or does something that it doesn't. Choose "
        "a name that can't be mistaken for another app.",
    ),
    (
        "logo_too_close",
        "The logo is too similar to another one",
        "The logo looks too much like that of another app or company. Use a different one, or explain in an answer "
        "why you may use it.",
    ),
    (
        "logo_unclear",
        "The logo is not recognizable",
        "The logo can't be recognized at the size at which people see it. Upload a square picture with little text, "
        "at least 128 pixels wide.",
    ),
    (
        "home_page_unreachable",
        "The home page can't be reached",
        "We could not open the home page. Make sure that it opens without signing in, from anywhere, and over https.",
    ),
    (
        "home_page_about_something_else",
        "The home page does not describe the app",
        "The home page does not say what this app is. It should name the app and tell visitors what it does.",
    ),
    (
        "privacy_policy_missing",
        "The privacy policy is missing",
        "We could not find a privacy policy at the URL that you gave. Publish one there that anyone can read.",
    ),
    (
        "privacy_policy_about_something_else",
        "The privacy policy is not about this app",
        "The privacy policy does not cover this app. It should name the app, say which data it reads here, what it "
        "does with them, and how people have them deleted.",
    ),
    (
        "justification_vague",
        "A justification is too vague",
        "A justification does not say enough. For each scope, name the feature that needs it and what that feature "
        "shows or does with what it reads.",
    ),
    (
        "scope_not_needed",
        "A scope is not needed",
        "The app can do what you describe with less access. Remove the scope, or explain what would not work without "
        "it.",
    ),
    (
        "redirect_url_foreign",
        "A redirect URL is not on the app's domain",
        "A redirect URL leads to a domain that doesn't seem to be yours. Remove it, or explain in an answer how it "
        "belongs to the app.",
    ),
    (
        "support_address_missing",
        "The support email address does not work",
        "Mail to the support email address does not arrive, or nobody replies. Give an email address that people can "
        "write to.",
    ),
    (
        "could_not_test",
        "We could not try the app",
        "We could not sign in to the app and use it. Tell us in an answer how to do that, and keep the app turned on "
        "during the review.",
    ),
    (
        "against_the_rules",
        "What the app does is not allowed here",
        "What the app does, or how it does it, is not allowed on this service. The reviewer's note says what.",
    ),
    (OTHER, "Something else", "See the reviewer's note."),
)

# Reasons for withdrawing an approval or suspending a project.
SUSPENSION_REASONS = _table(
    ("changed_since_review", "Not what was reviewed", "The app is no longer what was reviewed."),
    ("misuse_of_data", "Misuse of data", "The app used people's data for a purpose that they were not told about."),
    ("imitation", "Imitates another", "The app pretends to be someone else's."),
    ("harmful", "Harmful", "The app harms people or their devices."),
    ("unsafe", "Unsafe", "The app or its secrets are not secure at the moment, which puts people at risk."),
    ("unreachable", "Nobody answers", "Nobody replies at the contact addresses that you gave."),
    ("at_your_request", "At the developer's request", "You asked us to do this."),
    (OTHER, "Something else", "See the reviewer's note."),
)


def validate_reasons(codes: Iterable[str], text: str, table: Mapping[str, ReviewReason] = REASONS) -> list[str]:
    """Return the codes without duplicates, in order.

    Raises IncompleteSubmission if no reason is given, one is unknown, or a required note is missing.
    """
    named = set(codes)
    if not named:
        raise IncompleteSubmission("Choose at least one reason.")
    if named - set(table):
        raise IncompleteSubmission("Choose only reasons from the list.")
    if named & {OTHER, "against_the_rules"} and not text.strip():
        raise IncompleteSubmission("Write a note that explains the reason.")
    return [code for code in table if code in named]


def reason_texts(codes: Iterable[str]) -> list[str]:
    """Return the texts for developers of these codes. Codes that no longer exist are skipped."""
    known = {**SUSPENSION_REASONS, **REASONS}
    return [known[code].text for code in codes if code in known and code != OTHER]
