"""The account pages of our own, allauth brings the rest under the same prefix; and what other systems report to."""

from django.urls import path

from accounts import hooks, views

urlpatterns = [
    path("account/", views.profile, name="account_profile"),
    path("account/plan", views.plan, name="account_plan"),
    path("account/export", views.export, name="account_export"),
    path("account/delete", views.delete, name="account_delete"),
    path("account/picture", views.own_picture, name="own_picture"),
    path("pictures/<slug:picture_key>/<slug:version>.webp", views.picture, name="picture"),
    path("hooks/billing", hooks.billing, name="billing_hook"),
]
