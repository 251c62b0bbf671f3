"""The mend for each reason that the sign-in service can log, found by how the reason reads.

The reasons are made in oidc/; tests/console/logs/test_reasons.py collects them and fails for one without a rule.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from devportal.console.logs.redirect_mends import mend_redirect_uri
from devportal.console.logs.scope_mends import mend_host_of_review, mend_scopes
from devportal.console.mends import Mend, client_page, docs, project_page, switched_off
from devportal.console.models import SignInEvent
from oidc.models import Client
from oidc.projects.roles import Role

MendOf = Callable[[Client, SignInEvent], Mend]


@dataclass(frozen=True)
class Rule:
    """A pattern that a reason begins with, and what its mend is. `error` narrows it to one error code."""

    pattern: re.Pattern[str]
    mend: MendOf
    error: str = ""


def find_rule(error: str, reason: str) -> Rule | None:
    """Return the first rule for a reason with its error code, None if there is none."""
    return next((rule for rule in RULES if rule.error in ("", error) and rule.pattern.match(reason)), None)


def _rule(pattern: str, mend: MendOf, error: str = "") -> Rule:
    return Rule(re.compile(pattern), mend, error)


# --- Places ---


def _docs(text: str, label: str, page: str, anchor: str = "") -> MendOf:
    return lambda client, event: Mend(text, label, docs(page, anchor))


def _parameter(text: str) -> MendOf:
    return _docs(text, "Parameters of the request", "authorization", "parameters")


def _exchange(text: str) -> MendOf:
    return _docs(text, "How a code is exchanged", "tokens", "code")


def _refresh(text: str) -> MendOf:
    return _docs(text, "How to refresh", "tokens", "refresh")


def _quick_start(text: str) -> MendOf:
    return lambda client, event: Mend(text, "See the lines in the quick start", client_page(client, "quick_start"))


def _secrets(text: str, label: str) -> MendOf:
    return lambda client, event: Mend(text, label, client_page(client, "client_secrets"), Role.DEVELOPER)


def _preview(text: str) -> MendOf:
    return lambda client, event: Mend(text, "Preview the consent page", client_page(client, "review"))


def _review(client: Client, event: SignInEvent) -> Mend:
    if client.is_verified and not client.carries_badge:
        return mend_host_of_review(client, event)
    if client.is_verified:
        return Mend("The app is reviewed by now. Start a new sign-in.", "Review", client_page(client, "review"))
    text = "Send the app for review: a reviewed app has no limit of people."
    return Mend(text, "Go to the review", client_page(client, "review"), Role.DEVELOPER)


def _off(client: Client, event: SignInEvent) -> Mend:
    return switched_off(client)


def _deleted(client: Client, event: SignInEvent) -> Mend:
    text = "The project was deleted. Its clients work again once an owner has restored it."
    return Mend(text, "Project", project_page(client.project, "project"), Role.OWNER)


def _settings(text: str, label: str) -> MendOf:
    return lambda client, event: Mend(text, label, client_page(client, "client_settings"))


def _repeated(client: Client, event: SignInEvent) -> Mend:
    if client.forgive_lost_responses:
        text = "The new tokens were already in use. Let one process refresh at a time, and share its response."
        return Mend(text, "How to refresh", docs("tokens", "refresh"))
    text = "If your app did not get the last response, let the client forgive lost responses. Otherwise refresh in one "
    text += "place at a time."
    page = client_page(client, "client_settings", "lost-responses")
    return Mend(text, "Forgive lost responses", page, Role.DEVELOPER)


# --- Rules ---

_PROMPT_NONE = "prompt=none never shows a page. Send the request again without it, and the person is asked."
_REDIRECT_URI = (
    _rule(r"Differs from |No redirect URL is registered|The redirect_uri is not, character", mend_redirect_uri),
    _rule(
        r"redirect_uri is missing, repeated",
        _parameter("Send redirect_uri exactly once, as one of the registered redirect URLs."),
    ),
    _rule(
        r"redirect_uri is not the one of|redirect_uri is missing\.$",
        _exchange("Send the same redirect_uri to the token endpoint as in the authorization request."),
    ),
)
_PKCE = (
    _rule(
        r"code_challenge is missing",
        _quick_start("PKCE is required: make a code_verifier, and send the code_challenge made of it."),
    ),
    _rule(
        r"code_challenge_method must",
        _quick_start("Send code_challenge_method=S256; libraries that leave it out mean plain."),
    ),
    _rule(
        r"code_challenge must|An S256 code_challenge",
        _quick_start("The challenge is the SHA-256 of the verifier, as base64url without = at its end."),
    ),
    _rule(
        r"The code_verifier must|code_verifier is missing",
        _quick_start("Make the code_verifier of 43 to 128 random letters and digits, and send it with the code."),
    ),
    _rule(
        r"The code_verifier does not fit",
        _quick_start("Keep the code_verifier of each sign-in, and send the one that belongs to the code."),
    ),
)
_PARAMETERS = (
    _rule(r"state is missing", _quick_start("Send a random state with each request, and compare it on the way back.")),
    _rule(r"(?!claims)\w+ is longer than", _parameter("Send a shorter value: 32 random characters will do.")),
    _rule(r"response_type is missing|The only response type", _parameter("Send response_type=code.")),
    _rule(r"response_mode must", _parameter("Leave response_mode out, or send query or form_post.")),
    _rule(r"The parameter .* is repeated or unreadable", _parameter("Send the parameter once, percent-encoded UTF-8.")),
    _rule(r"client_id is repeated|No app with this client_id", _parameter("Send the client_id of the settings, once.")),
    _rule(
        r"The request is longer than|There are too many parameters|The body ",
        _docs("Send fewer or shorter parameters.", "Largest sizes", "limits", "sizes"),
    ),
    _rule(
        r"prompt must", _docs("Send prompt=none alone, or login, consent, select_account, create.", "prompt",
                              "authorization", "prompt"),
    ),
    _rule(r"max_age must", _parameter("Send max_age as a whole number of seconds.")),
    _rule(r"id_token_hint is not", _parameter("Send an ID token that this service gave the app, or leave it out.")),
    _rule(
        r"The (request|request_uri|registration) parameter is not supported",
        _parameter("Leave that parameter out, and send the others in the query."),
    ),
    _rule(
        r"claims |id_token in claims|acr in claims|essential of acr|values? of acr",
        _docs("Send claims as in the example, or leave it out.", "The parameter claims", "authorization", "more"),
    ),
)  # fmt: skip
_SCOPES = (
    _rule(
        r"scope must be names|One or more scopes|The requested scope",
        _docs("Separate the scopes by single spaces.", "Scopes", "authorization", "scopes"),
    ),
    _rule(r"scope must include openid", _docs("Add openid to the scopes.", "Scopes", "authorization", "scopes")),
    _rule(r"Unknown, or not approved for this client: ", mend_scopes),
    _rule(r"Approved for this client, but ", mend_host_of_review),
    _rule(
        r"",
        _refresh("A refresh gives no more than was granted: leave scope out, or ask for fewer."),
        error="invalid_scope",
    ),
)
_PEOPLE = (
    _rule(r"The person is not signed in", _docs(_PROMPT_NONE, "prompt", "authorization", "prompt")),
    _rule(
        r"Another person is signed in",
        _docs("The id_token_hint names somebody else. Leave it out, and without prompt=none the person can choose.",
              "prompt", "authorization", "prompt"),
    ),
    _rule(r"The person signed in .*longer ago than max_age", _docs(_PROMPT_NONE, "prompt", "authorization", "prompt")),
    _rule(r"The person has to do something", _docs(_PROMPT_NONE, "prompt", "authorization", "prompt")),
    _rule(
        r"Access was not yet granted",
        _preview(f"{_PROMPT_NONE} This is the page that comes then."),
    ),
    _rule(
        r"The project has as many people|The project’s unreviewed apps have \d+ people"
        r"|The app has as many people|\d+ people use this app",  # in entries of earlier versions
        _review,
    ),
    _rule(r"The person has allowed it, but not at", mend_host_of_review),
    _rule(
        r"The person pressed Cancel",
        _preview("Say in the app that the sign-in was cancelled, and offer to try again. See what people are asked."),
    ),
)  # fmt: skip
_LEVELS = (
    _rule(
        r"No acr value of the request",
        _docs("Ask for phr or for a level that the docs list.", "Levels", "authorization", "more"),
    ),
    _rule(
        r"The person would have to show more|The person did not sign in as strongly",
        _docs(_PROMPT_NONE, "Levels", "authorization", "more"),
    ),
    _rule(
        r"The person was asked to show more",
        _docs("Offer to try again, or go on without what needs it.", "Levels", "authorization", "more"),
    ),
)
_CLIENTS = (
    _rule(
        r"The client secret is wrong",
        _secrets("Compare the last four characters of the secret that the app sends, or create another.", "Secrets"),
    ),
    _rule(
        r"The client secret is missing",
        _secrets("Create a secret, and have the app send it in the header or in the body.", "Create a secret"),
    ),
    _rule(
        r"This secret expired",
        _secrets("The app still sends a secret that has expired. Give it the newest one.", "Secrets"),
    ),
    _rule(
        r"A secret was sent, and clients",
        _settings("Send client_id and no secret. An app with a server of its own can become a web client.", "Type"),
    ),
    _rule(
        r"The client authenticates in two ways|two client ids|The Authorization header|not Basic|Basic |"
        r"No client is named|The client id is unknown|unknown client",
        _exchange("Authenticate in one way: in the Authorization header, or in the body."),
    ),
    _rule(r"The client is turned off|The project (of the client )?is suspended", _off),
    _rule(r"The project (of the client )?is deleted", _deleted),
)
_TOKENS = (
    _rule(r"The code is unknown", _exchange("Send the code as it arrived, with the client_id that asked for it.")),
    _rule(
        r"The code was used before",
        _exchange("Exchange each code once. Often a page is loaded twice: leave the redirect URL with a redirect."),
    ),
    _rule(r"code is missing\.$", _exchange("Send the code that came with the redirect.")),
    _rule(r"refresh_token is missing\.$", _refresh("Send the stored refresh token; offline_access asks for one.")),
    _rule(
        r"token is missing\.$|This type of token",
        _docs("Send the refresh token as token, and leave token_type_hint out.", "Revocation", "revocation"),
    ),
    _rule(r"The code is older than|The code has expired", _exchange("Exchange the code as soon as it arrives.")),
    _rule(
        r"Another request with the same",
        _docs("Send one request at a time, and share its answer.", "invalid_grant", "errors", "token-invalid_grant"),
    ),
    _rule(r"The refresh token is unknown", _refresh("Send the newest refresh token, with the client_id that got it.")),
    _rule(r"The refresh token has expired", _refresh("Have the person sign in again.")),
    _rule(r"The refresh token was superseded a moment ago", _repeated),
    _rule(
        r"The refresh token was superseded",
        _refresh("Store the refresh token of every answer before using it, and let one process refresh at a time."),
    ),
    _rule(
        r"The authorization has ended: refresh token reused",
        _refresh("An old refresh token came back, so all ended. Store the newest one of each answer."),
    ),
    _rule(
        r"The authorization has ended: (code replayed|answered again)",
        _exchange("The code was sent or asked for twice, so all of it ended. Have the person sign in again."),
    ),
    _rule(
        r"The authorization has ended|The person removed",
        _docs("Nothing to mend: it was ended on purpose. Have the person sign in again.", "invalid_grant", "errors",
              "token-invalid_grant"),
    ),
    _rule(
        r"grant_type (is missing|must be)|This client may not use this grant_type",
        _docs("Send grant_type=authorization_code or refresh_token.", "unsupported_grant_type", "errors",
              "token-unsupported_grant_type"),
    ),
)  # fmt: skip
_SERVICE = (
    _rule(
        r"The request is malformed\.$",
        _docs("Compare the request with the example of its endpoint.", "Errors of the endpoints", "errors", "token"),
    ),
    _rule(
        r"The service |Try again|Too many requests",
        _docs("Try again. If it stays, report the request id.", "Errors", "errors", "authorization"),
    ),
)
RULES: tuple[Rule, ...] = (
    *_REDIRECT_URI,
    *_PKCE,
    *_PARAMETERS,
    *_SCOPES,
    *_PEOPLE,
    *_LEVELS,
    *_CLIENTS,
    *_TOKENS,
    *_SERVICE,
)
