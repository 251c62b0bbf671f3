"""The developer console's pages."""

from django.urls import URLPattern, URLResolver, include, path

from devportal.console.views import (
    activity,
    checks,
    client_secrets,
    client_settings,
    clients,
    home,
    keys,
    members,
    people,
    playground,
    project_settings,
    projects,
    request_log,
    review,
    sign_ins,
    usage,
)
from devportal.console.views.quick_start import quick_start

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
    path("sign-ins", sign_ins.sign_ins, name="sign_ins"),
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
    path("", projects.project, name="project"),
    path("settings", project_settings.project_settings, name="project_settings"),
    path("transfer", project_settings.project_transfer, name="project_transfer"),
    path("leave", project_settings.project_leave, name="project_leave"),
    path("delete", project_settings.project_delete, name="project_delete"),
    path("restore", project_settings.project_restore, name="project_restore"),
    path("members", members.members, name="members"),
    path("members/<int:member_id>", members.member, name="member"),
    path("members/<int:member_id>/remove", members.member_remove, name="member_remove"),
    path("invitations/<int:invitation_id>/renew", members.invitation_renew, name="invitation_renew"),
    path("invitations/<int:invitation_id>/withdraw", members.invitation_withdraw, name="invitation_withdraw"),
    path("activity", activity.activity, name="activity"),
    path("usage", usage.usage, name="usage"),
    path("usage.csv", usage.usage_csv, name="usage_csv"),
    path("requests", request_log.requests, name="requests"),
    path("people", people.people, name="people"),
    path("keys", keys.keys, name="keys"),
    path("keys/new", keys.key_new, name="key_new"),
    path("keys/<str:key_id>/revoke", keys.key_revoke, name="key_revoke"),
    path("clients", clients.clients, name="clients"),
    path("clients/new", clients.client_new, name="client_new"),
    path("clients/<str:client_id>/", include(client_pages)),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home.home, name="home"),
    path("invitations/<int:invitation_id>", home.invitation, name="invitation"),
    path("check/name", checks.check_name, name="check_name"),
    path("check/addresses", checks.check_addresses, name="check_addresses"),
    path("projects/new", projects.project_new, name="project_new"),
    path("playground/callback", playground.playground_callback, name="playground_callback"),
    path("p/<slug:project_id>/", include(project_pages)),
]
