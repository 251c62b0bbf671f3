"""How this service differs from allauth's defaults, at the hooks that allauth documents."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme

from accounts.models import Account
from devportal.lib import encryption
from devportal.lib.client_ip import client_ip
from devportal.lib.credentials import random_text
from devportal.lib.error_pages import too_many_requests

LONGEST_NEXT = 2048  # characters


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth is untyped
    """Sign-in, sign-up and mail."""

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_ip(request)

    def is_safe_url(self, url: str | None) -> bool:
        # `next` stays on this service; never a host that the request itself names.
        # It is kept in the session from a sign-up on, and stands in each form of the way.
        return bool(url) and len(url or "") <= LONGEST_NEXT and url_has_allowed_host_and_scheme(url, allowed_hosts=None)

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError as error:
            # allauth says it beside the field, with status 200; this is a 429 like any other.
            raise ImmediateHttpResponse(too_many_requests(request)) from error

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        super().send_mail(template_prefix, email, {"service_name": settings.SERVICE_NAME} | context)

    def send_account_already_exists_mail(self, email: str) -> None:
        # A new address costs a password hash; a known one must take as long, or time tells them apart.
        make_password(random_text(16))
        super().send_account_already_exists_mail(email)


class MfaAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Second factors: secrets encrypted at rest, names from settings and not from the Host header."""

    def _get_site_name(self) -> str:
        return settings.SERVICE_NAME

    def encrypt(self, text: str) -> str:
        return encryption.encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        return encryption.decrypt(encrypted_text)

    def get_totp_label(self, user: Account) -> str:
        return user.email
