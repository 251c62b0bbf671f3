"""URLs of the account pages that are not allauth's, and of the billing webhook."""

from django.urls import path

from accounts.views import (
    account,
    activity,
    billing_webhook,
    confirm_email,
    factors,
    home,
    leaving,
    mailbox_proof,
    plan,
    sessions,
    take_back,
)

urlpatterns = [
    path("account/", home.home, name="account_home"),
    path("account/profile", account.profile, name="account_profile"),
    path("account/address/take-back", take_back.take_back, name="account_address_take_back"),
    path("account/address/taken-back", take_back.taken_back, name="account_address_taken_back"),
    # allauth's view, for whom it has a code to ask for.
    path("account/confirm-email/", confirm_email.confirm_email, name="account_email_verification_sent"),
    path("account/login/mailbox/", mailbox_proof.prove_mailbox, name="account_mailbox_proof"),
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
    path("account/2fa/first-codes/", factors.first_recovery_codes, name="first_recovery_codes"),
    path("account/2fa/staff/", factors.staff_second_factor, name="staff_second_factor"),
    path("account/recovery/", factors.recovery, name="account_recovery"),
    path("account/activity/", activity.activity, name="account_activity"),
    path("account/secure/", activity.secure, name="account_secure"),
    path("account/sessions/", sessions.sessions, name="usersessions_list"),
    path("account/sessions/<int:pk>/end", sessions.end, name="account_session_end"),
    path("account/data", leaving.data, name="account_data"),
    path("account/export", leaving.export, name="account_export"),
    path("account/export/file", leaving.export_file, name="account_export_file"),
    path("account/delete", leaving.delete, name="account_delete"),
    path("account/goodbye", leaving.goodbye, name="account_goodbye"),
    path("account/closed", leaving.closed, name="account_closed"),
    path("account/picture", account.own_picture, name="own_picture"),
    path("pictures/<slug:picture_key>/<slug:version>.webp", account.picture, name="picture"),
    path("hooks/billing", billing_webhook.billing_webhook, name="billing_hook"),
]
