"""The checklist of a submission, and the URLs that need a proven domain."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.core.exceptions import ValidationError

from devportal.review.cases.cases import unreviewed_scopes
from devportal.review.models import AppReview
from devportal.review.rules.snapshots import UNSENT, Snapshot, client_values, has_changes, working_snapshot
from devportal.review.rules.timeline import Point
from oidc.clients.domain_names import hosts_of, proven_domains, unproven_hosts
from oidc.clients.reviewed_hosts import set_approved_hosts
from oidc.domains.branding import FIELD_VALIDATORS, foreign_hosts, validate_page_url
from oidc.models import Client, ProjectDomain
from oidc.values.redirect_uris import LOOPBACK_HOSTS

PAGE_FIELDS = ("home_page_url", "privacy_policy_url", "terms_url")


def addresses_to_prove(asked: Snapshot) -> list[str]:
    """Return the URLs of a submission whose hosts must be on proven domains, without loopback URLs."""
    pages = [asked[field] for field in PAGE_FIELDS if asked[field]]
    return [*pages, *asked["redirect_urls"], *asked["sign_out_urls"]]


def cover_submission(client: Client, review: AppReview, shown: Collection[str]) -> None:
    """Set the hosts and domains that an approval covers on client and review. The caller saves both.

    `shown` are the domains that the reviewers saw. A domain that was proven after that is not covered.
    """
    sent = client_values(client) | review.snapshot
    set_approved_hosts(client, sent["redirect_urls"], addresses_to_prove(sent), shown)
    review.snapshot = {**review.snapshot, "domains": client.approved_domains.split()}


def domains_to_cover(asked: Snapshot, domains: Iterable[ProjectDomain]) -> list[str]:
    """Return the names of the project's proven domains on which a submission has URLs."""
    return proven_domains(hosts_of(addresses_to_prove(asked)), domains)


def hosts_to_prove(client: Client, asked: Snapshot) -> list[str]:
    """Return the hosts of a submission that are not on a proven domain of the project."""
    return unproven_hosts(client.project, addresses_to_prove(asked))


def why_not_approvable(client: Client, asked: Snapshot) -> str:
    """Return a message for the reviewer about why the submission can't be approved, or ""."""
    if unproven := hosts_to_prove(client, asked):
        return f"The project has not proven {', '.join(unproven[:5])}, so this can't be approved."
    if asked["type"] != client.type:
        return "The app's type changed after the submission. Request changes, so that the developers submit it again."
    return ""


MIN_JUSTIFICATION_LENGTH = 20  # characters; shorter texts say too little


BRANDING_PAGE = "console:branding"
REVIEW_PAGE = "console:review"


@dataclass(frozen=True)
class Requirement:
    """One item of the checklist. `blocks` means that it is required to submit; otherwise it is advice.

    It is fixed on the page `url_name`, at `field` of its form unless that is empty.
    """

    code: str
    title: str
    done: bool
    blocks: bool
    help: str
    url_name: str = REVIEW_PAGE
    field: str = ""

    @property
    def error(self) -> str:
        """The error text of the field while this is not done."""
        return f"Required to submit. {self.help}"


def field_of(kind: str, scope: str) -> str:
    """Return the name of a form field about a scope, without characters that have a meaning in CSS selectors.

    Different scopes have different names, because only dots become underscores.
    """
    return f"{kind}_{''.join(map(_part_of_name, scope))}"


def _part_of_name(character: str) -> str:
    if character == ".":
        return "_"
    return character if character.isascii() and character.isalnum() else f"-{ord(character):x}-"


def _is_fine(field: str, value: str) -> bool:
    try:
        FIELD_VALIDATORS[field](value)
    except ValidationError:
        return False
    return bool(value)


def submission_requirements(
    client: Client, snapshot: Snapshot | None = None, points: Sequence[Point] = ()
) -> list[Requirement]:
    """Return the checklist of `snapshot`, by default of the developers' working values.

    `points` are the reviewers' requests that need an answer.
    """
    asked = working_snapshot(client) if snapshot is None else snapshot
    return [*_answers(points, asked), *_of_the_text(asked), *_of_the_scopes(asked), *_of_the_app(client, asked),
            *_advice(client, asked)]  # fmt: skip


def _answers(points: Sequence[Point], asked: Snapshot) -> list[Requirement]:
    answers = asked.get(UNSENT, {}).get("answers", {})
    return [
        Requirement(
            f"answer_{point.code}",
            f"An answer to “{point.title}”",
            bool(answers.get(point.code, "").strip()),
            True,
            "Explain what you did about it, or why nothing was done.",
            field=f"answer_{point.code}",
        )
        for point in points
    ]


