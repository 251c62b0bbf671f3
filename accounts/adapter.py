"""django-allauth's adapters: sign-in, sign-up, mail and two-step verification where the defaults do not fit."""

import base64
import contextlib
import logging
import secrets
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.account.utils import user_email
from allauth.core import context as allauth_context
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.hashers import get_hasher, identify_hasher, make_password
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from accounts.activity.recording import record
from accounts.allauth_internals import EMAIL_VERIFICATION_CODE_SESSION_KEY, PASSWORD_RESET_VERIFICATION_SESSION_KEY
from accounts.data_export.archive import verified_addresses_of
from accounts.deletion.deleting import DeletionBlocked
from accounts.entrance import guesses, reauthentication, sign_up
from accounts.factors import first_codes, sign_up_stage
from accounts.mail import codes, recipient_limit
from accounts.mail.rendering import render_mail
from accounts.models import Account
from accounts.recovery import address_changes, closing, own_recovery
from accounts.sessions import keys
from accounts.sessions.browser_sessions import (
    HALF_SIGNED_IN,
    RESETTING,
    has_changed,
    is_current,
    is_half_signed_in,
    report_others_ended,
)
from accounts.signals import emptying_session
from core import clock
from core.database import encryption
from core.http import hosts, split_hosts
from core.http.client_ip import client_ip
from core.http.error_pages import ServiceBusy

log = logging.getLogger(__name__)

# The emails that sign-up and password reset send to known and unknown email addresses.
OF_A_SIGN_UP = frozenset({"account/email/email_confirmation_signup", "account/email/account_already_exists"})
OF_A_RESET = frozenset({"account/email/password_reset_code", "account/email/unknown_account"})


