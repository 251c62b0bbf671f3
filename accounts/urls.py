"""URLs of the account pages that are not allauth's, and of the billing webhook."""

from allauth.account import views as account_views
from allauth.mfa.base import views as mfa_views
from allauth.mfa.recovery_codes import views as recovery_code_views
from allauth.mfa.webauthn import views as passkey_views
from django.urls import path

from accounts.views import (
    account,
    activity,
    billing_webhook,
    data_and_deletion,
    factors,
    mailbox,
    plan,
    recovery,
    sign_up,
    undo,
)
from core.http.headers import in_popups
from core.http.split_hosts import on_admin_host
from core.limits.middleware import limited_by_address

# allauth's own views that are mounted unchanged (devportal/urls.py).
for view in (
    account_views.complete_password_reset,
    account_views.confirm_login_code,
    account_views.password_reset,
):
    limited_by_address(view)

# The pages to which an app's request can lead.
for page in (
    account.confirm_email,
    account_views.account_inactive,
    account_views.complete_password_reset,
    account_views.confirm_login_code,
    account_views.login,
    account_views.password_reset,
    account_views.password_reset_from_key_done,
    data_and_deletion.closed,
    factors.ActivateAppView,
    factors.AddKeyView,
    factors.ConfirmResetView,
    factors.LoginKeyView,
    factors.ReauthenticateKeyView,
    factors.ReauthenticatePasswordView,
    factors.SecondStepView,
    factors.SignUpKeyView,
    factors.first_recovery_codes,
    factors.sign_in_again,
    factors.sign_up_password,
    mailbox.ProveMailboxView,
    mailbox.ReauthenticateByEmailView,
    mfa_views.reauthenticate,
    passkey_views.list_webauthn,
    recovery.StartRecoveryView,
    recovery_code_views.view_recovery_codes,
):
    in_popups(page)

# The pages that people need to sign in to the admin on its own host.
for page in (
    account.confirm_email,
    account_views.account_inactive,
    account_views.login,
    account_views.logout,
    data_and_deletion.closed,
    factors.ActivateAppView,
    factors.AddKeyView,
    factors.LoginKeyView,
    factors.ReauthenticateKeyView,
    factors.ReauthenticatePasswordView,
    factors.SecondStepView,
    factors.sign_in_again,
    factors.staff_second_factor,
    mailbox.ProveMailboxView,
    mfa_views.reauthenticate,
    recovery_code_views.view_recovery_codes,
):
    on_admin_host(page)