def _of_the_text(asked: Snapshot) -> list[Requirement]:
    return [
        Requirement(code, title, _is_fine(field, asked[field]), True, help_text, BRANDING_PAGE, field)
        for code, field, title, help_text in (
            ("name", "name", "A name", "People read it on the consent page."),
            (
                "home_page",
                "home_page_url",
                "A home page over https",
                "It explains what the app is. Its domain is shown once the app is reviewed.",
            ),
            (
                "privacy_policy",
                "privacy_policy_url",
                "A privacy policy",
                "It names the app and explains what happens to the data that it reads.",
            ),
            ("support_address", "support_address", "A support email address", "People and reviewers write to it."),
        )
    ]


def _of_the_scopes(asked: Snapshot) -> list[Requirement]:
    rows = []
    for scope, text in asked["scopes"].items():
        is_said = len(text.strip()) >= MIN_JUSTIFICATION_LENGTH
        more = "Which feature needs it, and what it does with the data." if is_said else _more(text)
        rows.append(
            Requirement(f"why_{scope}", f"A justification for {scope}", is_said, True, more,
                        field=field_of("why", scope))
        )  # fmt: skip
        rows.append(
            Requirement(
                f"place_{scope}",
                f"Where {scope} is used",
                bool(asked["places"].get(scope, "").strip()),
                True,
                "The page or the feature of the app in which reviewers find it.",
                field=field_of("place", scope),
            )
        )
    return [*rows, _demo(asked)] if asked["scopes"] else rows


def _more(text: str) -> str:
    if text.strip():
        return f"Say more: at least {MIN_JUSTIFICATION_LENGTH} characters on what needs it."
    return f"At least {MIN_JUSTIFICATION_LENGTH} characters on what needs it."


def _demo(asked: Snapshot) -> Requirement:
    scopes = ", ".join(asked["scopes"])
    more = f"Reviewers see there what {scopes} is used for." if scopes else "It saves questions from reviewers."
    is_given = _is_page(asked["demo_url"])
    return Requirement("demo", "A demo or a video", is_given, bool(scopes), more, field="demo_url")


def _is_page(url: str) -> bool:
    try:
        validate_page_url(url)
    except ValidationError:
        return False
    return True


def _of_the_app(client: Client, asked: Snapshot) -> list[Requirement]:
    settings = "console:client_settings"
    news = (
        []
        if not client.is_verified
        else [
            Requirement(
                "something_new",
                "Something to review",
                has_changes(client, asked) or bool(unreviewed_scopes(client)),
                True,
                "Nothing differs from the approved version yet.",
            )
        ]
    )
    has_url = bool(asked["redirect_urls"])
    return [
        Requirement("redirect_urls", "A redirect URL", has_url, True, "Without one, nobody can sign in.", settings),
        domains_requirement(client, asked),
        Requirement("turned_on", "The app is turned on", client.is_on, True, "Reviewers sign in to it.", settings),
        *news,
    ]


def domains_requirement(client: Client, asked: Snapshot) -> Requirement:
    """Return the item about domains: pages, redirect and sign-out URLs must be on proven domains of the project."""
    unproven = hosts_to_prove(client, asked)
    more = (
        f"Prove {', '.join(unproven[:5])}."
        if unproven
        else "Every page and redirect URL is on a domain that you have proven."
    )
    return Requirement("domains", "Proven domains", not unproven, True, more, "console:domains")


def _advice(client: Client, asked: Snapshot) -> list[Requirement]:
    settings = "console:client_settings"
    foreign = foreign_hosts(asked["home_page_url"], asked["redirect_urls"])
    ask = f"Reviewers will ask about {', '.join(foreign[:5])}." if foreign else "Reviewers check this first."
    is_live = client.type == Client.Type.NATIVE or not _on_loopback(asked["redirect_urls"])
    leave_out = "Remove the URLs that you only use for development."
    has_people = client.connections.exists()
    letter, read = (
        "Without one, people see the first letter of the name.",
        "If the app has terms, people want to read them.",
    )
    return [
        Requirement("logo", "A logo", bool(asked["logo"]), False, letter, BRANDING_PAGE, "logo"),
        Requirement("terms", "Terms", bool(asked["terms_url"]), False, read, BRANDING_PAGE, "terms_url"),
        *([] if asked["scopes"] else [_demo(asked)]),
        Requirement("own_domain", "Redirect URLs on the home page's domain", not foreign, False, ask, settings),
        Requirement("no_loopback", "No redirect URL on localhost", is_live, False, leave_out, settings),
        Requirement(
            "signed_in",
            "Someone has signed in",
            has_people,
            False,
            "Try the app before reviewers do.",
            "console:quick_start",
        ),
    ]


def _on_loopback(urls: list[str]) -> bool:
    return any(url.startswith(f"http://{host}") for url in urls for host in LOOPBACK_HOSTS)


def missing_among(items: Sequence[Requirement]) -> list[Requirement]:
    """Return the required items of a checklist that are not done."""
    return [item for item in items if item.blocks and not item.done]
