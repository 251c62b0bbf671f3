"""django-allauth's pages that remove a key or an app: they keep a way to sign in, and say what else is removed."""

from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.totp.views import DeactivateTOTPView
from allauth.mfa.webauthn.views import RemoveWebAuthnView
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounts.authentication import account_of
from accounts.factors import removal
from accounts.models import Account
from accounts.sessions import has_changed


class RemovalMixin:
    """Removes a factor while the account is locked, so that two removals at once leave a way to sign in."""

    request: HttpRequest

    def factor(self) -> Authenticator:
        """Return the factor that the page is about."""
        raise NotImplementedError

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)  # type: ignore[misc]
        account, factor = account_of(self.request), self.factor()
        return context | {
            "is_last_way_in": removal.is_last_way_in(account, factor),
            "ends_recovery_codes": removal.ends_recovery_codes(account, factor),
        }

    def form_valid(self, form: Any) -> HttpResponse:
        seen = account_of(self.request)
        with transaction.atomic():
            account = Account.objects.select_for_update(no_key=True).filter(pk=seen.pk).first()
            if account is None or has_changed(seen, account):  # its sessions ended since this request began
                return HttpResponseRedirect(reverse("account_login"))
            factor = self.factor()
            if not Authenticator.objects.filter(pk=factor.pk).exists():  # removed by another click
                return HttpResponseRedirect(reverse("mfa_index"))
            if removal.is_last_way_in(account, factor):
                return self.render_to_response(self.get_context_data(form=form), status=409)  # type: ignore[attr-defined,no-any-return]
            # For the receiver that records the removal: one mail says both.
            self.request.ends_recovery_codes = removal.ends_recovery_codes(account, factor)  # type: ignore[attr-defined]
            response: HttpResponse = super().form_valid(form)  # type: ignore[misc]
        return response


class RemoveKeyView(RemovalMixin, RemoveWebAuthnView):  # type: ignore[misc]  # allauth is untyped
    """/account/2fa/webauthn/keys/<id>/remove/."""

    def factor(self) -> Authenticator:
        factor: Authenticator = self.get_object()
        return factor


class RemoveAppView(RemovalMixin, DeactivateTOTPView):  # type: ignore[misc]
    """/account/2fa/totp/deactivate/."""

    def factor(self) -> Authenticator:
        factor: Authenticator = self.get_form_kwargs()["authenticator"]
        return factor
