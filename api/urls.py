"""Everything under /v1, and an error in its own envelope for everything else there."""

from django.urls import path, re_path

from api import errors, views

urlpatterns = [
    path("v1/me", views.Me.as_view(), name="v1_me"),
    re_path(r"^v1(?:/(?P<path>.*))?$", errors.not_found, name="v1_not_found"),
]
