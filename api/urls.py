"""URLs of `/v1`, its OpenAPI document and metadata, the endpoints for the company's own APIs, and reports of leaks.

Every other path under `/v1` is a 404 in the API's envelope.
"""

from django.urls import path, re_path

from api import endpoint, forward_auth_views, introspection_views, leak_report_views, me, plan, schema_views

urlpatterns = [
    path("v1/me", me.MeView.as_view(), name="v1_me"),
    path("v1/me/plan", plan.PlanView.as_view(), name="v1_me_plan"),
    path("v1/openapi.json", schema_views.SchemaView.as_view(), name="openapi"),
    re_path(r"^\.well-known/oauth-protected-resource(?P<rest>/.*)?$", schema_views.metadata, name="protected_resource"),
    path("connect/introspect", introspection_views.introspection, name="introspect"),
    path("connect/forward-auth/<slug:slug>", forward_auth_views.forward_auth, name="forward_auth"),
    re_path(
        r"^connect/forward-auth/(?P<slug>[a-z0-9_-]+)(?P<rest>/[\s\S]*)\Z",
        forward_auth_views.forward_auth,
        name="forward_auth_appended",
    ),
    path("hooks/leaked-credentials", leak_report_views.leak_webhook, name="leak_hook"),
    path("leaked-credentials", leak_report_views.report_leak, name="report_leak"),
    path("leaked-credentials/sent", leak_report_views.leak_reported, name="leak_reported"),
    re_path(r"^v1(?:/[\s\S]*)?\Z", endpoint.UnknownEndpoint.as_view(), name="v1_not_found"),
]
