"""Everything under /v1, and an error in its own envelope for everything else there."""

from django.urls import path, re_path

from api import errors, schema_views, views

urlpatterns = [
    path("v1/me", views.Me.as_view(), name="v1_me"),
    path("v1/me/plan", views.Plan.as_view(), name="v1_me_plan"),
    path("v1/openapi.json", schema_views.document, name="openapi"),
    path("docs/api/", schema_views.try_it, name="api_try_it"),
    re_path(r"^v1(?:/[\s\S]*)?\Z", errors.not_found, name="v1_not_found"),
]