# allauth only shows its message `too_many_login_attempts` after wrong codes from an email: its own limits are off.
CODE_ENDED = "You typed a wrong code too many times, so it no longer works. Start again to get a new code."


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth is untyped
    """Sign-in, sign-up and mail (setting ACCOUNT_ADAPTER)."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "email_password_mismatch": "The email address or the password is not correct.",
        "incorrect_password": "The password is not correct.",
        "incorrect_code": codes.WRONG_CODE,
        "too_many_login_attempts": CODE_ENDED,
    }

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_ip(request)

    def is_safe_url(self, url: str | None) -> bool:
        # `next` must stay on this service; the Host header of the request is not trusted.
        return bool(url) and url_has_allowed_host_and_scheme(url, allowed_hosts=None)

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        if split_hosts.serves_only(request, split_hosts.ADMIN):  # this host has no apps and no profile page
            return reverse("admin:index")
        url: str = super().get_login_redirect_url(request)
        return url

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        url: str = super().get_password_change_redirect_url(request)
        return getattr(request, "after_password", url)  # of accounts/recovery/securing.py

    def post_login(self, request: HttpRequest, user: Account, *, signup: bool, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = super().post_login(request, user, signup=signup, **kwargs)
        return first_codes.lead_to_codes(request, user, response) if signup else response

    def save_user(self, request: HttpRequest, user: Account, form: Any, commit: bool = True) -> Account:
        # The library would hash the password here, inside the transaction of SignupForm.save.
        user_email(user, form.cleaned_data["email"])
        user.password = form.hashed_password
        if commit:
            user.save()
        return user

    def authenticate(self, request: HttpRequest, **credentials: Any) -> Account | None:
        # This replaces allauth's own limits, which use the Host header in their keys (docs/sign-in.md#limits).
        with guesses.count_password(request, credentials.get("email", "")) as guess:
            account: Account | None = super().authenticate(request, **credentials)
            if account is None:
                guess.is_wrong()
        if account is not None and request.user.is_anonymous:
            _strengthen_hash(request, account, credentials["password"])
            request.session[HALF_SIGNED_IN] = account.get_session_auth_hash()
        return account

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        asked: bool = super().is_reauthentication_required(app=app, **kwargs)
        if not asked or reauthentication.is_confirmed(allauth_context.request):
            return False
        reauthentication.drop_confirmations(allauth_context.request)
        return True

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        offered: list[dict[str, Any]] = super().get_reauthentication_methods(user)
        if not offered:
            return reauthentication.email_methods(user)
        return reauthentication.methods(allauth_context.request, offered)

    def confirm_email(self, request: HttpRequest, email_address: EmailAddress) -> bool:
        try:
            with transaction.atomic():
                return self._confirm(request, email_address)
        except (IntegrityError, DeletionBlocked):  # another account has it, unverified, and can't make way
            messages.error(request, "Another account has this email address, so yours was not changed.")
            return False

    def _confirm(self, request: HttpRequest, email_address: EmailAddress) -> bool:
        new = email_address.email
        account = address_changes.lock_for_address(email_address.user_id, new)
        if account is None or _has_ended(request, account):
            return False
        address_changes.make_way(new, account)
        old = account.email if account.email_verified else ""
        others = [address for address in verified_addresses_of(account) if address not in (old, new)]
        if sign_up.apply_kept_form(request, account):  # chosen with a code from an email, as in a reset
            own_recovery.record_password(request, account, "password_reset")
        request.former_email = old  # type: ignore[attr-defined]  # for accounts/factors/receivers.py
        is_confirmed = bool(super().confirm_email(request, email_address))
        if is_confirmed and old not in ("", new):
            address_changes.record_change(request, account, old, new)
        for address in others if is_confirmed else ():  # allauth removes these without a signal
            record(email_address.user, "address_removed", request, also_to=[address], address=address)
        return is_confirmed

    def set_password(self, user: Account, password: str) -> None:
        request = allauth_context.request
        kind = "password_reset"
        if request.user.pk == user.pk and not _is_reset(request):
            kind = "password_changed" if user.has_usable_password() else "password_set"
        hashed = make_password(password)  # before the transaction, because it takes long
        with transaction.atomic():
            account = Account.objects.select_for_update(no_key=True).filter(pk=user.pk).first()
            # Reject sessions that have ended meanwhile, and codes from before that or to a former email address.
            if account is None or has_changed(user, account) or not self._is_own_reset(request, account):
                raise ImmediateHttpResponse(HttpResponseRedirect(reverse("account_login")))
            user.password = hashed
            user.save(update_fields=["password"])
            own_recovery.record_password(request, user, kind)
            report_others_ended(request, user)  # the new password has ended them
        if kind == "password_reset":  # a sign-in follows, which may need two-step verification
            if request.user.is_authenticated:  # its pages are only for people who are not signed in
                kept: Any = emptying_session.send(sender=None, request=request)
                request.session.flush()
                request.user = AnonymousUser()
                for _, keep in kept:
                    keep(request.session)
            request.session[HALF_SIGNED_IN] = user.get_session_auth_hash()

    def _is_own_reset(self, request: HttpRequest, account: Account) -> bool:
        if not _is_reset(request):
            return True
        if not is_current(request.session.get(RESETTING, ""), account):
            return False
        typed: str = request.session.get(PASSWORD_RESET_VERIFICATION_SESSION_KEY, {}).get("email", "")
        return typed == account.email or EmailAddress.objects.filter(user=account, email=typed).exists()

    def login(self, request: HttpRequest, user: Account) -> None:
        half = request.session.pop(HALF_SIGNED_IN, None)
        if getattr(request, "signed_up_again", False):  # the password was replaced after `user` was read
            user.refresh_from_db(fields=["password"])
        elif half is not None and not is_current(half, user):
            raise ImmediateHttpResponse(HttpResponseRedirect(reverse("account_login")))
        # For accounts/factors/receivers.py: an account's first browser is not reported as a new one.
        request.is_first_sign_in = user.last_login is None  # type: ignore[attr-defined]
        super().login(request, user)

    def should_send_confirmation_mail(self, request: HttpRequest, email_address: EmailAddress, signup: bool) -> bool:
        # The library has stored the email address that was typed, even if the account has another one since: it was
        # changed or taken back while the password was checked.
        if not Account.objects.filter(pk=email_address.user_id, email=email_address.email).exists():
            EmailAddress.objects.filter(pk=email_address.pk, verified=False).delete()
            raise ImmediateHttpResponse(HttpResponseRedirect(reverse("account_login")))
        send: bool = super().should_send_confirmation_mail(request, email_address, signup)
        return send

    def generate_email_verification_code(self) -> str:
        # Called for "Send a new code": count it before the old code is replaced, and also for email addresses that
        # already have an account, although no code is sent to them.
        request = allauth_context.request
        waiting = request.session.get(EMAIL_VERIFICATION_CODE_SESSION_KEY)
        if waiting and request.POST.get("action") == "resend":
            self._wait_between_codes(waiting["email"], "account_email_verification_sent")
            self._count_mail(waiting["email"])
            recipient_limit.note_code_sent(request, waiting["email"])
        # Encrypted, because allauth stores it in the session until it is typed (accounts/views/forms.py).
        return encryption.encrypt(super().generate_email_verification_code())

    def generate_password_reset_code(self) -> str:
        return encryption.encrypt(super().generate_password_reset_code())

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Queue a code, or the email that replaces it; allauth sends no others (ACCOUNT_EMAIL_NOTIFICATIONS)."""
        request = allauth_context.request
        if PASSWORD_RESET_VERIFICATION_SESSION_KEY in request.session and template_prefix in OF_A_RESET:
            # "Send a new code" on the page of the password reset starts another reset.
            self._wait_between_codes(email, "account_confirm_password_reset_code")
        self._count_mail(email)
        recipient_limit.note_code_sent(request, email, signing_up=template_prefix in OF_A_SIGN_UP)
        code = encryption.decrypt(context["code"]) if "code" in context else ""
        known = {"email": email, "code": code} | codes.origin_context(request)
        codes.queue_answer(request, email, render_mail(template_prefix.rpartition("/")[2], known))

    def _wait_between_codes(self, email: str, page: str) -> None:
        """Show the page that counts down if a code was just sent to the email address."""
        if recipient_limit.seconds_to_wait(allauth_context.request, email):
            raise ImmediateHttpResponse(HttpResponseRedirect(reverse(page)))

    def _count_mail(self, email: str) -> None:
        request = allauth_context.request
        try:
            recipient_limit.count_mail_once(request, email)
        except recipient_limit.RecipientLimitReached as reached:
            page = render(request, "accounts/mail_ceiling.html", {"email": email, "wait": clock.in_words(reached.wait)})
            raise ImmediateHttpResponse(page) from reached

    def send_account_already_exists_mail(self, email: str) -> None:
        due_at = closing.deletion_due_at(email)
        if due_at is None:
            super().send_account_already_exists_mail(email)
        else:
            self._count_mail(email)
            recipient_limit.note_code_sent(allauth_context.request, email, signing_up=True)
            mail = render_mail("account_to_be_deleted", {"due_at": due_at})
            codes.queue_answer(allauth_context.request, email, mail)

    def get_login_stages(self) -> list[str]:
        own = {sign_up_stage.PATH: "accounts.factors.sign_up_stage.SignUpKeyStage"}
        stages = [own.get(path, path) for path in super().get_login_stages()]
        # This stage is the last one: people who reach it have completed all other steps of a sign-in.
        return [*stages, "accounts.recovery.closing.ClosedAccountStage"]

    def pre_login(self, request: HttpRequest, user: Account, **kwargs: Any) -> HttpResponse | None:
        if not is_half_signed_in(request, user):  # that password belongs to a sign-in that was given up
            request.session.pop(HALF_SIGNED_IN, None)
        if user.deletion_due_at is not None:
            return None  # ClosedAccountStage handles them
        response: HttpResponse | None = super().pre_login(request, user, **kwargs)
        return response


