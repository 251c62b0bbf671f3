"""Forms of an API in the admin: its values, its scopes, and its rules as text."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from core import clock
from core.admin.actions import ActionForm
from core.admin.forms import RowsFormSet
from oidc.apis import validation
from oidc.apis.declarations import API_COLUMNS, SCOPE_COLUMNS, Declaration, rules_of
from oidc.apis.rule_tables import Rule, read_rules, write_rules
from oidc.apis.uses import use_messages
from oidc.models import Api, ApiScope

MAX_RULES_TEXT = 50_000
_RULES_HELP = (
    "For forward authentication, as in the guides: [[apis.rules]], then method, path and scope. The method * stands "
    "for every method, and a path may end in *. The first rule that matches counts. Requests without a matching rule "
    "are refused."
)


def _validate_fields(form: Any, validators: dict[str, Callable[[Any], None] | None]) -> None:
    for name, validate in validators.items():
        if validate is not None and name in form.fields and not form.fields[name].disabled:
            form.fields[name].validators.append(validate)


class ApiForm(forms.ModelForm[Api]):
    """An API. `rule_tables` are its rules, which the scopes of the formset are compared with."""

    documentation_url = forms.CharField(
        label="Documentation URL",
        required=False,
        max_length=validation.MAX_URL_LENGTH,
        widget=UnfoldAdminTextInputWidget,
    )
    openapi_url = forms.CharField(
        label="OpenAPI URL",
        required=False,
        max_length=validation.MAX_URL_LENGTH,
        widget=UnfoldAdminTextInputWidget,
        help_text="The URL of the API's OpenAPI document, which the docs show.",
    )
    rule_tables = forms.CharField(
        label="Rules",
        required=False,
        max_length=MAX_RULES_TEXT,
        strip=False,  # errors name the number of a line
        widget=UnfoldAdminTextareaWidget({"rows": 9, "spellcheck": "false"}),
        help_text=_RULES_HELP,
    )

    class Meta:
        model = Api
        fields = (
            "slug",
            "name",
            "identifier",
            "description",
            "documentation_url",
            "openapi_url",
            "enabled",
            "calls_per_minute",
            "calls_per_person_per_minute",
        )
        labels = {
            "calls_per_minute": "Requests per minute",
            "calls_per_person_per_minute": "Requests per person per minute",
        }
        widgets = {"description": UnfoldAdminTextareaWidget({"rows": 3})}
        help_texts = {
            "slug": "It never changes. Usage is counted under it.",
            "identifier": "The audience of the API's tokens, such as https://calendar.example.com.",
            "calls_per_minute": "Of one app or API key.",
            "calls_per_person_per_minute": "Of one person in one app.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _validate_fields(self, {"slug": validation.validate_slug, **API_COLUMNS})
        self._rules_before = rules_of(self.instance) if self.instance.pk else []
        if "rule_tables" in self.fields:
            self.fields["rule_tables"].initial = write_rules(self._rules_before)

    def clean_rule_tables(self) -> list[Rule]:
        """Return the rules."""
        rules = read_rules(self.cleaned_data["rule_tables"])
        errors = [
            f"Rule {number}: {message}"
            for number, (method, path, _) in enumerate(rules, 1)
            for message in _errors_of_rule(method, path)
        ]
        if len(rules) > validation.MAX_RULES:
            errors.append(f"An API can have at most {validation.MAX_RULES} rules.")
        if errors:
            raise ValidationError(errors)
        return rules

    def declaration(self, scopes: "ScopeFormSet | None") -> Declaration:
        """Return what the forms change; `scopes` is None on a page without them."""
        is_new = self.instance.pk is None
        wanted = list(self.cleaned_data) if is_new else self.changed_data
        rules = self.cleaned_data.get("rule_tables", [])
        return Declaration(
            columns={name: self.cleaned_data[name] for name in API_COLUMNS if name in wanted},
            scopes=scopes.declared() if scopes is not None else (),
            removed_scopes=scopes.removed() if scopes is not None else (),
            # Rules that were not edited are left out, so that nobody else's change is undone.
            rules=rules if is_new or rules != self._rules_before else None,
        )


def _errors_of_rule(method: str, path: str) -> list[str]:
    errors = []
    for validate, value in ((validation.validate_method, method), (validation.validate_path, path)):
        try:
            validate(value)
        except ValidationError as error:
            errors += error.messages
    return errors


class ScopeForm(forms.ModelForm[ApiScope]):
    """A scope of an API. Its name never changes."""

    class Meta:
        model = ApiScope
        fields = ("name", *SCOPE_COLUMNS)
        labels = {"api_keys": "API keys"}
        # The title is one line, which a row has no room for.
        widgets = {name: UnfoldAdminTextareaWidget({"rows": 2}) for name in ("title", "description")}
        help_texts = {"title": "The sentence on the consent page."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk and "name" in self.fields:
            self.fields["name"].disabled = True
        _validate_fields(self, {"name": validation.validate_scope_name, **SCOPE_COLUMNS})


class ScopeFormSet(RowsFormSet):
    """The scopes of an API. Checks that none that is removed is in use, and that the rules name scopes of the API."""

    def clean(self) -> None:
        super().clean()
        if errors := [message for name in self.removed() for message in use_messages(name)]:
            raise ValidationError(errors)
        names = set(ApiScope.objects.filter(api=self.instance.pk).values_list("name", flat=True))
        names |= {str(values["name"]) for values in self.declared()}
        names -= set(self.removed())
        if len(names) > validation.MAX_SCOPES:
            raise ValidationError(f"An API can have at most {validation.MAX_SCOPES} scopes.")
        rules = getattr(self.instance, "declared_rules", [])
        missing = dict.fromkeys(scope for _, _, scope in rules if scope not in names)
        if missing:
            raise ValidationError(
                [f"A rule needs the scope {name[:100]}, which the API does not have." for name in missing]
            )

    def declared(self) -> list[dict[str, Any]]:
        """Return the new scopes, and the values that changed of the others."""
        found = []
        for form in self.forms:
            if form in self.deleted_forms or not form.has_changed() or "name" not in getattr(form, "cleaned_data", {}):
                continue
            wanted = form.changed_data if form.instance.pk else SCOPE_COLUMNS
            given = form.cleaned_data
            values = {name: given[name] for name in SCOPE_COLUMNS if name in wanted and name in given}
            found.append({"name": form.cleaned_data["name"]} | values)
        return found

    def removed(self) -> list[str]:
        """Return the names of the existing scopes that are ticked for deletion."""
        return [form.instance.name for form in self.deleted_forms if form.instance.pk]


NOW = "0"
_HOUR = 3600


class RotateForm(ActionForm):
    """How long the old credential keeps working."""

    overlap = forms.ChoiceField(
        label="The old credential",
        choices=[
            (str(_HOUR), "works for another hour"),
            (str(24 * _HOUR), "works for another day"),
            (str(7 * 24 * _HOUR), "works for another 7 days"),
            (str(30 * 24 * _HOUR), "works for another 30 days"),
            (NOW, "is revoked immediately"),
        ],
        initial=str(24 * _HOUR),
        widget=UnfoldAdminSelectWidget,
    )

    @property
    def expires_at(self) -> datetime:
        """When the old credential expires."""
        return clock.now() + timedelta(seconds=int(self.cleaned_data["overlap"]))
