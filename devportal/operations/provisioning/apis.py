"""`[[apis]]`: the company's own APIs, known by their slug."""

from typing import Any

from django.core.exceptions import ValidationError
from rest_framework import serializers

from core.http.strict_fields import StrictBooleanField, StrictCharField, StrictIntegerField, StrictListField
from devportal.operations.provisioning.toml_tables import Table, table_error
from oidc.apis import credentials, declarations, validation
from oidc.apis.declarations import Declaration
from oidc.apis.registry import comparable, reload_registry
from oidc.models import Api, ApiCredential, ApiScope


class _URLField(StrictCharField):
    """The URL of a document, or "" for none."""

    def __init__(self) -> None:
        super().__init__(allow_blank=True, required=False, validators=[_validate_optional_url])


def _validate_optional_url(url: str) -> None:
    if url:
        validation.validate_url(url)


class _TextField(StrictCharField):
    """A text for developers, which may be empty."""

    def __init__(self) -> None:
        super().__init__(allow_blank=True, required=False, validators=[validation.validate_text])


class _LimitField(StrictIntegerField):
    """A number of requests per minute."""

    def __init__(self) -> None:
        super().__init__(min_value=1, max_value=validation.MAX_CALLS_PER_MINUTE, required=False)


class ScopeTable(Table):
    name = StrictCharField(validators=[validation.validate_scope_name])
    title = StrictCharField(max_length=validation.MAX_TITLE_LENGTH, validators=[validation.validate_line])
    description = _TextField()
    sensitive = StrictBooleanField(required=False)
    needs_approval = StrictBooleanField(required=False)
    api_keys = StrictBooleanField(required=False)


class RuleTable(Table):
    method = StrictCharField(validators=[validation.validate_method])
    path = StrictCharField(validators=[validation.validate_path])
    scope = StrictCharField(max_length=validation.MAX_SCOPE_LENGTH)


class ApiTable(Table):
    slug = StrictCharField(validators=[validation.validate_slug])
    name = StrictCharField(max_length=validation.MAX_NAME_LENGTH, validators=[validation.validate_line])
    identifier = StrictCharField(validators=[validation.validate_identifier])
    description = _TextField()
    documentation_url = _URLField()
    openapi_url = _URLField()
    enabled = StrictBooleanField(required=False)
    calls_per_minute = _LimitField()
    calls_per_person_per_minute = _LimitField()
    scopes = StrictListField(child=ScopeTable(), max_length=validation.MAX_SCOPES, default=list)
    rules = StrictListField(child=RuleTable(), max_length=validation.MAX_RULES, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check rules that depend on several keys, or on the existing APIs."""
        slug = attrs["slug"]
        if other := declarations.other_api_with_identifier(attrs["identifier"], slug):
            raise serializers.ValidationError({"identifier": f"the API {other.slug} has this identifier"})
        names = [scope["name"] for scope in attrs["scopes"]]
        for position, name in enumerate(names):
            if name in names[:position]:
                raise table_error("scopes", position, "name", "names something twice")
            if holder := declarations.other_api_with(name, slug):
                raise table_error("scopes", position, "name", f"the API {holder.slug} has this scope")
        known = {*names, *ApiScope.objects.filter(api__slug=slug).values_list("name", flat=True)}
        for position, rule in enumerate(attrs.get("rules", [])):
            if rule["scope"] not in known:
                raise table_error("rules", position, "scope", "must be a scope of this API")
        return attrs


class ApisField(StrictListField):
    """All APIs of a file. No two of them share a slug, an identifier or a scope."""

    default_error_messages = {"repeated": "another API of this file has it"}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=ApiTable(), default=list, **kwargs)

    def to_internal_value(self, data: Any) -> list[Any]:
        tables: list[dict[str, Any]] = super().to_internal_value(data)
        seen: set[tuple[str, str]] = set()
        for position, table in enumerate(tables):
            for key, value in (("slug", table["slug"]), ("identifier", comparable(table["identifier"]))):
                self._check_new(seen, key, value, {position: {key: self.error_messages["repeated"]}})
            for place, scope in enumerate(table["scopes"]):
                error = {position: {"scopes": {place: {"name": self.error_messages["repeated"]}}}}
                self._check_new(seen, "scope", scope["name"], error)
        return tables

    def _check_new(self, seen: set[tuple[str, str]], key: str, value: str, error: Any) -> None:
        if (key, value) in seen:
            raise serializers.ValidationError(error)
        seen.add((key, value))


def apply_api(values: dict[str, Any], *, rotate_secrets: bool) -> dict[str, Any]:
    """Create or update one API. A missing key changes nothing, and scopes that are not in the file stay.

    This process knows the API afterwards, so that the following sections can name its scopes.
    """
    slug = values["slug"]
    columns = {name: values[name] for name in declarations.API_COLUMNS if name in values}
    rules = [(rule["method"], rule["path"], rule["scope"]) for rule in values["rules"]] if "rules" in values else None
    declaration = Declaration(columns, values["scopes"], rules=rules)
    api = Api.objects.filter(slug=slug).first()
    try:
        row = declarations.change_api(api, declaration) if api else declarations.create_api(slug, declaration)
    except ValidationError as error:  # an error of several values together, such as more than 100 scopes
        raise serializers.ValidationError(error.messages) from error
    reload_registry()
    credential, secret = _credential(row, rotate_secrets)
    shown = {"id": credential.public_id, "secret": secret}
    return {"slug": row.slug, "identifier": row.identifier, "credential": shown}


def _credential(api: Api, rotate: bool) -> tuple[ApiCredential, str | None]:
    """Return the API's newest live credential, with its secret if it was just created."""
    live = ApiCredential.objects.live().filter(api=api).order_by("-pk").first()
    if live is None:
        return credentials.create_credential(api)
    return credentials.replace_credentials(api) if rotate else (live, None)