def _strengthen_hash(request: HttpRequest, account: Account, password: str) -> None:
    """Replace the hash of the right password if new ones have more iterations; as a new password, it ends all sessions.

    A password that was chosen since this one was read stays.
    """
    hasher = get_hasher()
    if identify_hasher(account.password).algorithm == hasher.algorithm and not hasher.must_update(account.password):
        return
    with contextlib.suppress(ServiceBusy):  # another sign-in will do it
        hashed = make_password(password)  # before the transaction, because it takes long
        with transaction.atomic():
            unchanged = Account.objects.filter(pk=account.pk, password=account.password)
            if unchanged.update(password=hashed):
                account.password = hashed
                report_others_ended(request, account)


def _has_ended(request: HttpRequest, account: Account) -> bool:
    """Return whether the session has ended since this request began, or the sign-in since its password was typed.

    In a sign-up no password is typed, only chosen.
    """
    if request.user.is_authenticated:
        return has_changed(request.user, account)
    half = request.session.get(HALF_SIGNED_IN)
    return half is not None and not is_current(half, account)


def _is_reset(request: HttpRequest) -> bool:
    """Return whether the request sets a password with a code from an email, whether or not someone is signed in."""
    return request.resolver_match is not None and request.resolver_match.view_name == "account_complete_password_reset"


class MfaAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Two-step verification: secrets are encrypted at rest, and names come from settings, not from the Host header."""

    def _get_site_name(self) -> str:
        return settings.SERVICE_NAME

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        return {"id": hosts.rp_id(allauth_context.request), "name": self._get_site_name()}

    def get_public_key_credential_user_entity(self, user: Account) -> dict[str, Any]:
        entity: dict[str, Any] = super().get_public_key_credential_user_entity(user)
        return entity | {"id": keys.make_user_handle(user)}

    def encrypt(self, text: str) -> str:
        return encryption.encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        try:
            return encryption.decrypt(encrypted_text)
        except encryption.Unreadable as error:
            log.error("A second factor can't be checked. %s", error)
            # Return a random secret that fits both kinds: every code is wrong, and no page fails.
            return base64.b32encode(secrets.token_bytes(20)).decode()

    def is_mfa_enabled(self, user: Account, types: Any = None) -> bool:
        request = allauth_context.request
        if types is None or not user.pk or user.pk != request.user.pk:
            enabled: bool = super().is_mfa_enabled(user, types)
            return enabled
        return any(factor.type in types for factor in reauthentication.factors_of_person(request))

    def get_totp_label(self, user: Account) -> str:
        return user.email

    def generate_authenticator_name(self, user: Account, type: Authenticator.Type) -> str:  # noqa: A002  (allauth's)
        agent = allauth_context.request.META.get("HTTP_USER_AGENT", "")
        return keys.device_name(agent, keys.names_of(user))
