"""The developer console's pages."""

from django.urls import URLPattern, URLResolver, include, path

from devportal.console.views import checks, client_secrets, client_settings, clients, keys, playground, review
from devportal.console.views.quick_start import quick_start
from devportal.console.views.unbuilt import unbuilt

app_name = "console"

client_pages: list[URLPattern] = [
    path("", client_settings.client_settings, name="client_settings"),
    path("tester", client_settings.client_tester, name="client_tester"),
    path("switch", client_settings.client_switch, name="client_switch"),
    path("type", client_settings.client_type, name="client_type"),
    path("delete", client_settings.client_delete, name="client_delete"),
    path("secrets", client_secrets.client_secrets, name="client_secrets"),
    path("secrets/new", client_secrets.client_secret_new, name="client_secret_new"),
    path("secrets/<int:secret_id>/end", client_secrets.client_secret_end, name="client_secret_end"),
    path("quick-start", quick_start, name="quick_start"),
    path("sign-ins", unbuilt, name="sign_ins"),
    path("playground", playground.playground, name="playground"),
    path("playground/address", playground.playground_address, name="playground_address"),
    path("playground/begin", playground.playground_begin, name="playground_begin"),
    path("playground/exchange", playground.playground_exchange, name="playground_exchange"),
    path("playground/end", playground.playground_end, name="playground_end"),
    path("review", review.review, name="review"),
    path("review/preview/<int:number>", review.review_preview, name="review_preview"),
    path("review/logo/<slug:version>.webp", review.review_logo, name="review_logo"),
]

project_pages: list[URLPattern | URLResolver] = [
    path("", unbuilt, name="project"),
    path("settings", unbuilt, name="project_settings"),
    path("members", unbuilt, name="members"),
    path("activity", unbuilt, name="activity"),
    path("usage", unbuilt, name="usage"),
    path("requests", unbuilt, name="requests"),
    path("people", unbuilt, name="people"),
    path("keys", keys.keys, name="keys"),
    path("keys/new", keys.key_new, name="key_new"),
    path("keys/<str:key_id>/revoke", keys.key_revoke, name="key_revoke"),
    path("clients", clients.clients, name="clients"),
    path("clients/new", clients.client_new, name="client_new"),
    path("clients/<str:client_id>/", include(client_pages)),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", unbuilt, name="home"),
    path("check/name", checks.check_name, name="check_name"),
    path("check/addresses", checks.check_addresses, name="check_addresses"),
    path("projects/new", unbuilt, name="project_new"),
    path("playground/callback", playground.playground_callback, name="playground_callback"),
    path("p/<slug:project_id>/", include(project_pages)),
]
