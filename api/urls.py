"""URLs of `/v1`, its OpenAPI document and metadata, and the endpoints for the company's own APIs.

Every other path under `/v1` is a 404 in the API's envelope.
"""

from django.urls import path, re_path

from api import endpoint, introspection_views, me, plan, schema_views

urlpatterns = [
    path("v1/me", me.MeView.as_view(), name="v1_me"),
    path("v1/me/plan", plan.PlanView.as_view(), name="v1_me_plan"),
    path("v1/openapi.json", schema_views.SchemaView.as_view(), name="openapi"),
    re_path(r"^\.well-known/oauth-protected-resource(?P<rest>/.*)?$", schema_views.metadata, name="protected_resource"),
    path("connect/introspect", introspection_views.introspection, name="introspect"),
    re_path(r"^v1(?:/[\s\S]*)?\Z", endpoint.UnknownEndpoint.as_view(), name="v1_not_found"),
]
