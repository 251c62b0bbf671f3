"""Forms of the pages Branding and Review: branding, requested scopes with justifications, and messages."""

from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.forms import BoundField

from core import names
from core.email_addresses import EmailAddressField
from devportal.console.forms import SeenForm
from devportal.review.rules.snapshots import UNSENT, Snapshot, draft_digest, requestable_scopes
from devportal.review.rules.timeline import MAX_TEXT_LENGTH, Point
from devportal.review.submission.for_reviewers import (
    MAX_LOGIN_LENGTH,
    MAX_NOTE_LENGTH,
    MAX_PASSWORD_LENGTH,
    MAX_PLACE_LENGTH,
    Credentials,
    ForReviewers,
    validate_typeable,
)
from devportal.review.submission.requirements import Requirement, field_of
from oidc.apis.registry import ApiSnapshot, Scope
from oidc.apis.scopes import group_by_api
from oidc.domains import branding
from oidc.domains.branding import FIELD_VALIDATORS, MAX_URL_LENGTH, validate_page_url
from oidc.models import Client


def _page(label: str, help_text: str) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        max_length=MAX_URL_LENGTH,
        help_text=help_text,
        widget=forms.URLInput(attrs={"placeholder": "https://", "autocomplete": "off"}),
    )


def _long_text(label: str, help_text: str, rows: int = 3, longest: int = MAX_TEXT_LENGTH) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        max_length=longest,
        help_text=help_text,
        widget=forms.Textarea(attrs={"rows": rows}),
    )