urlpatterns = [
    path("account/", account.home, name="account_home"),
    path("account/profile", account.profile, name="account_profile"),
    path("account/address/take-back", undo.TakeBackView.as_view(), name="account_address_take_back"),
    path("account/address/taken-back", undo.taken_back, name="account_address_taken_back"),
    # allauth's views: the page of the email address, and the one for people who have to enter a code.
    path("account/email/", account.email, name="account_email"),
    path("account/confirm-email/", account.confirm_email, name="account_email_verification_sent"),
    path("account/login/mailbox/", mailbox.ProveMailboxView.as_view(), name="account_mailbox_proof"),
    path("account/login/again/", factors.sign_in_again, name="account_sign_in_again"),
    # Replacements of allauth's views, under its names, with stricter rules.
    path("account/password/change/", factors.change_password, name="account_change_password"),
    path("account/password/set/", factors.set_password, name="account_set_password"),
    path(
        "account/password/reset/confirm/",
        factors.ConfirmResetView.as_view(),
        name="account_confirm_password_reset_code",
    ),
    path(
        "account/reauthenticate/",
        factors.ReauthenticatePasswordView.as_view(),
        name="account_reauthenticate",
    ),
    path("account/2fa/authenticate/", factors.SecondStepView.as_view(), name="mfa_authenticate"),
    path("account/2fa/totp/activate/", factors.ActivateAppView.as_view(), name="mfa_activate_totp"),
    path("account/2fa/webauthn/add/", factors.AddKeyView.as_view(), name="mfa_add_webauthn"),
    path("account/2fa/webauthn/conditional/", factors.ConditionalKeyView.as_view(), name="mfa_conditional_webauthn"),
    path("account/2fa/webauthn/login/", factors.LoginKeyView.as_view(), name="mfa_login_webauthn"),
    path("account/2fa/webauthn/signup/", factors.SignUpKeyView.as_view(), name="mfa_signup_webauthn"),
    path("account/signup/", sign_up.SignUpView.as_view(), name="account_signup"),
    path("account/signup/details/", sign_up.SignUpDetailsView.as_view(), name="account_signup_details"),
    path("account/signup/passkey/", sign_up.SignUpByPasskeyView.as_view(), name="account_signup_by_passkey"),
    path("account/signup/password/", factors.sign_up_password, name="account_signup_password"),
    path(
        "account/2fa/webauthn/reauthenticate/",
        factors.ReauthenticateKeyView.as_view(),
        name="mfa_reauthenticate_webauthn",
    ),
    path("account/plan", plan.plan, name="account_plan"),
    path("account/plan/invitations/<int:pk>/accept", plan.accept, name="account_plan_accept"),
    path("account/plan/invitations/<int:pk>/decline", plan.decline, name="account_plan_decline"),
    path("account/plan/family/invite", plan.invite, name="account_plan_invite"),
    path("account/plan/family/invitations/<int:pk>/withdraw", plan.withdraw, name="account_plan_withdraw"),
    path("account/plan/family/members/<int:pk>/remove", plan.remove_member, name="account_plan_remove_member"),
    path("account/plan/families/<int:pk>/leave", plan.leave_family, name="account_plan_leave_family"),
    path(
        "account/plan/organizations/<int:pk>/leave",
        plan.leave_organization,
        name="account_plan_leave_organization",
    ),
    path(
        "account/2fa/webauthn/keys/<int:pk>/remove/",
        factors.RemoveKeyView.as_view(),
        name="mfa_remove_webauthn",
    ),
    path(
        "account/2fa/webauthn/keys/<int:pk>/edit/",
        factors.RenameKeyView.as_view(),
        name="mfa_edit_webauthn",
    ),
    path("account/2fa/totp/deactivate/", factors.RemoveAppView.as_view(), name="mfa_deactivate_totp"),
    path("account/2fa/recovery-codes/generate/", factors.MakeCodesView.as_view(), name="mfa_generate_recovery_codes"),
    path("account/2fa/first-codes/", factors.first_recovery_codes, name="first_recovery_codes"),
    path("account/2fa/staff/", factors.staff_second_factor, name="staff_second_factor"),
    path("account/recovery/", recovery.recovery, name="account_recovery"),
    path("account/recovery/start/", recovery.StartRecoveryView.as_view(), name="account_recovery_start"),
    path("account/activity/", activity.activity, name="account_activity"),
    path("account/secure/", activity.secure, name="account_secure"),
    path(
        "account/reauthenticate/email/",
        mailbox.ReauthenticateByEmailView.as_view(),
        name="account_reauthenticate_by_email",
    ),
    path("account/undo/", undo.UndoView.as_view(), name="account_undo"),
    path("account/undone/", undo.undone, name="account_undone"),
    path("account/sessions/", activity.sessions, name="usersessions_list"),
    path("account/sessions/<int:pk>/end", activity.end, name="account_session_end"),
    path("account/data", data_and_deletion.data, name="account_data"),
    path("account/export", data_and_deletion.export, name="account_export"),
    path("account/export/file", data_and_deletion.export_file, name="account_export_file"),
    path("account/delete", data_and_deletion.delete, name="account_delete"),
    path("account/goodbye", data_and_deletion.goodbye, name="account_goodbye"),
    path("account/closed", data_and_deletion.closed, name="account_closed"),
    path("account/picture", account.own_picture, name="own_picture"),
    path("pictures/<slug:picture_key>/<slug:version>.webp", account.picture, name="picture"),
    path("hooks/billing", billing_webhook.billing_webhook, name="billing_hook"),
]
