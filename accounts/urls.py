"""The account pages of our own, allauth brings the rest under the same prefix; and what other systems report to."""

from allauth.usersessions.views import ListUserSessionsView
from django.urls import path

from accounts import hooks, views, views_plan
from accounts.forms import SignOutElsewhereForm

urlpatterns = [
    path("account/", views.profile, name="account_profile"),
    path("account/plan", views_plan.plan, name="account_plan"),
    path("account/plan/invitations/<int:pk>/accept", views_plan.accept, name="account_plan_accept"),
    path("account/plan/invitations/<int:pk>/decline", views_plan.decline, name="account_plan_decline"),
    path("account/plan/family/invite", views_plan.invite, name="account_plan_invite"),
    path("account/plan/family/invitations/<int:pk>/withdraw", views_plan.withdraw, name="account_plan_withdraw"),
    path("account/plan/family/members/<int:pk>/remove", views_plan.remove_member, name="account_plan_remove_member"),
    path("account/plan/families/<int:pk>/leave", views_plan.leave_family, name="account_plan_leave_family"),
    path(
        "account/plan/organizations/<int:pk>/leave",
        views_plan.leave_organization,
        name="account_plan_leave_organization",
    ),
    path(
        "account/sessions/",
        ListUserSessionsView.as_view(form_class=SignOutElsewhereForm),
        name="usersessions_list",
    ),
    path("account/export", views.export, name="account_export"),
    path("account/delete", views.delete, name="account_delete"),
    path("account/picture", views.own_picture, name="own_picture"),
    path("pictures/<slug:picture_key>/<slug:version>.webp", views.picture, name="picture"),
    path("hooks/billing", hooks.billing, name="billing_hook"),
]
