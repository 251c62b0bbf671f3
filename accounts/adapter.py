"""django-allauth's adapters: sign-in, sign-up, mail and second factors where the defaults do not fit."""

import base64
import logging
import secrets
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.email_verification_by_code import EMAIL_VERIFICATION_CODE_SESSION_KEY
from allauth.core import context as allauth_context
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from accounts import guesses
from accounts.leaving import sign_in
from accounts.mail import codes, recipient_limit
from accounts.mail.rendering import Mail, render_mail
from accounts.models import Account
from devportal.lib import clock, encryption, passkeys, split_hosts
from devportal.lib.client_ip import client_ip
from devportal.lib.credentials import random_text
from devportal.lib.error_pages import ServiceBusy

log = logging.getLogger(__name__)

# Mails that somebody other than the recipient can trigger; all others confirm what the recipient did.
CAUSED_BY_ANYBODY = frozenset(
    f"account/email/{name}"
    for name in (
        "account_already_exists",
        "email_confirmation",
        "email_confirmation_signup",
        "password_reset_code",
        "unknown_account",
    )
)


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth is untyped
    """Sign-in, sign-up and mail (setting ACCOUNT_ADAPTER)."""

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_ip(request)

    def is_safe_url(self, url: str | None) -> bool:
        # `next` stays on this service; never a host that the request itself names.
        return bool(url) and url_has_allowed_host_and_scheme(url, allowed_hosts=None)

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        if split_hosts.serves_only(request, split_hosts.ADMIN):  # no app and no profile is there
            return reverse("admin:index")
        url: str = super().get_login_redirect_url(request)
        return url

    def authenticate(self, request: HttpRequest, **credentials: Any) -> Account | None:
        # Instead of allauth's own limits, which are keyed with the Host header (docs/sign-in.md#limits).
        guess = guesses.count_password(request, credentials.get("email", ""))
        try:
            account: Account | None = super().authenticate(request, **credentials)
        except ServiceBusy:
            guess.take_back()
            raise
        if account is not None:
            guess.take_back()
        return account

    def generate_email_verification_code(self) -> str:
        # "Send a new code": counted here, before the old code is replaced, and for known addresses too, to which
        # nothing goes that time.
        request = allauth_context.request
        waiting = request.session.get(EMAIL_VERIFICATION_CODE_SESSION_KEY)
        if waiting and request.POST.get("action") == "resend":
            self._count_mail(waiting["email"])
        code: str = super().generate_email_verification_code()
        return code

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        request = allauth_context.request
        is_answer = template_prefix in CAUSED_BY_ANYBODY or "code" in context
        if template_prefix in CAUSED_BY_ANYBODY:
            self._count_mail(email)
        context = {"request": request, "email": email, "service_name": settings.SERVICE_NAME} | context
        rendered = self.render_mail(template_prefix, email, context)
        mail = Mail(rendered.subject, rendered.body)
        if is_answer:
            codes.queue_answer(request, email, mail)
        else:
            codes.queue_notice(email, mail)

    def _count_mail(self, email: str) -> None:
        request = allauth_context.request
        try:
            recipient_limit.count_mail_once(request, email)
        except recipient_limit.RecipientLimitReached as reached:
            page = render(request, "account/mail_ceiling.html", {"email": email, "wait": clock.in_words(reached.wait)})
            raise ImmediateHttpResponse(page) from reached

    def send_account_already_exists_mail(self, email: str) -> None:
        # Signing up a new address hashes a password; a known one must take as long (timing attack).
        make_password(random_text(16))
        due_at = sign_in.deletion_due_at(email)
        if due_at is None:
            super().send_account_already_exists_mail(email)
        else:
            self._count_mail(email)
            mail = render_mail("account_to_be_deleted", {"due_at": due_at})
            codes.queue_answer(allauth_context.request, email, mail)

    def get_login_stages(self) -> list[str]:
        # The last one: whoever sees it has taken every step of a sign-in.
        return [*super().get_login_stages(), "accounts.leaving.sign_in.ClosedAccountStage"]

    def pre_login(self, request: HttpRequest, user: Account, **kwargs: Any) -> HttpResponse | None:
        if user.deletion_due_at is not None:
            return None  # ClosedAccountStage stops them
        response: HttpResponse | None = super().pre_login(request, user, **kwargs)
        return response


class MfaAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Second factors: secrets encrypted at rest, names from settings and not from the Host header."""

    def _get_site_name(self) -> str:
        return settings.SERVICE_NAME

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        return {"id": passkeys.rp_id(allauth_context.request), "name": self._get_site_name()}

    def encrypt(self, text: str) -> str:
        return encryption.encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        try:
            return encryption.decrypt(encrypted_text)
        except encryption.Unreadable as error:
            log.error("A second factor can't be checked. %s", error)
            # A secret that nobody knows, of a form that fits both kinds: any code is wrong, and no page fails.
            return base64.b32encode(secrets.token_bytes(20)).decode()

    def get_totp_label(self, user: Account) -> str:
        return user.email
