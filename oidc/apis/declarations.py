"""Declaring, changing and deleting APIs, for the admin and for provisioned files (docs/apis.md).

Forms and files check each value with oidc/apis/validation.py, to name it in the error. The functions here check again,
together with the rules about several values.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from accounts.models import Account
from core.audit import Event, changes, report
from oidc.apis import validation
from oidc.apis.registry import comparable
from oidc.apis.scope_review import ScopesToReview
from oidc.apis.uses import use_messages, uses_of
from oidc.models import Api, ApiRule, ApiScope

# The columns of an API and of a scope that may change, with the validation of each text and number.
API_COLUMNS: Mapping[str, Callable[[Any], None] | None] = {
    "name": validation.validate_line,
    "identifier": validation.validate_identifier,
    "description": validation.validate_text,
    "documentation_url": validation.validate_url,
    "openapi_url": validation.validate_url,
    "enabled": None,
    "calls_per_minute": validation.validate_limit,
    "calls_per_person_per_minute": validation.validate_limit,
}
SCOPE_COLUMNS: Mapping[str, Callable[[Any], None] | None] = {
    "title": validation.validate_line,
    "description": validation.validate_text,
    "sensitive": None,
    "needs_approval": None,
    "api_keys": None,
}
_MAY_BE_EMPTY = ("description", "documentation_url", "openapi_url")


@dataclass(frozen=True)
class Declaration:
    """What to change about an API. Anything that is left out stays as it is.

    `columns` are those of API_COLUMNS. Each scope has its `name` and some of SCOPE_COLUMNS; it is created, or changed
    if it exists. `rules` are method, path and name of the scope, in order; they replace all rules.
    """

    columns: Mapping[str, Any]
    scopes: Sequence[Mapping[str, Any]] = ()
    removed_scopes: Collection[str] = ()
    rules: Sequence[tuple[str, str, str]] | None = None


def create_api(slug: str, declaration: Declaration, actor: Account | None = None) -> Api:
    """Declare an API. Raises ValidationError."""
    validation.validate_slug(slug)
    with _taken_names_refused(), transaction.atomic():
        api = Api(slug=slug)
        _apply(api, declaration, actor)
        report_api_event("api.declared", api, actor, after=describe(api))
    return api


def change_api(api: Api, declaration: Declaration, actor: Account | None = None) -> Api:
    """Change an API, and return it as it is now. Nothing is written if nothing changes.

    Apps that have a scope which starts to need an approval keep it, and reviewers check them
    (docs/apis.md#changing-a-scope). Raises ValidationError, Api.DoesNotExist.
    """
    with _taken_names_refused(), transaction.atomic():
        row = Api.objects.select_for_update(no_key=True).get(pk=api.pk)
        before = describe(row)
        _apply(row, declaration, actor)
        was, now = changes(*_aligned(before, describe(row)))
        if was or now:
            report_api_event("api.changed", row, actor, before=was, after=now)
    return row


def set_api_enabled(api: Api, enabled: bool, actor: Account | None = None, reason: str = "") -> bool:
    """Turn an API on or off; return whether that changed anything. Raises Api.DoesNotExist."""
    with transaction.atomic():
        row = Api.objects.select_for_update(no_key=True).get(pk=api.pk)
        if row.enabled == enabled:
            return False
        row.enabled = enabled
        row.save(update_fields=["enabled"])
        details = {"reason": reason} if reason else {}
        report_api_event("api.turned_on" if enabled else "api.turned_off", row, actor, details=details)
    return True


def delete_api(api: Api, actor: Account | None = None) -> None:
    """Delete an API with its scopes, rules and credentials.

    Raises ValidationError with a sentence for each use of its scopes, Api.DoesNotExist.
    """
    with transaction.atomic():
        row = Api.objects.select_for_update().get(pk=api.pk)
        check_unused(row.scopes.order_by("pk").values_list("name", flat=True))
        report_api_event("api.deleted", row, actor, before=describe(row))
        row.delete()


def check_unused(scopes: Iterable[str]) -> None:
    """Raise ValidationError with a sentence for each use of a scope (oidc/apis/uses.py)."""
    if messages := [message for scope in scopes for message in use_messages(scope)]:
        raise ValidationError(messages)


def other_api_with(scope: str, slug: str) -> Api | None:
    """Return the API that has this scope, unless it is the one with this slug."""
    row = ApiScope.objects.select_related("api").filter(name=scope).exclude(api__slug=slug).first()
    return row.api if row is not None else None


def other_api_with_identifier(identifier: str, slug: str) -> Api | None:
    """Return the API that has this identifier, as requests compare it, unless it is the one with this slug."""
    compared = comparable(identifier)
    return Api.objects.filter(identifier__in=(compared, f"{compared}/")).exclude(slug=slug).first()


def check_rule(rule: tuple[str, str, str], scopes: Collection[str]) -> None:
    """Raise ValidationError unless a rule is valid for an API with these scopes."""
    method, path, scope = rule
    validation.validate_method(method)
    validation.validate_path(path)
    if scope not in scopes:
        raise ValidationError(f"{scope[: validation.MAX_SCOPE_LENGTH]} is not a scope of this API.")


def describe(api: Api) -> dict[str, Any]:
    """Return an API as the audit trail has it: its columns, a value for each scope, and its rules as lines."""
    scopes = {
        f"scope {row.name}": {column: getattr(row, column) for column in SCOPE_COLUMNS}
        for row in ApiScope.objects.filter(api=api).order_by("pk")
    }
    return {column: getattr(api, column) for column in API_COLUMNS} | scopes | {"rules": rule_lines(api)}


def rules_of(api: Api) -> list[tuple[str, str, str]]:
    """Return the rules of an API in order: method, path and scope."""
    rows = ApiRule.objects.filter(api=api).select_related("scope").order_by("position")
    return [(row.method, row.path, row.scope.name) for row in rows]


def rule_lines(api: Api) -> list[str]:
    """Return the rules of an API in order, each as "METHOD path scope"."""
    return [" ".join(rule) for rule in rules_of(api)]


def report_api_event(action: str, api: Api, actor: Account | None, **fields: Any) -> None:
    """Report an audit event of an API; `fields` are those of Event."""
    report(Event(action, actor.pk if actor else None, target=f"api:{api.slug}", **fields))


def _aligned(before: dict[str, Any], after: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return both with the same keys, so that a scope which exists only in one counts as a change."""
    missing = dict.fromkeys([*before, *after])
    return missing | before, missing | after


@contextmanager
def _taken_names_refused() -> Iterator[None]:
    """Turn the violation of a unique constraint into a ValidationError."""
    try:
        yield
    except IntegrityError as error:
        raise ValidationError("Another API has this slug, this identifier or one of these scopes.") from error


def _apply(api: Api, declaration: Declaration, actor: Account | None) -> None:
    """Write a declaration, in the caller's transaction with the API locked. Raises ValidationError."""
    existing = {row.name: row for row in ApiScope.objects.filter(api=api)} if api.pk else {}
    _check(api, declaration, existing)
    check_unused(name for name in declaration.removed_scopes if name in existing)
    _set_columns(api, {name: declaration.columns[name] for name in API_COLUMNS if name in declaration.columns})
    to_review = ScopesToReview()
    for values in declaration.scopes:
        row = existing.get(values["name"]) or ApiScope(api=api, name=values["name"])
        was = (row.needs_approval or row.sensitive, row.sensitive)
        is_new = row.pk is None
        _set_columns(row, {name: values[name] for name in SCOPE_COLUMNS if name in values})
        if not is_new:
            to_review.note(row, *was)
        existing[row.name] = row
    if declaration.rules is not None and rules_of(api) != list(declaration.rules):
        ApiRule.objects.filter(api=api).delete()
        for position, (method, path, scope) in enumerate(declaration.rules):
            ApiRule.objects.create(api=api, position=position, method=method, path=path, scope=existing[scope])
    for name in declaration.removed_scopes:
        if name in existing:
            existing[name].delete()
    to_review.begin(actor)


def _set_columns(row: Any, values: Mapping[str, Any]) -> None:
    """Save a row if it is new or a value differs."""
    differing = [name for name, value in values.items() if getattr(row, name) != value]
    for name in differing:
        setattr(row, name, values[name])
    if row.pk is None:
        row.save()
    elif differing:
        row.save(update_fields=differing)


def _check(api: Api, declaration: Declaration, existing: Mapping[str, ApiScope]) -> None:
    """Check the values, and the rules about several of them."""
    _check_columns(declaration.columns, API_COLUMNS, () if api.pk else ("name", "identifier"))
    if other := other_api_with_identifier(declaration.columns.get("identifier", ""), api.slug):
        raise ValidationError(f"identifier: The API {other.slug} has this identifier, up to a slash at its end.")
    names = [str(values["name"]) for values in declaration.scopes]
    _check_scopes(api, declaration, existing)
    if len(set(names)) != len(names) or set(names) & set(declaration.removed_scopes):
        raise ValidationError("A scope is named twice.")
    left = {*existing, *names} - set(declaration.removed_scopes)
    if len(left) > validation.MAX_SCOPES:
        raise ValidationError(f"An API can have at most {validation.MAX_SCOPES} scopes.")
    if declaration.rules is not None:
        if len(declaration.rules) > validation.MAX_RULES:
            raise ValidationError(f"An API can have at most {validation.MAX_RULES} rules.")
        for rule in declaration.rules:
            check_rule(rule, left)
    elif ApiRule.objects.filter(api_id=api.pk, scope__name__in=declaration.removed_scopes).exists():
        raise ValidationError("Remove the rules that need a scope before you remove the scope.")


def _check_scopes(api: Api, declaration: Declaration, existing: Mapping[str, ApiScope]) -> None:
    for values in declaration.scopes:
        validation.validate_scope_name(values["name"])
        _check_columns(values, SCOPE_COLUMNS, () if values["name"] in existing else ("title",))
        if other := other_api_with(values["name"], api.slug):
            raise ValidationError(f"{values['name']} is a scope of the API {other.slug}.")
        if values["name"] not in existing and uses_of(values["name"]):
            # Another process may still have offered a scope in the seconds after it was deleted.
            raise ValidationError(f"{values['name']} was a scope before, and is still granted. Choose another name.")


def _check_columns(
    values: Mapping[str, Any], columns: Mapping[str, Callable[[Any], None] | None], required: Collection[str]
) -> None:
    if missing := next((name for name in required if name not in values), None):
        raise ValidationError(f"{missing}: It is missing.")
    for name, validate in columns.items():
        if validate is None or name not in values or (values[name] == "" and name in _MAY_BE_EMPTY):
            continue
        try:
            validate(values[name])
        except ValidationError as error:
            raise ValidationError([f"{name}: {message}" for message in error.messages]) from error
