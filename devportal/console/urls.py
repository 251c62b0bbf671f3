"""The developer console's pages."""

from django.urls import URLPattern, URLResolver, include, path

from devportal.console.views import playground
from devportal.console.views.quick_start import quick_start
from devportal.console.views.unbuilt import unbuilt

app_name = "console"

client_pages: list[URLPattern] = [
    path("", unbuilt, name="client_settings"),
    path("secrets", unbuilt, name="client_secrets"),
    path("quick-start", quick_start, name="quick_start"),
    path("sign-ins", unbuilt, name="sign_ins"),
    path("playground", playground.playground, name="playground"),
    path("playground/address", playground.playground_address, name="playground_address"),
    path("playground/begin", playground.playground_begin, name="playground_begin"),
    path("playground/exchange", playground.playground_exchange, name="playground_exchange"),
    path("playground/end", playground.playground_end, name="playground_end"),
    path("review", unbuilt, name="review"),
]

project_pages: list[URLPattern | URLResolver] = [
    path("", unbuilt, name="project"),
    path("settings", unbuilt, name="project_settings"),
    path("members", unbuilt, name="members"),
    path("activity", unbuilt, name="activity"),
    path("usage", unbuilt, name="usage"),
    path("requests", unbuilt, name="requests"),
    path("people", unbuilt, name="people"),
    path("keys", unbuilt, name="keys"),
    path("clients", unbuilt, name="clients"),
    path("clients/new", unbuilt, name="client_new"),
    path("clients/<str:client_id>/", include(client_pages)),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", unbuilt, name="home"),
    path("projects/new", unbuilt, name="project_new"),
    path("playground/callback", playground.playground_callback, name="playground_callback"),
    path("p/<slug:project_id>/", include(project_pages)),
]
