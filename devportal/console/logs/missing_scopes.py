"""The fix of a call that was refused for a missing scope: what it needs, what the token has, and what to do next."""

from collections.abc import Collection, Sequence

from api.models import RequestLog
from core.messages import Text, fill_in
from devportal.console.clients.scope_states import State, scope_states
from devportal.console.fixes import Fix, client_page, docs, project_page
from oidc.models import Client, Project
from oidc.projects.roles import Role

_NEEDS = ("The call needs the scope {names}.", "The call needs the scopes {names}.")
_NEEDS_ONE = ("The call needs the scope {names}.", "The call needs one of the scopes {names}.")
_TOKEN_HAS = ("The token has the scope {names}.", "The token has the scopes {names}.")
_TOKEN_HAS_NONE = "The token has no scope of this API that is still granted and approved."
_KEY_HAS = ("The key has the scope {names}.", "The key has the scopes {names}.")
_KEY_HAS_NONE = "The key has no scope of this API."
_NEW_KEY = "The scopes of a key can’t be changed. Create a key with the scopes that the request needs."
_NOT_OF_THE_API = (
    "The proxy in front of the API requires a scope that the API does not have. Report this to the service."
)
_REQUEST_ANY = (
    "Request a scope of the API in the authorization request. People are asked again, and new tokens have it."
)
_NEXT: dict[State, Text] = {
    State.IN_REVIEW: (
        "The scope {names} is waiting for review. Request it at sign-in once it is approved.",
        "The scopes {names} are waiting for review. Request them at sign-in once they are approved.",
    ),
    State.DRAFT: (
        "The scope {names} is in a review that you have not submitted yet. Submit it.",
        "The scopes {names} are in a review that you have not submitted yet. Submit it.",
    ),
    State.NEEDS_REVIEW: (
        "The scope {names} needs app review first. Request it there.",
        "The scopes {names} need app review first. Request them there.",
    ),
    State.KEPT: (
        "The scope {names} now needs app review for people who have not granted it before. Request it there.",
        "The scopes {names} now need app review for people who have not granted them before. Request them there.",
    ),
    State.FREE: (
        "Request the scope {names} in the authorization request. People are asked again, and new tokens have it.",
        "Request the scopes {names} in the authorization request. People are asked again, and new tokens have them.",
    ),
}


def fix_of_missing_scope(row: RequestLog, project: Project, client: Client | None) -> Fix:
    """Return the fix of a call with the code `insufficient_scope`. `client` is its app, None for a key.

    Takes one SQL statement for the review of the app.
    """
    facts = row.parameters
    needs, one_of, has = facts.get("needs", []), facts.get("one_of", []), facts.get("has", [])
    if facts.get("needs") == []:
        return Fix(_NOT_OF_THE_API, "insufficient_scope", docs("errors", "api-insufficient_scope"))
    sentences = [_counted(_NEEDS if needs else _NEEDS_ONE, needs or one_of)] if needs or one_of else []
    if row.client:
        sentences.append(_counted(_TOKEN_HAS, has) if has else _TOKEN_HAS_NONE)
    else:
        sentences.append(_counted(_KEY_HAS, has) if has else _KEY_HAS_NONE)
    if not row.client:
        return _fix([*sentences, _NEW_KEY], "Create a key", project_page(project, "key_new"), Role.DEVELOPER)
    if client is None:
        return _fix(sentences, "insufficient_scope", docs("errors", "api-insufficient_scope"))
    missing = [name for name in needs if name not in has]
    return _of_client(client, row, sentences, missing, one_of)


def _of_client(client: Client, row: RequestLog, sentences: list[str], missing: list[str], one_of: list[str]) -> Fix:
    states = scope_states(client)
    by_state: dict[State, list[str]] = {}
    for name in missing or one_of:
        state = states.get(name, State.FREE)
        by_state.setdefault(State.FREE if state == State.APPROVED else state, []).append(name)
    if one_of and State.FREE in by_state:
        by_state = {State.FREE: by_state[State.FREE]}
    sentences += [_counted(text, by_state[state]) for state, text in _NEXT.items() if state in by_state]
    if by_state.keys() - {State.FREE}:
        return _fix(sentences, "Go to the review", client_page(client, "review"), Role.DEVELOPER)
    if row.api:
        more = [] if by_state else [_REQUEST_ANY]
        return _fix(sentences + more, "Scopes of each API", client_page(client, "client_settings", "scopes"))
    page = "me_plan" if row.path.startswith("/v1/me/plan") else "me"
    return _fix(sentences, "Scope of each endpoint", docs(page, "access"))


def _fix(sentences: Sequence[str], label: str, url: str, at_least: str = Role.VIEWER) -> Fix:
    return Fix(" ".join(sentences), label, url, at_least)


def _counted(text: Text, names: Collection[str]) -> str:
    return fill_in(text, {"names": list(names), "count": len(names)})
