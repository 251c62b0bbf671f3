"""The form of a plan in the admin, in which its apps are chosen from a list."""

from typing import Any

from django import forms
from django.core.validators import validate_slug
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextareaWidget

from accounts.models import Plan
from accounts.signals import listing_apps


def known_apps() -> dict[str, str]:
    """Return the names of the apps that can be chosen, by slug: of every plan, and those with a public page."""
    known = {slug: slug for plan in Plan.objects.all() for slug in plan.apps}
    answers: list[tuple[Any, Any]] = listing_apps.send(sender=Plan)
    for _, named in answers:
        known |= {slug: f"{name} ({slug})" for slug, name in named.items()}
    return dict(sorted(known.items(), key=lambda item: item[1].casefold()))


class _AppsWidget(forms.MultiWidget):
    """Checkboxes for the known apps, and a field for the slugs of others."""

    use_fieldset = True

    def __init__(self) -> None:
        others = UnfoldAdminTextareaWidget({"rows": 2, "aria-label": "Other apps", "placeholder": "Other apps"})
        super().__init__({"known": UnfoldAdminCheckboxSelectMultipleWidget(), "others": others})

    def decompress(self, value: Any) -> list[Any]:
        checkboxes: Any = self.widgets[0]
        known = {slug for slug, _ in checkboxes.choices}
        apps = value or []
        return [[slug for slug in apps if slug in known], "\n".join(slug for slug in apps if slug not in known)]


class AppsField(forms.MultiValueField):
    """The slugs of a plan's apps, as a list without repetitions."""

    def __init__(self) -> None:
        fields = (forms.MultipleChoiceField(required=False), forms.CharField(required=False, max_length=5000))
        text = "Slugs of apps that are not in the list go into the text field, separated by spaces or lines."
        super().__init__(fields, widget=_AppsWidget(), required=False, require_all_fields=False, help_text=text)

    def set_known(self, known: dict[str, str]) -> None:
        """Set the apps that can be chosen."""
        choices = list(known.items())
        self.fields[0].choices = self.widget.widgets[0].choices = choices  # type: ignore[attr-defined]

    def compress(self, data_list: list[Any]) -> list[str]:
        chosen, others = data_list or ([], "")
        typed = (others or "").split()
        for slug in typed:
            validate_slug(slug)
        return list(dict.fromkeys([*(chosen or []), *typed]))


class PlanForm(forms.ModelForm[Plan]):
    """A plan with its apps."""

    apps = AppsField()

    class Meta:
        model = Plan
        fields = ("plan_id", "display_name", "rank", "is_listed", "apps", "cache_max_age")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "apps" in self.fields:
            self.fields["apps"].set_known(known_apps())  # type: ignore[attr-defined]