class DraftForm(SeenForm):
    """A part of the draft. The checklist lists what is required to submit.

    The hidden field holds the digest of the draft that the page showed.
    """

    use_required_attribute = False

    def __init__(self, *args: Any, snapshot: Snapshot, initial: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(*args, **({"initial": initial | {"seen": draft_digest(snapshot)}} | kwargs))

    def typed_over(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot updated with the valid values of the bound form."""
        raise NotImplementedError

    def over(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot updated with the valid values of the form, for a preview. Nothing is saved."""
        if not self.is_bound:
            return snapshot
        self.is_valid()
        return self.typed_over(snapshot)


class BrandingForm(DraftForm):
    """What people see of the app. Only the name is required to save."""

    name = forms.CharField(
        label="Name",
        max_length=names.MAX_LENGTH,
        error_messages={"required": "Enter a name."},
        help_text="People see it when they sign in.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    logo = forms.FileField(
        label="Logo",
        required=False,
        help_text="A square PNG, JPEG, WebP, AVIF or GIF. People see it once the app is reviewed.",
        widget=forms.FileInput(attrs={"accept": "image/png,image/jpeg,image/webp,image/avif,image/gif"}),
    )
    remove_logo = forms.BooleanField(label="Remove the logo", required=False)
    home_page_url = _page("Home page", "It explains what the app is, and opens for anyone without signing in.")
    privacy_policy_url = _page("Privacy policy", "It explains what the app does with the data that it reads here.")
    terms_url = _page("Terms", "")
    support_address = EmailAddressField(
        label="Support email address",
        required=False,
        max_length=254,
        help_text="People and reviewers write to this email address.",
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )

    def __init__(self, *args: Any, snapshot: Snapshot, **kwargs: Any) -> None:
        super().__init__(
            *args, snapshot=snapshot, initial={field: snapshot[field] for field in FIELD_VALIDATORS}, **kwargs
        )
        for field, check in FIELD_VALIDATORS.items():
            self.fields[field].validators.append(check)

    def clean_logo(self) -> Any:
        upload = self.cleaned_data["logo"]
        return branding.clean_logo(upload) if upload else None

    @property
    def changes(self) -> dict[str, Any]:
        """Return the keyword arguments for `save_submission`, from the valid form."""
        given = self.cleaned_data
        return {
            "values": {field: given[field] for field in FIELD_VALIDATORS},
            "logo": given["logo"],
            "remove_logo": given["remove_logo"],
            "seen": given["seen"],
        }

    def typed_over(self, snapshot: Snapshot) -> Snapshot:
        given = self.cleaned_data
        return snapshot | {field: given[field] for field in FIELD_VALIDATORS if field in given}


class ReviewForm(DraftForm):
    """What only the reviewers read: scopes with justifications, answers to their points, a demo and a test account."""

    demo_url = _page(
        "Demo or video", "A page or a recording that shows reviewers how the app works. It must open for them."
    )
    note = _long_text(
        "Note to the reviewers", "For example, how to sign in and what to try. It is sent with your submission."
    )
    test_login = forms.CharField(
        label="Login",
        required=False,
        max_length=MAX_LOGIN_LENGTH,
        validators=[validate_typeable],
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )
    test_password = forms.CharField(
        label="Password",
        required=False,
        strip=False,
        max_length=MAX_PASSWORD_LENGTH,
        validators=[validate_typeable],
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    test_note = _long_text("How to reach the parts to review", "", 2, MAX_NOTE_LENGTH)
    remove_test_account = forms.BooleanField(label="Remove the test account", required=False)

    def __init__(
        self,
        *args: Any,
        client: Client,
        snapshot: Snapshot,
        points: Sequence[Point] = (),
        wanted: str = "",
        **kwargs: Any,
    ) -> None:
        """`points` are the reviewers' requests that need an answer before the next submission.

        `wanted` is a scope to tick, unsaved, if it can be requested.
        """
        self._points = points
        self._requestable = requestable_scopes(client)
        self._wanted = [wanted] if wanted in self._names else []
        initial = _initial(snapshot, self._requestable)
        initial |= {field_of("ask", scope): True for scope in self._wanted}
        super().__init__(*args, snapshot=snapshot, initial=initial, **kwargs)
        self.fields["demo_url"].validators.append(validate_page_url)
        for scope in self._names:
            self.fields[field_of("ask", scope)] = forms.BooleanField(label=f"Ask for {scope}", required=False)
            self.fields[field_of("why", scope)] = _long_text(
                f"What {scope} is needed for",
                "Name the feature, and what it shows or does with the data.",
            )
            self.fields[field_of("place", scope)] = _long_text(
                f"Where in the app {scope} is used",
                "The page or the feature, and how to get there.",
                2,
                MAX_PLACE_LENGTH,
            )
        for point in points:
            self.fields[f"answer_{point.code}"] = _long_text(f"What you did about “{point.title}”", "")

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        login, password, note = (given.get(f"test_{part}", "") for part in ("login", "password", "note"))
        if given.get("remove_test_account") and (login or password or note):
            self.add_error("remove_test_account", "Either remove the test account or replace it.")
        elif login or password or note:
            for field, value in (("test_login", login), ("test_password", password)):
                if not value and field not in self.errors:
                    self.add_error(field, "Enter a login and a password for the test account.")
        return given

    @property
    def _names(self) -> list[str]:
        return [scope.name for scope in self._requestable]

    @property
    def apis(self) -> list[tuple[ApiSnapshot | None, list[tuple[Scope, BoundField, BoundField, BoundField]]]]:
        """Return each API with its scopes and their checkbox, justification and place, for the template."""
        return [(api, [self._row(scope) for scope in scopes]) for api, scopes in group_by_api(self._requestable)]

    def _row(self, scope: Scope) -> tuple[Scope, BoundField, BoundField, BoundField]:
        ask, why, place = (self[field_of(kind, scope.name)] for kind in ("ask", "why", "place"))
        return scope, ask, why, place

    @property
    def answers(self) -> list[tuple[Point, BoundField]]:
        """Return each of the reviewers' points with its answer field, for the template."""
        return [(point, self[f"answer_{point.code}"]) for point in self._points]

    @property
    def changes(self) -> dict[str, Any]:
        """Return the keyword arguments for `save_submission`, from the valid form."""
        given = self.cleaned_data
        return {
            "values": {},
            "scopes": self._of_asked("why"),
            "seen": given["seen"],
            "for_reviewers": ForReviewers(
                places=self._of_asked("place"),
                demo_url=given["demo_url"],
                note=given["note"],
                answers=self._given_answers(),
                test_account=self._test_account(),
                remove_test_account=given["remove_test_account"],
            ),
        }

    def _of_asked(self, kind: str) -> dict[str, str]:
        """Return the submitted text of each requested scope. Invalid texts count as empty."""
        given = self.cleaned_data
        asked = [scope for scope in self._names if given.get(field_of("ask", scope))]
        return {scope: given.get(field_of(kind, scope), "") for scope in asked}

    def _given_answers(self) -> dict[str, str]:
        return {point.code: self.cleaned_data.get(f"answer_{point.code}", "") for point in self._points}

    def _test_account(self) -> Credentials | None:
        given = self.cleaned_data
        if not given["test_login"]:
            return None
        return Credentials(given["test_login"], given["test_password"], given["test_note"])

    def over(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot updated with the form. A wanted scope counts as ticked until the form is sent."""
        wanted = {} if self.is_bound else dict.fromkeys(self._wanted, "")
        return super().over(snapshot | {"scopes": wanted | snapshot["scopes"]})

    def typed_over(self, snapshot: Snapshot) -> Snapshot:
        typed = {field: self.cleaned_data[field] for field in ("demo_url",) if field in self.cleaned_data}
        of_scopes = {"scopes": self._of_asked("why"), "places": self._of_asked("place")}
        return snapshot | typed | of_scopes | {UNSENT: {"answers": self._given_answers()}}

    def mark_missing(self, lacking: Iterable[Requirement]) -> None:
        """Add an error to each field that is missing for a submission, unless it already has another error."""
        for item in lacking:
            if item.field in self.fields and item.field not in self.errors:
                self.errors[item.field] = self.error_class([item.error], renderer=self.renderer)

    def ask_for_the_password_again(self) -> None:
        """Ask for the password of the test account again, because no page shows a submitted one."""
        if self.data.get("test_password") and "test_password" not in self.errors:
            text = "Enter the password again. Nothing is saved yet, and pages never show a password."
            self.errors["test_password"] = self.error_class([text], renderer=self.renderer)


def _initial(snapshot: Snapshot, requestable: Iterable[Scope]) -> dict[str, Any]:
    """Return the initial values of the review form for a draft."""
    scopes, places, unsent = snapshot["scopes"], snapshot["places"], snapshot.get(UNSENT, {})
    shown: dict[str, Any] = {"demo_url": snapshot["demo_url"], "note": unsent.get("note", "")}
    for scope in requestable:
        shown[field_of("ask", scope.name)] = scope.name in scopes
        shown[field_of("why", scope.name)] = scopes.get(scope.name, "")
        shown[field_of("place", scope.name)] = places.get(scope.name, "")
    return shown | {f"answer_{code}": text for code, text in unsent.get("answers", {}).items()}


class AnswerForm(forms.Form):
    """A message in the review's timeline."""

    text = forms.CharField(
        label="Your answer",
        max_length=MAX_TEXT_LENGTH,
        error_messages={"required": "Write something first."},
        widget=forms.Textarea(attrs={"rows": 4}),
    )
